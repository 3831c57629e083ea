//! The memory engine: ordered maps, and the model that every other engine must equal.

mod table;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chronos_core::store::Compacted;

use super::{Batch, CompactionWatch, Kv, Order, Result, Visitor};
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

/// Visits the entries of a table whose keys lie within bounds, under their whole keys.
fn visit_table(
    number: u8,
    table: &Table,
    (low, high): (Option<&[u8]>, Option<&[u8]>),
    order: Order,
    visit: Visitor<'_>,
) -> ControlFlow<()> {
    let mut key = vec![number];
    table.scan(low, high, order, &mut |tail, value| {
        key.truncate(1);
        key.extend_from_slice(tail);
        visit(&key, value)
    })
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
        let mut visit = |(number, table): (&u8, &Table)| {
            let low = (*number == first).then(|| split(from).1);
            let high = (*number == last).then(|| split(to).1);
            visit_table(*number, table, (low, high), order, visit)
        };
        let mut tables = tables.range(first..=last);
        // Only the visitor breaks, and it knows.
        let _: ControlFlow<()> = match order {
            Order::Ascending => tables.try_for_each(&mut visit),
            Order::Descending => tables.rev().try_for_each(&mut visit),
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

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        // The copy is short and the visit may be long, so that writers wait for the copy alone.
        let tables = self.read().clone();
        // Only the visitor breaks, and it knows.
        let _: ControlFlow<()> = tables.iter().try_for_each(|(number, table)| {
            visit_table(*number, table, (None, None), Order::Ascending, visit)
        });
        Ok(())
    }

    fn compact(&self, _watch: CompactionWatch<'_>) -> Result<Compacted> {
        // Memory is given back as entries go: there is nothing to do, and no unit to tell of.
        Ok(Compacted::default())
    }

    fn size(&self) -> u64 {
        self.read().values().map(Table::size).sum()
    }
}
