//! Engines between the embedded store and the one it is given: to note what it writes, and to write
//! without syncs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chronos_core::store::Compacted;
use chronos_store::kv::{Batch, CompactionWatch, Key, Kv, MemoryKv, Order, Result, Value, Visitor};

/// The changes of one step, the last to each key.
pub(super) type Changes = Vec<(Key, Value)>;

/// Notes every batch on its way to a memory engine.
#[derive(Clone, Default)]
pub(super) struct Recorder {
    engine: Arc<MemoryKv>,
    batches: Arc<Mutex<Vec<Changes>>>,
}

impl Recorder {
    /// What was written since the last time someone asked.
    pub(super) fn take(&self) -> Vec<Changes> {
        std::mem::take(&mut *self.batches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kv for Recorder {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        self.engine.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let last: BTreeMap<Key, Value> = batch.changes.iter().cloned().collect();
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.push(last.into_iter().collect());
        self.engine.commit(batch)
    }

    fn sync(&self) -> Result<()> {
        self.engine.sync()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        self.engine.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        self.engine.compact(watch)
    }

    fn size(&self) -> u64 {
        self.engine.size()
    }
}

/// Says that nothing need be synced, so that a store is filled as fast as its verbs allow.
pub(super) struct Unsynced<K>(pub(super) K);

impl<K: Kv> Kv for Unsynced<K> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        self.0.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        self.0.commit(batch)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        self.0.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        self.0.compact(watch)
    }

    fn size(&self) -> u64 {
        self.0.size()
    }
}
