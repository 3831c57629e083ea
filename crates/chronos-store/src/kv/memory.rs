//! The memory engine: ordered maps, and the model that every other engine must equal.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chronos_core::store::Compacted;
use smallvec::SmallVec;

use super::{Batch, CompactionWatch, Kv, Order, Result, Visitor};

/// The longest common key, without its first byte, fits in place: comparing keys then touches no
/// memory but the tree's own, which is what a large map spends its time on.
type Tail = SmallVec<[u8; 32]>;

/// One map for each first byte: keys that begin alike live close together.
type Maps = BTreeMap<u8, BTreeMap<Tail, Box<[u8]>>>;

/// Keeps everything in memory; nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryKv {
    maps: RwLock<Maps>,
}

impl MemoryKv {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    // Every change to a map is a single insert or remove, so a panic elsewhere leaves it whole.
    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Maps> {
        self.maps.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key's first byte and the rest. The empty key is below all others and never stored.
fn split(key: &[u8]) -> (u8, &[u8]) {
    key.split_first().map_or((0, &[]), |(first, tail)| (*first, tail))
}

impl Kv for MemoryKv {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (first, tail) = split(key);
        let maps = self.read();
        Ok(maps.get(&first).and_then(|map| map.get(tail)).map(|value| value.to_vec()))
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let (first, last) = (split(from).0, split(to).0);
        let maps = self.read();
        let mut key = Vec::new();
        let mut visit_map = |(table, map): (&u8, &BTreeMap<Tail, Box<[u8]>>)| {
            let low =
                if *table == first { Bound::Included(split(from).1) } else { Bound::Unbounded };
            let high = if *table == last { Bound::Excluded(split(to).1) } else { Bound::Unbounded };
            let mut range = map.range::<[u8], _>((low, high));
            let mut next = || match order {
                Order::Ascending => range.next(),
                Order::Descending => range.next_back(),
            };
            while let Some((tail, value)) = next() {
                key.clear();
                key.push(*table);
                key.extend_from_slice(tail);
                visit(&key, value)?;
            }
            ControlFlow::Continue(())
        };
        let mut tables = maps.range(first..=last);
        // Only the visitor breaks, and it knows.
        let _: ControlFlow<()> = match order {
            Order::Ascending => tables.try_for_each(&mut visit_map),
            Order::Descending => tables.rev().try_for_each(&mut visit_map),
        };
        Ok(())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let mut maps = self.write();
        for (key, value) in batch.changes {
            let (first, tail) = split(&key);
            let map = maps.entry(first).or_default();
            match value {
                Some(value) => map.insert(Tail::from_slice(tail), value),
                None => map.remove(tail),
            };
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        // The copy is short and the visit may be long, so that writers wait for the copy alone.
        let entries = self.read().clone();
        let mut key = Vec::new();
        for (table, map) in &entries {
            for (tail, value) in map {
                key.clear();
                key.push(*table);
                key.extend_from_slice(tail);
                if visit(&key, value).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn compact(&self, _watch: CompactionWatch<'_>) -> Result<Compacted> {
        // Memory is given back as entries go: there is nothing to do, and no unit to tell of.
        Ok(Compacted::default())
    }

    fn size(&self) -> u64 {
        let maps = self.read();
        let entries = maps.values().flat_map(BTreeMap::iter);
        entries.map(|(tail, value)| (1 + tail.len() + value.len()) as u64).sum()
    }
}
