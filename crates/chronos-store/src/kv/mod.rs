//! The seam below the embedded store: an ordered map of bytes with atomic batches.

#[cfg(any(feature = "fjall", feature = "rocksdb"))]
pub mod durable;
#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(any(feature = "fjall", feature = "rocksdb"))]
mod mark;
mod memory;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;

use std::ops::ControlFlow;

use chronos_core::store::{Compacted, CompactionProgress};
pub use memory::MemoryKv;
use smallvec::SmallVec;

/// What an engine could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

/// What an engine gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// An ordered map of bytes. Everything the embedded store asks of an engine.
pub trait Kv: Send + Sync + 'static {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Visits the entries with `from <= key < to` in order until the visitor breaks.
    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()>;

    /// Applies a whole batch or nothing of it.
    fn commit(&self, batch: Batch) -> Result<()>;

    /// Makes every committed batch survive a power cut. An error puts every batch since the last success
    /// in doubt: whoever syncs for several callers tells all of them.
    fn sync(&self) -> Result<()>;

    /// Does what would have to be done soon, because nobody waits just now. Blocks.
    fn tidy(&self) {}

    /// Whether anything survives at all, and is worth a sync.
    fn is_durable(&self) -> bool {
        true
    }

    /// Visits every entry in ascending order as all of them were at one moment during the call,
    /// whatever is committed meanwhile, until the visitor breaks.
    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()>;

    /// Gives back the space of overwritten and deleted entries, unit by unit: `watch` is told before
    /// each, and breaks to leave the rest. Blocks, and no unit can be interrupted.
    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted>;

    /// Bytes held, as far as the engine knows.
    fn size(&self) -> u64;

    /// Why writes are held up, or are about to be; answers at once.
    fn pressure(&self) -> Option<String> {
        None
    }
}

/// Sees one entry after the other; breaks to end the scan.
pub type Visitor<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Told of each unit of a compaction before it begins; breaks to leave it and the rest.
pub type CompactionWatch<'a> = &'a mut dyn FnMut(CompactionProgress) -> ControlFlow<()>;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// What a key is set to; `None` removes it.
pub type Value = Option<Box<[u8]>>;

/// Changes that belong together; later ones win over earlier ones of the same key.
#[derive(Debug, Default)]
pub struct Batch {
    /// Each key with what becomes of it.
    pub changes: Vec<(Key, Value)>,
}

/// A key on its way; the common ones need no memory of their own.
pub type Key = SmallVec<[u8; 36]>;

impl Batch {
    /// Sets a key.
    pub fn put(&mut self, key: impl Into<Key>, value: impl Into<Box<[u8]>>) {
        self.changes.push((key.into(), Some(value.into())));
    }

    /// Removes a key.
    pub fn delete(&mut self, key: impl Into<Key>) {
        self.changes.push((key.into(), None));
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}
