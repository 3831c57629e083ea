//! Backups: consistent while writers go on, good in any engine, and refused when they are not whole.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chronos_core::Store;
use chronos_core::plan::Ending;
use chronos_store::{EmbeddedStore, OpenError, Retention, StoreUrl, Tuning, open, restore};
use tokio::runtime::Runtime;

use super::{Disk, files};
use crate::answers::Answers;
use crate::bench::{at, every, finish, terms, worker};
use crate::model::invariants;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn url<K: Disk>(path: &Path) -> StoreUrl {
    StoreUrl::Directory(K::ENGINE, path.into())
}

fn store<K: Disk>(path: &Path) -> EmbeddedStore {
    open(&url::<K>(path), Retention::default(), Tuning::default()).unwrap()
}

/// Fires, claims and finishes what there is to do at this second.
async fn work(store: &dyn Store, second: i64) {
    store.fire_due(at(second), 100, None).await.unwrap();
    let claimed = store.claim(&worker("w"), terms(second), 100.into()).await.unwrap();
    let ends = claimed.claims.iter().map(|claim| finish(claim.hold, Ending::Success, second));
    store.finish(ends.collect(), at(second)).await.unwrap();
}

/// A store with a little history in several volumes, and its backup.
fn backed_up<K: Disk>(path: &Path) -> (Answers, Vec<u8>) {
    let runtime = runtime();
    let kv = K::open_in(path).unwrap();
    let store = EmbeddedStore::with_volumes_of(2, kv, Retention::default()).unwrap();
    let answers = runtime.block_on(async {
        for name in ["a", "b", "c"] {
            store.create_job(every(name, 10), at(0)).await.unwrap();
        }
        for second in 1..40 {
            work(&store, second).await;
        }
        Answers::of(&store).await
    });
    let mut backup = Vec::new();
    let summary = store.backup(&mut backup).unwrap();
    assert_eq!(summary.bytes, backup.len() as u64);
    (answers, backup)
}

pub(crate) fn a_backup_under_writers_restores_to_a_consistent_store<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(store::<K>(&directory.path().join("from")));
    let (stop, steps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writer = std::thread::spawn({
        let (store, stop, steps) = (store.clone(), stop.clone(), steps.clone());
        move || {
            runtime().block_on(async {
                for name in ["a", "b", "c", "d", "e"] {
                    store.create_job(every(name, 1), at(0)).await.unwrap();
                }
                let mut second = 0;
                while !stop.load(Ordering::SeqCst) {
                    second += 1;
                    work(&*store, second).await;
                    steps.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    let mut backups = Vec::new();
    for round in 1..=5 {
        let before = steps.load(Ordering::SeqCst);
        while steps.load(Ordering::SeqCst) < before + 5 * round {
            std::thread::yield_now();
        }
        let mut backup = Vec::new();
        store.backup(&mut backup).unwrap();
        backups.push(backup);
    }
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    let mut sizes = Vec::new();
    for (backup, number) in backups.iter().zip(1..) {
        let target = directory.path().join(format!("to-{number}"));
        restore(&mut backup.as_slice(), &url::<K>(&target)).unwrap();
        let restored = self::store::<K>(&target);
        let answers = runtime().block_on(Answers::of(&restored));
        invariants::assert_hold(&answers);
        for job in &answers.jobs {
            invariants::assert_no_slot_is_lost(&answers, job);
        }
        sizes.push(answers.rows().count());
    }
    assert!(sizes.is_sorted() && sizes[0] < sizes[4], "{sizes:?}");
}

pub(crate) fn a_backup_of_one_engine_restores_into_another<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let (answers, backup) = backed_up::<K>(&directory.path().join("from"));
    let target = directory.path().join("to");
    restore(&mut backup.as_slice(), &url::<K>(&target)).unwrap();
    let restored = store::<K>(&target);
    answers.assert_same(&runtime().block_on(Answers::of(&restored)));
    // Byte for byte the same, whichever engine writes it.
    let mut again = Vec::new();
    restored.backup(&mut again).unwrap();
    assert!(again == backup);
    let memory = EmbeddedStore::memory(Retention::default()).unwrap();
    let mut small = Vec::new();
    memory.backup(&mut small).unwrap();
    let empty = directory.path().join("empty");
    assert_eq!(restore(&mut small.as_slice(), &url::<K>(&empty)).unwrap().entries, 0);
    assert!(runtime().block_on(store::<K>(&empty).jobs(None, 9)).unwrap().is_empty());
}

fn assert_refused<K: Disk>(directory: &Path, backup: &[u8], what: &str) {
    let target = directory.join("never");
    let refused = restore(&mut &*backup, &url::<K>(&target));
    assert!(matches!(refused, Err(OpenError::BadBackup(_))), "{what}: {refused:?}");
    assert_eq!(files(directory), Vec::<std::path::PathBuf>::new(), "{what}");
    assert!(!target.exists());
}

pub(crate) fn a_backup_that_is_cut_short_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let (_, backup) = backed_up::<K>(&directory.path().join("from"));
    let directory = tempfile::tempdir().unwrap();
    let step = backup.len() / 40;
    let cuts = (0..backup.len()).step_by(step).chain([backup.len() - 1, backup.len() - 5]);
    for cut in cuts {
        assert_refused::<K>(directory.path(), &backup[..cut], &format!("cut at {cut}"));
    }
    assert_refused::<K>(directory.path(), &[&backup[..], b"x"].concat(), "one byte more");
}

pub(crate) fn a_backup_with_a_flipped_bit_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let (_, backup) = backed_up::<K>(&directory.path().join("from"));
    let directory = tempfile::tempdir().unwrap();
    let step = backup.len() / 40;
    for position in (0..backup.len()).step_by(step).chain(backup.len() - 16..backup.len()) {
        let mut altered = backup.clone();
        altered[position] ^= 1 << (position % 8);
        assert_refused::<K>(directory.path(), &altered, &format!("flipped at {position}"));
    }
}

pub(crate) fn a_backup_is_restored_into_a_new_place_only<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    let (_, backup) = backed_up::<K>(&from);
    let refused = restore(&mut backup.as_slice(), &url::<K>(&from));
    assert!(matches!(refused, Err(OpenError::NotEmpty(_))), "{refused:?}");
    let memory = restore(&mut backup.as_slice(), &StoreUrl::Memory).unwrap_err().to_string();
    assert!(memory.contains("memory"), "{memory}");
    // What an earlier restore left when it was killed is no obstacle.
    let target = directory.path().join("to");
    fs::create_dir(directory.path().join("to.restoring")).unwrap();
    fs::write(directory.path().join("to.restoring").join("half"), "x").unwrap();
    fs::create_dir(&target).unwrap();
    restore(&mut backup.as_slice(), &url::<K>(&target)).unwrap();
    assert!(!directory.path().join("to.restoring").exists());
    assert_eq!(runtime().block_on(store::<K>(&target).jobs(None, 9)).unwrap().len(), 3);
}

/// Takes some bytes and then no more.
struct Narrow(usize);

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn an_output_that_fails_ends_the_backup<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    drop(backed_up::<K>(directory.path()));
    let failed = store::<K>(directory.path()).backup(&mut Narrow(1_000));
    assert!(matches!(failed, Err(OpenError::BackupOutput(_))), "{failed:?}");
}
