//! The mark: which batches must be found when an engine is opened again, kept beside its own files.
//!
//! An engine that finds its journal damaged cannot tell a torn tail, which nobody was promised, from the
//! loss of batches that were acknowledged: both look like an early end. The mark can. It counts the
//! batches that are durable, written after each sync, so that all of them must be there. It is not
//! itself synced with each, which costs nothing but sharpness: an older mark promises less, never
//! more. Beside it stands the floor: batches up to there need not be in a journal any more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::warn;

use crate::directory::DataDir;
use crate::error::OpenError;

const LENGTH: usize = 20;

/// What must be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// All batches up to this one are durable.
    pub durable: u64,
    /// Batches after this one are still in a journal.
    pub floor: u64,
}

/// A promise, in a file.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    promise: Mutex<Promise>,
}

impl Mark {
    /// The mark of a data directory.
    pub(super) fn of(directory: &DataDir) -> Result<Self, OpenError> {
        let path = directory.mark_path();
        if directory.is_new() {
            return Self::create(&path).map_err(OpenError::io("create", &path));
        }
        match Self::open(&path) {
            Ok(Some(mark)) => Ok(mark),
            Ok(None) => {
                Err(OpenError::damaged(directory.path(), "its file \"durable\" is altered"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenError::damaged(directory.path(), "its file \"durable\" is missing"))
            }
            Err(error) => Err(OpenError::io("open", &path)(error)),
        }
    }

    /// Says that the engine found fewer batches than were acknowledged.
    pub(super) fn lost(&self, directory: &DataDir, found: u64) -> OpenError {
        let promised = self.promise().durable;
        let what = format!("of {promised} acknowledged batches only {found} can be read");
        OpenError::damaged(directory.path(), what)
    }

    /// A new mark that promises nothing.
    fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all_at(&encode(Promise::default()), 0)?;
        file.sync_all()?;
        Ok(Self { file, promise: Mutex::default() })
    }

    /// The mark that was kept here; `None` when it is damaged.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut bytes = [0; LENGTH];
        let whole = file.metadata()?.len() == LENGTH as u64;
        if !whole || file.read_exact_at(&mut bytes, 0).is_err() {
            return Ok(None);
        }
        Ok(decode(bytes).map(|promise| Self { file, promise: Mutex::new(promise) }))
    }

    /// What must be found.
    pub(super) fn promise(&self) -> Promise {
        *self.lock()
    }

    /// Notes that this many batches are durable.
    pub(super) fn raise(&self, durable: u64) {
        let mut promise = self.lock();
        if durable <= promise.durable {
            return;
        }
        promise.durable = durable;
        // What was synced is durable with or without its mark, so that nobody is told otherwise.
        if let Err(error) = self.file.write_all_at(&encode(*promise), 0) {
            warn!(%error, "Mark of durable batches could not be written");
        }
    }

    /// Lets batches up to this one leave the journals. Durable before any does.
    pub(super) fn raise_floor(&self, floor: u64) -> io::Result<()> {
        let mut promise = self.lock();
        if floor <= promise.floor {
            return Ok(());
        }
        let raised = Promise { floor, ..*promise };
        self.file.write_all_at(&encode(raised), 0)?;
        self.file.sync_data()?;
        *promise = raised;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Promise> {
        self.promise.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Err(error) = self.file.sync_all() {
            warn!(%error, "Mark of durable batches could not be synced");
        }
    }
}

fn encode(promise: Promise) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&promise.durable.to_be_bytes());
    bytes[8..16].copy_from_slice(&promise.floor.to_be_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn decode(bytes: [u8; LENGTH]) -> Option<Promise> {
    let durable = u64::from_be_bytes(bytes[..8].try_into().ok()?);
    let floor = u64::from_be_bytes(bytes[8..16].try_into().ok()?);
    let promise = Promise { durable, floor };
    (bytes == encode(promise)).then_some(promise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_only_rises_and_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("durable");
        let mark = Mark::create(&path).unwrap();
        mark.raise(7);
        mark.raise(3);
        mark.raise_floor(5).unwrap();
        mark.raise_floor(4).unwrap();
        drop(mark);
        let found = Mark::open(&path).unwrap().unwrap().promise();
        assert_eq!(found, Promise { durable: 7, floor: 5 });
    }

    #[test]
    fn any_flipped_bit_and_any_other_length_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("durable");
        let whole = encode(Promise { durable: 0x0102_0304_0506_0708, floor: 77 });
        for bit in 0..LENGTH * 8 {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bytes).unwrap();
            assert!(Mark::open(&path).unwrap().is_none(), "bit {bit}");
        }
        for length in 0..LENGTH {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Mark::open(&path).unwrap().is_none(), "{length} bytes");
        }
    }
}
