//! The mark: how many batches are known to be durable, kept beside the engine's own files.
//!
//! An engine that finds its journal damaged cannot tell a torn tail, which nobody was promised, from the
//! loss of batches that were acknowledged: both look like an early end. The mark can. It is written
//! after each sync, so that whatever it counts must be there when the engine is opened again. It is
//! itself not synced before the engine is closed, which costs nothing but sharpness: an older mark
//! promises less, never more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tracing::warn;

use crate::directory::DataDir;
use crate::error::OpenError;

const LENGTH: usize = 12;

/// A count of durable batches, in a file.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    batches: Mutex<u64>,
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
            Ok(None) => Err(OpenError::damaged(directory.path(), "its file \"durable\" is altered")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenError::damaged(directory.path(), "its file \"durable\" is missing"))
            }
            Err(error) => Err(OpenError::io("open", &path)(error)),
        }
    }

    /// Says that the engine found fewer batches than were acknowledged.
    pub(super) fn lost(&self, directory: &DataDir, found: u64) -> OpenError {
        let promised = self.batches();
        let what = format!("of {promised} acknowledged batches only {found} can be read");
        OpenError::damaged(directory.path(), what)
    }

    /// A new mark that promises nothing.
    fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all_at(&encode(0), 0)?;
        file.sync_all()?;
        Ok(Self { file, batches: Mutex::new(0) })
    }

    /// The mark that was kept here; `None` when it is damaged.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut bytes = [0; LENGTH];
        let whole = file.metadata()?.len() == LENGTH as u64;
        if !whole || file.read_exact_at(&mut bytes, 0).is_err() {
            return Ok(None);
        }
        Ok(decode(bytes).map(|batches| Self { file, batches: Mutex::new(batches) }))
    }

    /// The batches that must be there.
    pub(super) fn batches(&self) -> u64 {
        *self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this many batches are durable.
    pub(super) fn raise(&self, durable: u64) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        if durable <= *batches {
            return;
        }
        *batches = durable;
        // What was synced is durable with or without its mark, so that nobody is told otherwise.
        if let Err(error) = self.file.write_all_at(&encode(durable), 0) {
            warn!(%error, "Mark of durable batches could not be written");
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Err(error) = self.file.sync_all() {
            warn!(%error, "Mark of durable batches could not be synced");
        }
    }
}

fn encode(batches: u64) -> [u8; LENGTH] {
    let count = batches.to_be_bytes();
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&count);
    bytes[8..].copy_from_slice(&crc32fast::hash(&count).to_be_bytes());
    bytes
}

fn decode(bytes: [u8; LENGTH]) -> Option<u64> {
    let count: [u8; 8] = bytes[..8].try_into().ok()?;
    (bytes[8..] == crc32fast::hash(&count).to_be_bytes()).then_some(u64::from_be_bytes(count))
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
        drop(mark);
        assert_eq!(Mark::open(&path).unwrap().unwrap().batches(), 7);
    }

    #[test]
    fn any_flipped_bit_and_any_other_length_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("durable");
        let whole = encode(0x0102_0304_0506_0708);
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
