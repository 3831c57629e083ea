//! The memory engine: a `BTreeMap`, and the model that every other engine must equal.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Batch, Kv, Order, Result, Visitor};

type Map = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// Keeps everything in memory; nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryKv {
    map: RwLock<Map>,
}

impl MemoryKv {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    // Every change to the map is a single insert or remove, so a panic elsewhere leaves it whole.
    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kv for MemoryKv {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.read().get(key).map(|value| value.to_vec()))
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let map = self.read();
        let mut range = map.range::<[u8], _>((
            std::ops::Bound::Included(from),
            std::ops::Bound::Excluded(to),
        ));
        loop {
            let entry = match order {
                Order::Ascending => range.next(),
                Order::Descending => range.next_back(),
            };
            match entry {
                Some((key, value)) if visit(key, value) == ControlFlow::Continue(()) => {}
                _ => return Ok(()),
            }
        }
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let mut map = self.write();
        for (key, value) in batch.changes {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn compact(&self) -> Result<()> {
        Ok(())
    }

    fn size(&self) -> u64 {
        let map = self.read();
        map.iter()
            .map(|(key, value)| (key.len() + value.len()) as u64)
            .sum()
    }
}
