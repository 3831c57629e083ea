//! Damage: whatever happens to a file, an engine answers as if nothing had, or says that it cannot.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Disk, Entries, commit, copy, entries, expected, files};

const BATCHES: u32 = 300;

/// A closed store with tables of several ages and a journal, all acknowledged.
fn store<K: Disk>() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for batches in [0..100, 100..200, 200..BATCHES] {
        let kv = K::open_in(directory.path()).unwrap();
        let merge = batches.end < BATCHES;
        commit(&kv, batches);
        kv.sync().unwrap();
        if merge {
            kv.compact(&mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        }
    }
    // Opened once more, so that the journal is as long as what is in it.
    drop(K::open_in(directory.path()).unwrap());
    directory
}

/// What can be read of a store, or why not.
fn read<K: Disk>(path: &Path) -> Result<Entries, String> {
    let kv = K::open_in(path).map_err(|error| error.to_string())?;
    entries(&kv).map_err(|error| error.to_string())
}

/// Harms copies of a store in every way that `ways` says for each file; gives how many harmed ones were
/// refused, and how many there were.
fn harm<K: Disk>(
    ways: impl Fn(u64) -> Vec<u64>,
    harm: impl Fn(&Path, u64),
) -> (usize, Vec<PathBuf>) {
    let whole = store::<K>();
    assert_eq!(read::<K>(copy(whole.path()).path()), Ok(expected(BATCHES)));
    let (mut tries, mut refused) = (0, Vec::new());
    for file in files(whole.path()) {
        if file == Path::new("lock") {
            continue;
        }
        for way in ways(fs::metadata(whole.path().join(&file)).unwrap().len()) {
            let harmed = copy(whole.path());
            harm(&harmed.path().join(&file), way);
            tries += 1;
            match read::<K>(harmed.path()) {
                Ok(found) => assert!(found == expected(BATCHES), "{file:?} at {way}"),
                Err(text) => {
                    assert!(!text.is_empty());
                    refused.push(file.clone());
                }
            }
        }
    }
    (tries, refused)
}

/// Some positions in a file of this length: its ends, and what lies between in even steps.
fn positions(length: u64) -> Vec<u64> {
    let step = (length / 12).max(1);
    let mut positions: Vec<u64> = (0..length).step_by(usize::try_from(step).unwrap()).collect();
    positions.extend([length / 2 + 1, length.saturating_sub(1), length.saturating_sub(9)]);
    positions.retain(|position| *position < length);
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn touched(refused: &[PathBuf], part: &str) -> bool {
    refused.iter().any(|file| file.to_str().unwrap().contains(part))
}

pub(crate) fn a_flipped_bit_is_refused_or_changes_nothing<K: Disk>() {
    let flip = |file: &Path, position: u64| {
        let file = File::options().read(true).write(true).open(file).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, position).unwrap();
        byte[0] ^= 1 << (position % 8);
        file.write_all_at(&byte, position).unwrap();
    };
    let (tries, refused) = harm::<K>(positions, flip);
    assert!(refused.len() * 2 > tries, "{} of {tries} noticed", refused.len());
    assert!(touched(&refused, "durable") && touched(&refused, "store"));
}

pub(crate) fn a_missing_file_is_refused_or_changes_nothing<K: Disk>() {
    let (tries, refused) = harm::<K>(|_| vec![0], |file, _| fs::remove_file(file).unwrap());
    assert!(refused.len() * 2 > tries, "{} of {tries} noticed", refused.len());
}

pub(crate) fn a_file_cut_short_is_refused_or_changes_nothing<K: Disk>() {
    let cut = |file: &Path, length| {
        File::options().write(true).open(file).unwrap().set_len(length).unwrap();
    };
    let (tries, refused) = harm::<K>(positions, cut);
    assert!(refused.len() * 2 > tries, "{} of {tries} noticed", refused.len());
}
