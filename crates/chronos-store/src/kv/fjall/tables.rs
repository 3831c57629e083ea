//! The open engine: its database, with one keyspace for each first byte of a key.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use chronos_core::store::{Compacted, CompactionProgress};
use fjall::compaction::Leveled;
use fjall::{AbstractTree as _, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use fjall::{Iter, LsmError, Readable as _};
use rustc_hash::FxHashSet;

use super::inspect::inspect;
use crate::directory::patiently;
use crate::kv::durable::{Failure, Result, Tables};
use crate::kv::mark::Promise;
use crate::kv::{Batch, CompactionWatch, Order, Visitor};
use crate::open::Tuning;

/// The keyspace of the engine's own records is made first, which gives it this number.
pub(super) const META_ID: u64 = 1;
const META: &str = "meta";
/// How many batches there were.
pub(super) const COUNT: &[u8] = b"batches";
/// The first byte of every table that was ever written to.
const TABLES: &[u8] = b"tables";

/// How much of all tables may be in memory before it is written out.
/// With so many runs that are not merged yet, writes are about to be slowed down.
const RUNS: usize = 16;
/// With so many tables in memory that wait to be written out, writes are about to be halted.
const SEALED: usize = 3;
const BUFFER: u64 = 32 << 20;
/// The engine itself never writes out: it would do so table by table, and then nobody could say which
/// batches need no journal any more.
const NEVER: u64 = u64::MAX;
const FILES: usize = 128;
/// One thread writes memtables out and the others merge tables. The first hands merges back to the others
/// again and again until one of them is free, which takes a whole core: so there are more than are ever busy.
const WORKERS: usize = 4;

/// Tables of a keyspace that gather before they are merged with older ones. Within a volume the past is
/// filed by job, so that whatever is new lies between everything older there: each merge writes it anew,
/// and must be worth it.
const GATHERED: u8 = 12;
/// The largest that merged tables become.
const TABLE: u64 = 32 << 20;

/// Writers wait in steps of this while the engine is behind, up to ten seconds in all.
const PATIENCE: Duration = Duration::from_millis(5);
const STEPS_OF_PATIENCE: usize = 2_000;

impl From<LsmError> for Failure {
    fn from(error: LsmError) -> Self {
        match error {
            LsmError::Io(error) => error.into(),
            error => Self::Damaged(format!("{error:?}")),
        }
    }
}

impl From<fjall::Error> for Failure {
    fn from(error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(error) => error.into(),
            fjall::Error::Storage(error) => error.into(),
            fjall::Error::Poisoned => Self::Poisoned,
            error => Self::Damaged(format!("{error:?}")),
        }
    }
}

/// The open engine.
pub struct FjallTables {
    db: Database,
    meta: Keyspace,
    by_first_byte: Vec<OnceLock<Keyspace>>,
    /// The tables that the engine's own records list.
    listed: Mutex<BTreeSet<u8>>,
}

impl Tables for FjallTables {
    fn inspect(path: &Path, promise: Promise) -> Result<u64> {
        inspect(path, promise)
    }

    fn open(path: &Path, tuning: Tuning) -> Result<Self> {
        let open = || {
            Database::builder(path)
                .cache_size(tuning.cache_bytes)
                .manual_journal_persist(true)
                .max_journaling_size(NEVER)
                .max_cached_files(Some(FILES))
                .worker_threads(WORKERS)
                .open()
        };
        let db = patiently(open, |error| matches!(error, fjall::Error::Locked))?;
        let meta = db.keyspace(META, options)?;
        if meta.id() != META_ID {
            return Err(Failure::Damaged("the engine's own records are missing".into()));
        }
        let by_first_byte = (0..=u8::MAX).map(|_| OnceLock::new()).collect();
        let tables = Self { db, meta, by_first_byte, listed: Mutex::default() };
        for first in 0..=u8::MAX {
            if tables.db.keyspace_exists(&name(first)) {
                tables.make(first)?;
            }
        }
        let listed = tables.meta.get(TABLES)?;
        let listed: BTreeSet<u8> = listed.iter().flat_map(|it| it.iter().copied()).collect();
        if let Some(first) = listed.iter().find(|first| tables.table(**first).is_none()) {
            return Err(Failure::Damaged(format!("the keyspace of {} is missing", name(*first))));
        }
        Ok(Self { listed: Mutex::new(listed), ..tables })
    }

    fn count(&self) -> Result<u64> {
        let Some(count) = self.meta.get(COUNT)? else {
            return Ok(0);
        };
        let count = count.as_ref().try_into().map(u64::from_be_bytes);
        count.map_err(|_| Failure::Damaged("the count of batches cannot be read".into()))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let table = key.first().and_then(|first| self.table(*first));
        let value = table.map_or(Ok(None), |table| table.get(key))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let first = from.first().copied().unwrap_or(0);
        let last = to.first().copied().unwrap_or(0);
        let range = (Bound::Included(from), Bound::Excluded(to));
        let in_table = |first: u8, visit: Visitor<'_>| match self.table(first) {
            Some(table) => walk(table.range::<&[u8], _>(range), order, visit),
            None => Ok(ControlFlow::Continue(())),
        };
        let mut tables: Vec<u8> = (first..=last).collect();
        if order == Order::Descending {
            tables.reverse();
        }
        for table in tables {
            if in_table(table, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        let snapshot = self.db.snapshot();
        for table in self.by_first_byte.iter().filter_map(OnceLock::get) {
            if walk(snapshot.iter(table), Order::Ascending, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, batch: &Batch, count: u64) -> Result<()> {
        let mut writes = self.db.batch().durability(None);
        // The engine gives all changes of a batch one number, so that of several changes to a key
        // only the last may reach it.
        let mut seen = FxHashSet::default();
        let mut touched = BTreeSet::new();
        for (key, value) in batch.changes.iter().rev() {
            if !seen.insert(key) {
                continue;
            }
            let Some(first) = key.first().copied() else {
                continue;
            };
            if key.len() > usize::from(u16::MAX) {
                return Err(Failure::LongKey(key.len()));
            }
            let table = match (self.table(first), value) {
                (Some(table), _) => table,
                (None, None) => continue,
                (None, Some(_)) => self.make(first)?,
            };
            touched.insert(first);
            match value {
                Some(value) => writes.insert(table, key.as_slice(), &**value),
                None => writes.remove(table, key.as_slice()),
            }
        }
        for first in &touched {
            self.wait_for_room(self.table(*first).unwrap_or(&self.meta))?;
        }
        self.wait_for_room(&self.meta)?;
        writes.insert(&self.meta, COUNT, count.to_be_bytes());
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let grown: BTreeSet<u8> = listed.union(&touched).copied().collect();
        if grown.len() > listed.len() {
            writes.insert(&self.meta, TABLES, grown.iter().copied().collect::<Vec<u8>>());
        }
        writes.commit()?;
        *listed = grown;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }

    fn filled(&self) -> f64 {
        let active = |table: &Keyspace| table.tree.active_memtable().size();
        self.all().map(active).sum::<u64>() as f64 / BUFFER as f64
    }

    fn write_out(&self) -> Result<()> {
        for table in self.all() {
            table.rotate_memtable()?;
        }
        Ok(())
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        let tables: Vec<&Keyspace> = self.all().collect();
        let mut compacted = Compacted { units: tables.len(), ..Compacted::default() };
        for (table, unit) in tables.iter().zip(1..) {
            let progress =
                CompactionProgress { unit, units: tables.len(), bytes: table.disk_space() };
            if watch(progress).is_break() {
                break;
            }
            self.wait_while(|| table.tree.sealed_memtable_count() > 0)?;
            compacted.bytes_before += table.disk_space();
            table.major_compact()?;
            compacted.bytes_after += table.disk_space();
            compacted.done += 1;
        }
        Ok(compacted)
    }

    // Journals are left out: they are made larger than they are filled, and hold nothing of their own.
    fn size(&self) -> u64 {
        let tables = self.by_first_byte.iter().filter_map(OnceLock::get);
        tables.map(Keyspace::disk_space).sum::<u64>() + self.db.write_buffer_size()
    }

    // The engine slows writes down at twenty runs, and halts them at four sealed tables.
    fn pressure(&self) -> Option<String> {
        let held_up = |table: &Keyspace| {
            table.tree.l0_run_count() >= RUNS || table.tree.sealed_memtable_count() >= SEALED
        };
        let held_up = self.all().any(held_up);
        held_up.then(|| "writes to the store outrun its compaction".into())
    }
}

impl FjallTables {
    fn all(&self) -> impl Iterator<Item = &Keyspace> {
        self.by_first_byte.iter().filter_map(OnceLock::get).chain([&self.meta])
    }

    fn table(&self, first: u8) -> Option<&Keyspace> {
        self.by_first_byte.get(usize::from(first))?.get()
    }

    fn make(&self, first: u8) -> Result<&Keyspace> {
        let keyspace = self.db.keyspace(&name(first), options)?;
        let table = self.by_first_byte.get(usize::from(first));
        Ok(table.map_or(&self.meta, |table| table.get_or_init(|| keyspace)))
    }

    /// Waits until a commit can end. Inside one the engine waits for its own workers without end, also
    /// for those that gave up because there was no space; so no commit begins that might.
    fn wait_for_room(&self, table: &Keyspace) -> Result<()> {
        let tree = &table.tree;
        self.wait_while(|| tree.sealed_memtable_count() >= 3 || tree.l0_run_count() >= 19)
    }

    fn wait_while(&self, condition: impl Fn() -> bool) -> Result<()> {
        for _ in 0..STEPS_OF_PATIENCE {
            if !condition() {
                return Ok(());
            }
            // Says so if a worker gave up.
            self.db.persist(PersistMode::Buffer)?;
            thread::sleep(PATIENCE);
        }
        Err(Failure::Behind)
    }
}

fn walk(mut entries: Iter, order: Order, visit: Visitor<'_>) -> Result<ControlFlow<()>> {
    loop {
        let entry = match order {
            Order::Ascending => entries.next(),
            Order::Descending => entries.next_back(),
        };
        let Some(entry) = entry else {
            return Ok(ControlFlow::Continue(()));
        };
        let (key, value) = entry.into_inner()?;
        if visit(&key, &value).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

fn name(first: u8) -> String {
    format!("table-{first}")
}

fn options() -> KeyspaceCreateOptions {
    let merging = Leveled::default().with_l0_threshold(GATHERED).with_table_target_size(TABLE);
    KeyspaceCreateOptions::default()
        .max_memtable_size(NEVER)
        .manual_journal_persist(true)
        .compaction_strategy(Arc::new(merging))
}
