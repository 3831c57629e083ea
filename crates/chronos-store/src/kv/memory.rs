//! The memory engine: ordered maps, and the model that every other engine must equal.

mod table;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Batch, Kv, Order, Result, Visitor};
use table::Table;

/// One table for each first byte: keys that begin alike live close together.
type Tables = BTreeMap<u8, Table>;

/// Keeps everything in memory; nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryKv {
    tables: RwLock<Tables>,
}

impl MemoryKv {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    // Every change to a map is a single insert or remove, so a panic elsewhere leaves it whole.
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key's first byte and the rest. The empty key is below all others and never stored.
fn split(key: &[u8]) -> (u8, &[u8]) {
    key.split_first().map_or((0, &[]), |(first, tail)| (*first, tail))
}

impl Kv for MemoryKv {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (first, tail) = split(key);
        let tables = self.read();
        Ok(tables.get(&first).and_then(|table| table.get(tail)).map(<[u8]>::to_vec))
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let (first, last) = (split(from).0, split(to).0);
        let tables = self.read();
        let mut key = Vec::new();
        let mut visit_table = |(number, table): (&u8, &Table)| {
            let low = (*number == first).then(|| split(from).1);
            let high = (*number == last).then(|| split(to).1);
            table.scan(low, high, order, &mut |tail, value| {
                key.clear();
                key.push(*number);
                key.extend_from_slice(tail);
                visit(&key, value)
            })
        };
        let mut tables = tables.range(first..=last);
        // Only the visitor breaks, and it knows.
        let _: ControlFlow<()> = match order {
            Order::Ascending => tables.try_for_each(&mut visit_table),
            Order::Descending => tables.rev().try_for_each(&mut visit_table),
        };
        Ok(())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let mut tables = self.write();
        for (key, value) in batch.changes {
            let (first, tail) = split(&key);
            tables.entry(first).or_default().set(tail, value);
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn compact(&self) -> Result<()> {
        Ok(())
    }

    fn size(&self) -> u64 {
        self.read().values().map(Table::size).sum()
    }
}
