//! The RocksDB engine, for those who already operate it: one column family for each table.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chronos_core::store::{Compacted, CompactionProgress};
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, BoundColumnFamily, Cache, CompactOptions,
    DBCompressionType, DBRawIteratorWithThreadMode, DBRecoveryMode, DBWithThreadMode, ErrorKind,
    MultiThreaded, Options, ReadOptions, WriteBatch, WriteOptions,
};

use super::durable::{DurableKv, Failure, Result, Tables};
use super::mark::Promise;
use super::{Batch, CompactionWatch, Order, Visitor};
use crate::directory::patiently;
use crate::open::Tuning;

type Db = DBWithThreadMode<MultiThreaded>;

/// Keeps entries in a directory, by RocksDB.
pub type RocksKv = DurableKv<RocksTables>;

/// How many batches there were; in the default column family, which holds no table.
const COUNT: &[u8] = b"batches";
/// The first byte of every table, with the last batch that wrote to it; also there.
const TABLES: &[u8] = b"tables";
const DEFAULT: &str = "default";

/// Memory for what is not yet in tables, over all column families.
const BUFFER: usize = 16 << 20;
/// Journals are replayed at the start, so that their size is a start's time.
const JOURNALS: u64 = 64 << 20;
const FILES: i32 = 128;

/// The open engine.
pub struct RocksTables {
    db: Db,
    options: Options,
    /// The last batch that wrote to each table.
    last: Mutex<BTreeMap<u8, u64>>,
}

impl Tables for RocksTables {
    fn inspect(path: &Path, _promise: Promise) -> Result<u64> {
        // A directory that was in use and has no list of its files would be taken for a new one.
        if !path.join("CURRENT").is_file() {
            return Err(Failure::Damaged("engine/CURRENT is missing".into()));
        }
        Ok(0)
    }

    fn open(path: &Path, tuning: Tuning) -> Result<Self> {
        let options = options(tuning);
        let is_locked = |error: &rocksdb::Error| error.as_ref().contains("lock ");
        let db = patiently(
            || {
                let families = if path.join("CURRENT").exists() {
                    Db::list_cf(&options, path)?
                } else {
                    vec![DEFAULT.into()]
                };
                Db::open_cf_with_opts(
                    &options,
                    path,
                    families.into_iter().map(|name| (name, options.clone())),
                )
            },
            is_locked,
        )?;
        let last = decode(&db.get(TABLES)?.unwrap_or_default())?;
        let tables = Self { db, options, last: Mutex::new(last) };
        tables.find_witnesses()?;
        Ok(tables)
    }

    fn count(&self) -> Result<u64> {
        let Some(count) = self.db.get(COUNT)? else {
            return Ok(0);
        };
        let count = count.as_slice().try_into().map(u64::from_be_bytes);
        count.map_err(|_| Failure::Damaged("the count of batches cannot be read".into()))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let table = key.first().and_then(|first| self.table(*first));
        Ok(table.map_or(Ok(None), |table| self.db.get_cf(&table, key))?)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let first = from.first().copied().unwrap_or(0);
        let last = to.first().copied().unwrap_or(0);
        let mut tables: Vec<u8> = (first..=last).collect();
        if order == Order::Descending {
            tables.reverse();
        }
        for first in tables {
            let Some(table) = self.table(first) else {
                continue;
            };
            let mut range = of_table(first);
            if from > [first].as_slice() {
                range.set_iterate_lower_bound(from);
            }
            if to.first() == Some(&first) {
                range.set_iterate_upper_bound(to);
            }
            let entries = self.db.raw_iterator_cf_opt(&table, range);
            if walk(entries, order, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        let snapshot = self.db.snapshot();
        for first in 0..=u8::MAX {
            let Some(table) = self.table(first) else {
                continue;
            };
            let entries = snapshot.raw_iterator_cf_opt(&table, of_table(first));
            if walk(entries, Order::Ascending, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, batch: &Batch, count: u64) -> Result<()> {
        let mut writes = WriteBatch::default();
        let mut touched = BTreeSet::new();
        for (key, value) in &batch.changes {
            let Some(first) = key.first() else {
                continue;
            };
            let table = match (self.table(*first), value) {
                (Some(table), _) => table,
                (None, None) => continue,
                (None, Some(_)) => self.make(*first)?,
            };
            touched.insert(*first);
            match value {
                Some(value) => writes.put_cf(&table, key, value),
                None => writes.delete_cf(&table, key),
            }
        }
        writes.put(COUNT, count.to_be_bytes());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = last.clone();
        for first in touched {
            writes.put_cf(&self.make(first)?, witness(first), count.to_be_bytes());
            now.insert(first, count);
        }
        writes.put(TABLES, encode(&now));
        self.db.write_opt(writes, &WriteOptions::default())?;
        *last = now;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(self.db.flush_wal(true)?)
    }

    fn filled(&self) -> f64 {
        // It writes out by itself, all families together, and keeps account of its journals.
        0.0
    }

    fn write_out(&self) -> Result<()> {
        Ok(())
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        let tables: Vec<_> = (0..=u8::MAX).filter_map(|first| self.table(first)).collect();
        let mut compacted = Compacted { units: tables.len(), ..Compacted::default() };
        let mut thoroughly = CompactOptions::default();
        thoroughly.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        for (table, unit) in tables.iter().zip(1..) {
            let progress =
                CompactionProgress { unit, units: tables.len(), bytes: self.bytes(table) };
            if watch(progress).is_break() {
                break;
            }
            // What is only in the journal so far takes part too.
            self.db.flush_cf(table)?;
            compacted.bytes_before += self.bytes(table);
            self.db.compact_range_cf_opt(table, None::<&[u8]>, None::<&[u8]>, &thoroughly);
            compacted.bytes_after += self.bytes(table);
            compacted.done += 1;
        }
        Ok(compacted)
    }

    fn pressure(&self) -> Option<String> {
        let read = |name: &str| self.db.property_int_value(name).ok().flatten().unwrap_or(0);
        let held_up = ["rocksdb.is-write-stopped", "rocksdb.actual-delayed-write-rate"];
        let held_up = held_up.into_iter().any(|name| read(name) > 0);
        held_up.then(|| "writes to the store outrun its compaction".into())
    }

    fn size(&self) -> u64 {
        let tables = (0..=u8::MAX).filter_map(|first| self.table(first));
        let in_memory = |table: &_| self.property(table, "rocksdb.cur-size-all-mem-tables");
        tables.map(|table| self.bytes(&table) + in_memory(&table)).sum()
    }
}

impl RocksTables {
    /// Checks that every table is there and up to date. A list of files that was cut short is taken for a
    /// complete one by the engine, which then lacks some files of some tables and does not know it.
    fn find_witnesses(&self) -> Result<()> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        for (first, count) in last.iter() {
            let table = self.table(*first);
            let found = table.map_or(Ok(None), |table| self.db.get_cf(&table, witness(*first)))?;
            if found.as_deref() != Some(count.to_be_bytes().as_slice()) {
                return Err(Failure::Damaged(format!("files of {} are missing", name(*first))));
            }
        }
        Ok(())
    }

    fn table(&self, first: u8) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.db.cf_handle(&name(first))
    }

    fn make(&self, first: u8) -> Result<Arc<BoundColumnFamily<'_>>> {
        if self.table(first).is_none() {
            self.db.create_cf(name(first), &self.options)?;
        }
        self.table(first).ok_or_else(|| Failure::Damaged(format!("{} is missing", name(first))))
    }

    /// Bytes in the tables of a column family.
    fn bytes(&self, table: &Arc<BoundColumnFamily<'_>>) -> u64 {
        self.property(table, "rocksdb.live-sst-files-size")
    }

    fn property(&self, table: &Arc<BoundColumnFamily<'_>>, name: &str) -> u64 {
        self.db.property_int_value_cf(table, name).ok().flatten().unwrap_or(0)
    }
}

fn name(first: u8) -> String {
    format!("table-{first}")
}

fn encode(last: &BTreeMap<u8, u64>) -> Vec<u8> {
    last.iter().flat_map(|(first, count)| [&[*first], &count.to_be_bytes()[..]].concat()).collect()
}

fn decode(bytes: &[u8]) -> Result<BTreeMap<u8, u64>> {
    let (entries, rest) = bytes.as_chunks::<9>();
    if !rest.is_empty() {
        return Err(Failure::Damaged("the engine's own records cannot be read".into()));
    }
    let entries = entries.iter().map(|[first, count @ ..]| (*first, u64::from_be_bytes(*count)));
    Ok(entries.collect())
}

/// A key that every table has beside its own, and which is none of its own: it holds the last batch
/// that wrote to the table.
fn witness(first: u8) -> [u8; 1] {
    [first.wrapping_add(1)]
}

/// The keys of a table, without its witness.
fn of_table(first: u8) -> ReadOptions {
    let mut range = ReadOptions::default();
    range.set_iterate_lower_bound([first]);
    if let Some(next) = first.checked_add(1) {
        range.set_iterate_upper_bound([next]);
    }
    range
}

fn options(tuning: Tuning) -> Options {
    let mut blocks = BlockBasedOptions::default();
    let cache = usize::try_from(tuning.cache_bytes).unwrap_or(usize::MAX);
    blocks.set_block_cache(&Cache::new_lru_cache(cache));
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_db_write_buffer_size(BUFFER);
    options.set_max_total_wal_size(JOURNALS);
    options.set_max_open_files(FILES);
    options.set_keep_log_file_num(4);
    // Journals are written when they are synced: a commit before that was promised to nobody.
    options.set_manual_wal_flush(true);
    // Replay ends at the first batch that is not whole, in whatever journal, so that there is no gap;
    // whether anything acknowledged came after it is for the mark to say.
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    options.set_track_and_verify_wals_in_manifest(true);
    // The count of batches must not reach the tables before the batches do.
    options.set_atomic_flush(true);
    options.set_paranoid_checks(true);
    options
}

impl From<rocksdb::Error> for Failure {
    fn from(error: rocksdb::Error) -> Self {
        let text = error.to_string();
        match error.kind() {
            ErrorKind::IOError if is_about_space(&text) => Self::Full(text),
            ErrorKind::IOError if text.contains("No such file") => Self::Damaged(text),
            ErrorKind::IOError => Self::Io(std::io::Error::other(text)),
            _ => Self::Damaged(text),
        }
    }
}

fn is_about_space(text: &str) -> bool {
    ["No space left", "Disk quota exceeded", "File too large"].iter().any(|it| text.contains(it))
}

fn walk(
    mut entries: DBRawIteratorWithThreadMode<'_, Db>,
    order: Order,
    visit: Visitor<'_>,
) -> Result<ControlFlow<()>> {
    match order {
        Order::Ascending => entries.seek_to_first(),
        Order::Descending => entries.seek_to_last(),
    }
    while let Some((key, value)) = entries.item() {
        if visit(key, value).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match order {
            Order::Ascending => entries.next(),
            Order::Descending => entries.prev(),
        }
    }
    entries.status()?;
    Ok(ControlFlow::Continue(()))
}
