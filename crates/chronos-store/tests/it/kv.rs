//! The key-value seam: every engine behaves as a plain `BTreeMap` of bytes does.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use chronos_store::kv::{Batch, Kv, Order};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Compares one engine with the model: `$open` gives an empty one.
macro_rules! kv_conformance {
    ($engine:ident, $open:path) => {
        mod $engine {
            #[test]
            fn answers_as_a_map_does_after_any_batches() {
                $crate::kv::check(|| Box::new($open()));
            }

            #[test]
            fn a_snapshot_holds_what_there_was_whatever_is_committed_meanwhile() {
                $crate::kv::check_snapshot(&$open());
            }
        }
    };
}
pub(crate) use kv_conformance;

/// One thing to do with an engine.
#[derive(Clone, Debug)]
enum Act {
    /// Later changes of one key win over earlier ones.
    Commit(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Scan {
        from: Vec<u8>,
        to: Vec<u8>,
        order: Order,
        /// The visitor breaks after this many entries.
        most: usize,
    },
    SyncAndCompact,
}

/// Few keys, so that batches meet; some are prefixes of others, some hold extreme bytes, and some are
/// about as long as one id or two.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0_u8), Just(1), Just(127), Just(255)];
    let length = prop_oneof![3 => Just(0_usize), 2 => 16..19_usize, 2 => 32..35_usize];
    (vec(byte(), 1..4), byte(), length).prop_map(|(mut key, filler, length)| {
        key.resize(key.len().max(length), filler);
        key
    })
}

fn act() -> impl Strategy<Value = Act> {
    let value = prop_oneof![Just(vec![]), vec(any::<u8>(), 1..20), vec(any::<u8>(), 5_000)];
    let change = (key(), proptest::option::weighted(0.7, value));
    let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
    let bound = || prop_oneof![9 => key(), 1 => Just(vec![])];
    let scan = (bound(), bound(), order, 1..8_usize);
    prop_oneof![
        5 => vec(change, 0..12).prop_map(Act::Commit),
        5 => scan.prop_map(|(from, to, order, most)| Act::Scan { from, to, order, most }),
        1 => Just(Act::SyncAndCompact),
    ]
}

pub(crate) fn check(open: impl Fn() -> Box<dyn Kv>) {
    let mut runner = TestRunner::new(Config::with_cases(256));
    let acts = (vec(act(), 1..40), vec(key(), 8));
    let outcome = runner.run(&acts, |(acts, probes)| {
        let kv = open();
        let mut model = Model::new();
        for act in acts {
            perform(kv.as_ref(), &mut model, act)?;
            for key in &probes {
                prop_assert_eq!(kv.get(key).unwrap(), model.get(key).cloned());
            }
        }
        let everything = (vec![], vec![255; 40], usize::MAX);
        compare_scan(kv.as_ref(), &model, &everything, Order::Ascending)?;
        compare_scan(kv.as_ref(), &model, &everything, Order::Descending)?;
        let mut found = Model::new();
        kv.scan_snapshot(&mut |key, value| {
            found.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
        prop_assert_eq!(found, model);
        Ok(())
    });
    outcome.unwrap();
}

fn perform(kv: &dyn Kv, model: &mut Model, act: Act) -> Result<(), TestCaseError> {
    match act {
        Act::Commit(changes) => {
            let mut batch = Batch::default();
            prop_assert!(batch.is_empty());
            for (key, value) in changes {
                match &value {
                    Some(value) => batch.put(key.as_slice(), value.as_slice()),
                    None => batch.delete(key.as_slice()),
                }
                prop_assert!(!batch.is_empty());
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
            kv.commit(batch).unwrap();
        }
        Act::Scan { from, to, order, most } => compare_scan(kv, model, &(from, to, most), order)?,
        Act::SyncAndCompact => {
            kv.sync().unwrap();
            kv.compact(&mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
    Ok(())
}

fn compare_scan(
    kv: &dyn Kv,
    model: &Model,
    (from, to, most): &(Vec<u8>, Vec<u8>, usize),
    order: Order,
) -> Result<(), TestCaseError> {
    let mut found = Vec::new();
    kv.scan(from, to, order, &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        if found.len() < *most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    let inside = model.iter().filter(|(key, _)| *key >= from && *key < to);
    let mut expected: Vec<_> = inside.map(|(k, v)| (k.clone(), v.clone())).collect();
    if order == Order::Descending {
        expected.reverse();
    }
    expected.truncate(*most);
    prop_assert_eq!(found, expected);
    Ok(())
}

pub(crate) fn check_snapshot(kv: &dyn Kv) {
    let mut batch = Batch::default();
    for key in 0..200_u8 {
        batch.put([key % 7, key].as_slice(), b"before".as_slice());
    }
    kv.commit(batch).unwrap();
    let mut found = Vec::new();
    kv.scan_snapshot(&mut |key, value| {
        assert_eq!(value, b"before");
        found.push(key.to_vec());
        // Everything changes while the snapshot is at its beginning: the past, the future, the new.
        let mut batch = Batch::default();
        for key in 0..=255_u8 {
            batch.put([key % 9, key].as_slice(), b"after".as_slice());
        }
        batch.delete([3, 199].as_slice());
        kv.commit(batch).unwrap();
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(found.len(), 200);
    assert!(found.is_sorted());
    let mut visited = 0;
    kv.scan_snapshot(&mut |_, _| {
        visited += 1;
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(visited, 1);
}
