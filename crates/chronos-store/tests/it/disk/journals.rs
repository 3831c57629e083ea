//! The files of fjall: what the engine itself would pass over, or delete, is found before it opens them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use chronos_store::OpenError;
use chronos_store::kv::fjall::FjallKv;
use chronos_store::kv::{Batch, Kv};
use tempfile::TempDir;

use super::torn::filled;
use super::{Disk, commit, copy, entries, expected, files};

/// A store with 40 batches, all acknowledged and in one journal, which is as long as what it holds;
/// with the ends of the batches in it.
fn store() -> (TempDir, Vec<u64>) {
    let directory = tempfile::tempdir().unwrap();
    drop(FjallKv::open_in(directory.path()).unwrap());
    let kv = FjallKv::open_in(directory.path()).unwrap();
    let mut ends = vec![0];
    for number in 0..40 {
        commit(&kv, number..number + 1);
        kv.sync().unwrap();
        ends.push(filled(&FjallKv::journal(directory.path())));
    }
    drop(kv);
    assert!(ends.is_sorted_by(|before, after| before < after), "{ends:?}");
    (directory, ends)
}

fn journal(directory: &Path, number: u32) -> PathBuf {
    directory.join("engine").join(format!("{number}.jnl"))
}

fn assert_refused(directory: &Path, what: &str) {
    let opened = FjallKv::open_in(directory);
    assert!(matches!(opened, Err(OpenError::Damaged { .. })), "{what}");
}

#[test]
fn every_byte_of_a_batch_in_the_middle_is_guarded() {
    let (whole, ends) = store();
    for position in ends[10]..ends[11] {
        let harmed = copy(whole.path());
        let path = FjallKv::journal(harmed.path());
        let before = fs::read(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let flipped = before[usize::try_from(position).unwrap()] ^ (1 << (position % 8));
        file.write_all_at(&[flipped], position).unwrap();
        let after = fs::read(&path).unwrap();
        assert_refused(harmed.path(), &format!("byte {position}"));
        assert!(fs::read(&path).unwrap() == after, "what is refused is left as it is");
    }
}

/// A store all of whose batches are in tables, and its files that say which tables there are.
fn written_out() -> (TempDir, Vec<PathBuf>) {
    let (whole, _) = store();
    let kv = FjallKv::open_in(whole.path()).unwrap();
    kv.compact(&mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    drop(kv);
    let mut lists = files(whole.path());
    lists.retain(|file| file.ends_with("current"));
    for current in lists.clone() {
        let number = fs::read(whole.path().join(&current)).unwrap();
        let number = u64::from_le_bytes(number[..8].try_into().unwrap());
        lists.push(current.with_file_name(format!("v{number}")));
    }
    (whole, lists)
}

#[test]
fn every_byte_of_the_lists_of_tables_is_guarded() {
    let (whole, lists) = written_out();
    let table: Vec<_> =
        lists.iter().filter(|list| list.starts_with("engine/keyspaces/2")).collect();
    assert!(table.len() >= 2, "{lists:?}");
    for list in table {
        let bytes = fs::read(whole.path().join(list)).unwrap();
        for position in 0..bytes.len() {
            let harmed = copy(whole.path());
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            fs::write(harmed.path().join(list), flipped).unwrap();
            let before = files(harmed.path());
            assert_refused(harmed.path(), &format!("byte {position} of {list:?}"));
            assert_eq!(files(harmed.path()), before, "what is refused is left as it is");
        }
    }
}

#[test]
fn a_missing_list_of_tables_is_no_reason_to_delete_the_tables() {
    let (whole, lists) = written_out();
    for list in lists {
        let harmed = copy(whole.path());
        fs::remove_file(harmed.path().join(&list)).unwrap();
        let before = files(harmed.path());
        assert_refused(harmed.path(), &format!("{list:?} is missing"));
        assert_eq!(files(harmed.path()), before, "{list:?}");
    }
}

#[test]
fn a_missing_journal_among_several_is_noticed() {
    let (whole, ends) = store();
    let first = fs::read(FjallKv::journal(whole.path())).unwrap();
    assert_eq!(FjallKv::journal(whole.path()), journal(whole.path(), 0));
    let middle = usize::try_from(ends[20]).unwrap();
    fs::write(journal(whole.path(), 0), &first[..middle]).unwrap();
    fs::write(journal(whole.path(), 1), &first[middle..]).unwrap();

    let both = copy(whole.path());
    let kv = FjallKv::open_in(both.path()).unwrap();
    assert_eq!(entries(&kv).unwrap(), expected(40));
    drop(kv);
    // The engine is done with the older one by now.
    assert_eq!(entries(&FjallKv::open_in(both.path()).unwrap()).unwrap(), expected(40));

    for number in [0, 1] {
        let harmed = copy(whole.path());
        fs::remove_file(journal(harmed.path(), number)).unwrap();
        assert_refused(harmed.path(), &format!("journal {number} is missing"));
    }
    let harmed = copy(whole.path());
    fs::write(journal(harmed.path(), 0), &first[..middle - 1]).unwrap();
    assert_refused(harmed.path(), "the older journal is torn");
    let harmed = copy(whole.path());
    fs::write(journal(harmed.path(), 1), "").unwrap();
    assert_refused(harmed.path(), "the newer journal is empty");
    let harmed = copy(whole.path());
    fs::rename(journal(harmed.path(), 0), journal(harmed.path(), 2)).unwrap();
    assert_refused(harmed.path(), "the journals are in another order");
}

#[test]
fn what_was_written_out_needs_no_journal_any_more() {
    let (whole, _) = store();
    let kv = FjallKv::open_in(whole.path()).unwrap();
    kv.compact(&mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    commit(&kv, 40..60);
    drop(kv);
    // A journal of one's own, as the engine begins one when the last is long enough.
    let kv = FjallKv::open_in(whole.path()).unwrap();
    kv.compact(&mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    drop(kv);
    fs::remove_file(journal(whole.path(), 0)).unwrap();
    fs::write(journal(whole.path(), 1), "").unwrap();
    let kv = FjallKv::open_in(whole.path()).unwrap();
    assert_eq!(entries(&kv).unwrap(), expected(60));
    commit(&kv, 60..70);
    drop(kv);
    assert_eq!(entries(&FjallKv::open_in(whole.path()).unwrap()).unwrap(), expected(70));
}

#[test]
fn a_store_larger_than_its_journals_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let kv = FjallKv::open_in(directory.path()).unwrap();
    // A hundred megabytes: several times what is kept in memory, and more than one journal.
    let value = |number: u32| {
        let mut state = u64::from(number) | 1;
        let step = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(step).take(200_000).collect::<Vec<u8>>()
    };
    let key = |number: u32| {
        [&[1 + u8::try_from(number % 3).unwrap()], &number.to_be_bytes()[..]].concat()
    };
    for number in 0..500 {
        let mut batch = chronos_store::kv::Batch::default();
        batch.put(key(number).as_slice(), value(number));
        kv.commit(batch).unwrap();
        if number.is_multiple_of(50) {
            kv.sync().unwrap();
        }
    }
    drop(kv);
    let kv = FjallKv::open_in(directory.path()).unwrap();
    for number in 0..500 {
        assert!(kv.get(&key(number)).unwrap() == Some(value(number)), "{number}");
    }
}

#[test]
fn half_of_what_may_be_in_memory_is_written_out_in_a_quiet_moment() {
    let directory = tempfile::tempdir().unwrap();
    let kv = FjallKv::open_in(directory.path()).unwrap();
    let fill = |first: u8, mebibytes: u8| {
        for number in 0..mebibytes {
            let mut batch = Batch::default();
            batch.put([7, first, number].as_slice(), vec![number; 1 << 20]);
            kv.commit(batch).unwrap();
        }
    };
    let is_written_out = || {
        let tables = fs::read_dir(directory.path().join("engine/keyspaces/2/tables"));
        tables.is_ok_and(|mut tables| tables.next().is_some())
    };
    fill(0, 12);
    kv.tidy();
    fill(1, 8);
    assert!(!is_written_out(), "a little is left where it is");
    kv.tidy();
    let patience = Duration::from_secs(30).as_millis() / PAUSE.as_millis();
    for _ in 0..patience {
        if is_written_out() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("nothing is written out: {:?}", files(directory.path()));
}

/// Between two looks at what another thread does.
const PAUSE: Duration = Duration::from_millis(5);
