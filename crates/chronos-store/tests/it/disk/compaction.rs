//! Compaction: space comes back, in units, while everything else goes on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chronos_core::Store;
use chronos_core::store::CompactionProgress;
use chronos_store::kv::Batch;
use chronos_store::{EmbeddedStore, Retention};

use super::{Disk, entries};
use crate::bench::{at, every};

fn key(table: u8, number: u32) -> Vec<u8> {
    [&[table], number.to_be_bytes().as_slice()].concat()
}

pub(crate) fn compacting_gives_space_back_and_says_how_much<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let kv = K::open_in(directory.path()).unwrap();
    let everything: &mut dyn FnMut(CompactionProgress) -> ControlFlow<()> =
        &mut |_| ControlFlow::Continue(());
    for round in 0..20_u8 {
        let mut batch = Batch::default();
        for number in 0..500 {
            let value: Vec<u8> = (0..200).map(|byte: u8| byte ^ round).collect();
            batch.put(key(1, number).as_slice(), value.clone());
            batch.put(key(2, number).as_slice(), value);
        }
        kv.commit(batch).unwrap();
        kv.compact(everything).unwrap();
    }
    let mut batch = Batch::default();
    for number in 1..500 {
        batch.delete(key(1, number).as_slice());
        batch.delete(key(2, number).as_slice());
    }
    kv.commit(batch).unwrap();
    kv.sync().unwrap();
    let before = kv.size();
    let compacted = kv.compact(everything).unwrap();
    assert!(compacted.is_complete() && compacted.units >= 2, "{compacted:?}");
    assert!(compacted.reclaimed() > compacted.bytes_before / 2, "{compacted:?}");
    assert!(kv.size() < before / 2, "{} of {before}", kv.size());
    assert_eq!(entries(&kv).unwrap().len(), 2);
}

pub(crate) fn compacting_stops_between_units<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let kv = K::open_in(directory.path()).unwrap();
    let mut batch = Batch::default();
    for table in 1..=6 {
        batch.put(key(table, 1).as_slice(), b"value".as_slice());
    }
    kv.commit(batch).unwrap();
    let mut told = Vec::new();
    let compacted = kv.compact(&mut |progress| {
        told.push((progress.unit, progress.units));
        if progress.unit == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let compacted = compacted.unwrap();
    let units = compacted.units;
    assert_eq!(told, [(1, units), (2, units), (3, units)]);
    assert!(units >= 6 && compacted.done == 2 && !compacted.is_complete(), "{compacted:?}");
}

pub(crate) fn compacting_does_not_hold_up_other_verbs<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let kv = K::open_in(directory.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(EmbeddedStore::open(kv, Retention::default()).unwrap());
        store.create_job(every("a", 10), at(0)).await.unwrap();
        let (begun, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (has_begun, may_go_on) = (begun.clone(), go_on.clone());
        // The compaction stands still in its middle until a verb was answered: on this only thread.
        let compacting = tokio::spawn({
            let store = store.clone();
            async move {
                let hook = move |_| {
                    has_begun.store(true, Ordering::SeqCst);
                    while !may_go_on.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                    ControlFlow::Continue(())
                };
                store.compact(Arc::new(hook)).await
            }
        });
        while !begun.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        store.create_job(every("b", 10), at(1)).await.unwrap();
        assert_eq!(store.fire_due(at(10), 9).await.unwrap().planned.len(), 2);
        go_on.store(true, Ordering::SeqCst);
        assert!(compacting.await.unwrap().unwrap().is_complete());
        assert_eq!(store.stats().await.unwrap().jobs, 2);
    });
}
