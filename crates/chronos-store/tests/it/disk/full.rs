//! A full disk: writes say so, reads go on, and with space writes do.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use chronos_core::store::Error;
use chronos_core::{Http, JobId, JobSpec, Store};
use chronos_store::kv::{Batch, Kv};
use chronos_store::{EmbeddedStore, Retention};
use tokio::runtime::Runtime;

use super::{Disk, Entries, Mount, as_root, entries};
use crate::bench::{at, every};

/// A value that does not compress, different for each number.
fn value(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::new();
    while bytes.len() < 8_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_be_bytes());
    }
    bytes
}

/// Commits and syncs one entry.
fn write(kv: &dyn Kv, number: u64) -> Result<(), String> {
    let mut batch = Batch::default();
    batch.put([&[1], number.to_be_bytes().as_slice()].concat().as_slice(), value(number));
    batch.put([&[2], number.to_be_bytes().as_slice()].concat().as_slice(), b"".as_slice());
    let written = kv.commit(batch).and_then(|()| kv.sync());
    written.map_err(|error| error.to_string())
}

/// Everything acknowledged is there, and whatever else is there is whole.
fn assert_holds(found: &Entries, acknowledged: &[u64]) {
    let numbers = |table| {
        let keys = found.keys().filter(move |key| key[0] == table);
        keys.map(|key| u64::from_be_bytes(key[1..].try_into().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(numbers(1), numbers(2), "no batch is there in part");
    for number in acknowledged {
        assert!(numbers(1).contains(number), "{number} was acknowledged");
    }
    for (key, found) in found.iter().filter(|(key, _)| key[0] == 1) {
        assert!(*found == value(u64::from_be_bytes(key[1..].try_into().unwrap())));
    }
}

/// Writes until nothing more is taken; gives what was acknowledged on the way.
fn fill(kv: &dyn Kv, from: u64) -> (Vec<u64>, String) {
    let mut acknowledged = Vec::new();
    for number in from..from + 100_000 {
        match write(kv, number) {
            Ok(()) => acknowledged.push(number),
            Err(text) => return (acknowledged, text),
        }
    }
    panic!("the disk never filled up");
}

fn live_through<K: Disk>(path: &Path, mount: &Mount) {
    let kv = K::open_in(path).unwrap();
    let (mut acknowledged, text) = fill(&kv, 0);
    assert!(acknowledged.len() > 100 && text.contains("space"), "{}: {text}", acknowledged.len());
    for number in 200_000..200_010 {
        write(&kv, number).unwrap_err();
        assert_holds(&entries(&kv).unwrap(), &acknowledged);
    }
    mount.change("size=96m");
    // With space it goes on by itself; the write that finds it so is still refused.
    let tried = (300_000..300_020).find(|number| write(&kv, *number).is_ok()).unwrap();
    assert!(tried < 300_005, "{tried}");
    acknowledged.push(tried);
    for number in 400_000..400_050 {
        write(&kv, number).unwrap();
        acknowledged.push(number);
    }
    assert_holds(&entries(&kv).unwrap(), &acknowledged);
    // A second time, and now the process ends while there is no space.
    let (more, _) = fill(&kv, 500_000);
    acknowledged.extend(more);
    drop(kv);
    mount.change("size=200m");
    let kv = K::open_in(path).unwrap();
    assert_holds(&entries(&kv).unwrap(), &acknowledged);
    write(&kv, 900_000).unwrap();
}

pub(crate) fn a_full_disk_refuses_writes_keeps_reads_and_loses_nothing<K: Disk>() {
    let test = "full::a_full_disk_refuses_writes_keeps_reads_and_loses_nothing";
    as_root(&format!("{}_on_disk::{test}", K::ENGINE), || {
        let directory = tempfile::tempdir().unwrap();
        let mount = Mount::new(directory.path(), "size=24m,mode=700");
        assert_eq!(directory.path().metadata().unwrap().mode() & 0o777, 0o700);
        live_through::<K>(directory.path(), &mount);
    });
}

/// Makes jobs until none is taken any more; gives those that were acknowledged.
fn make_jobs(store: &EmbeddedStore, runtime: &Runtime, from: u64) -> Vec<JobId> {
    let mut acknowledged = Vec::new();
    for number in from.. {
        let job = large_job(number);
        match runtime.block_on(store.create_job(job, at(0))) {
            Ok(job) => acknowledged.push(job.spec.id),
            Err(error) => {
                assert!(matches!(error, Error::Unavailable(_)), "{error}");
                return acknowledged;
            }
        }
    }
    unreachable!("the disk never filled up")
}

fn large_job(number: u64) -> JobSpec {
    let http = Http::new("http://127.0.0.1/").unwrap().with_body(value(number)).unwrap();
    every(&number.to_string(), 10).with_target(http)
}

pub(crate) fn a_store_that_could_not_be_opened_again_goes_on_as_soon_as_it_can<K: Disk>() {
    let test = "full::a_store_that_could_not_be_opened_again_goes_on_as_soon_as_it_can";
    as_root(&format!("{}_on_disk::{test}", K::ENGINE), || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mount = Mount::new(directory.path(), "size=24m,mode=700");
        let kv = K::open_in(directory.path()).unwrap();
        let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
        let acknowledged = make_jobs(&store, &runtime, 0);
        mount.change("size=96m");
        // There is space again, but the files are not where they were.
        let (engine, away) = (directory.path().join("engine"), directory.path().join("away"));
        fs::rename(&engine, &away).unwrap();
        for _ in 0..3 {
            runtime.block_on(store.create_job(large_job(800_000), at(0))).unwrap_err();
            runtime.block_on(store.ready()).unwrap_err();
        }
        fs::rename(&away, &engine).unwrap();
        runtime.block_on(store.ready()).unwrap();
        runtime.block_on(store.create_job(large_job(900_000), at(0))).unwrap();
        for job in acknowledged {
            runtime.block_on(store.job(job)).unwrap();
        }
    });
}
