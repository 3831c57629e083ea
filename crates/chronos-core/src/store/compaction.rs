//! Compaction: space given back in units, and how far it has come.

use std::ops::ControlFlow;
use std::sync::Arc;

/// Told of each unit of a compaction before it begins; breaks to leave it and the rest for another
/// time.
pub type CompactionHook = Arc<dyn Fn(CompactionProgress) -> ControlFlow<()> + Send + Sync>;

/// How far a compaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionProgress {
    /// The unit that is next, counted from 1.
    pub unit: usize,
    /// Units in all.
    pub units: usize,
    /// Bytes that this unit holds.
    pub bytes: u64,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Units that were compacted.
    pub done: usize,
    /// Units in all; none when the store has nothing to compact.
    pub units: usize,
    /// Bytes that the compacted units held before.
    pub bytes_before: u64,
    /// Bytes that they hold now.
    pub bytes_after: u64,
}

impl Compacted {
    /// Whether no unit was left for another time.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.done == self.units
    }

    /// Bytes given back.
    #[must_use]
    pub fn reclaimed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after)
    }
}
