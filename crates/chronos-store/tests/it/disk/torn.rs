//! Torn tails: a store that died in the middle of a write has all that was acknowledged, and no gap.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;

use chronos_store::OpenError;
use tempfile::TempDir;

use super::{Disk, Entries, again, commit, copy, entries, expected, role};

/// A store with 20 batches acknowledged and 20 more on disk that nobody was promised, as a power cut
/// leaves it; with the length of its journal when the first 20 were all.
fn interrupted<K: Disk>() -> (TempDir, u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    drop(K::open_in(directory.path()).unwrap());
    let kv = K::open_in(directory.path()).unwrap();
    commit(&kv, 0..20);
    kv.sync().unwrap();
    let promised = fs::read(directory.path().join("durable")).unwrap();
    let acknowledged = filled(&K::journal(directory.path()));
    commit(&kv, 20..40);
    kv.sync().unwrap();
    let copied = copy(directory.path());
    fs::write(copied.path().join("durable"), promised).unwrap();
    let length = filled(&K::journal(copied.path()));
    (copied, acknowledged, length)
}

/// How much of a file is filled: engines make journals larger.
pub(super) fn filled(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

/// How many batches these entries are the outcome of, if of batches without a gap.
fn batches(entries: &Entries) -> Option<u32> {
    (0..=1_000).find(|batches| *entries == expected(*batches))
}

pub(crate) fn a_torn_tail_opens_with_every_acknowledged_batch_and_no_gap<K: Disk>() {
    let (whole, acknowledged, length) = interrupted::<K>();
    let mut counts = Vec::new();
    for cut in (acknowledged..=length).step_by(11) {
        for zeros in [0, 4_096] {
            let torn = copy(whole.path());
            let journal = File::options().write(true).open(K::journal(torn.path())).unwrap();
            journal.set_len(cut).unwrap();
            journal.set_len(cut + zeros).unwrap();
            let kv = K::open_in(torn.path()).unwrap();
            let count = batches(&entries(&kv).unwrap()).expect("batches without a gap");
            assert!(count >= 20, "only {count} are left when {cut} of {length} bytes are");
            counts.push(count);
            // It goes on from there.
            commit(&kv, count..count + 5);
            drop(kv);
            let kv = K::open_in(torn.path()).unwrap();
            assert_eq!(entries(&kv).unwrap(), expected(count + 5));
        }
    }
    counts.dedup();
    assert!(counts.is_sorted() && counts.len() > 10, "{counts:?}");
}

pub(crate) fn acknowledged_batches_that_are_cut_off_are_refused<K: Disk>() {
    let (whole, acknowledged, _) = interrupted::<K>();
    for cut in (0..acknowledged - 1).step_by(37) {
        let torn = copy(whole.path());
        let journal = File::options().write(true).open(K::journal(torn.path())).unwrap();
        journal.set_len(cut).unwrap();
        let Err(error) = K::open_in(torn.path()) else {
            panic!("opened with {cut} of {acknowledged} acknowledged bytes");
        };
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        // Asking again does not make it good.
        assert!(K::open_in(torn.path()).is_err());
    }
}

pub(crate) fn garbage_after_the_last_batch_is_dropped<K: Disk>() {
    let (whole, acknowledged, length) = interrupted::<K>();
    for from in [acknowledged + 3, length - 3, length] {
        let torn = copy(whole.path());
        let journal = File::options().write(true).open(K::journal(torn.path())).unwrap();
        journal.write_all_at(&[0xA5; 300], from).unwrap();
        let kv = K::open_in(torn.path()).unwrap();
        let count = batches(&entries(&kv).unwrap()).expect("batches without a gap");
        assert!(count >= 20, "{count}");
    }
}

pub(crate) fn a_store_killed_at_any_batch_opens_with_what_was_synced<K: Disk>() {
    if let Some(path) = role("write") {
        let kv = K::open_in(&path).unwrap();
        for number in 0..1_000 {
            commit(&kv, number..number + 1);
            if number.is_multiple_of(3) {
                kv.sync().unwrap();
                println!("\nsynced {}", number + 1);
                std::io::stdout().flush().unwrap();
            }
        }
        panic!("nobody stopped this process");
    }
    let test = "torn::a_store_killed_at_any_batch_opens_with_what_was_synced";
    for lines in [1, 7, 40] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer =
            again(&format!("{}_on_disk::{test}", K::ENGINE), "write", directory.path());
        let mut writer = writer.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut synced = output.filter_map(|line| line.strip_prefix("synced ")?.parse().ok());
        let promised: u32 = synced.nth(lines).unwrap();
        writer.kill().unwrap();
        writer.wait().unwrap();
        let kv = K::open_in(directory.path()).unwrap();
        let count = batches(&entries(&kv).unwrap()).expect("batches without a gap");
        assert!(count >= promised, "{count} of {promised}");
    }
}
