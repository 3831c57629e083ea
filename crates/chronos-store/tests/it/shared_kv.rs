//! A key-value engine on the bench: it outlives the store over it, fails on demand, and can be damaged.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chronos_core::store::Compacted;
use chronos_store::kv::{Batch, CompactionWatch, Error, Kv, Order, Result, Visitor};

/// Hands out an engine that several stores, one after the other, keep their records in.
pub(crate) struct SharedKv<K> {
    kv: Arc<K>,
    faults: Arc<Faults>,
}

/// What goes wrong next.
#[derive(Default)]
struct Faults {
    commits: AtomicU32,
    late_commits: AtomicU32,
    reads: AtomicU32,
    reads_before_one_fails: AtomicU32,
}

impl<K> Clone for SharedKv<K> {
    fn clone(&self) -> Self {
        let (kv, faults) = (self.kv.clone(), self.faults.clone());
        Self { kv, faults }
    }
}

impl<K: Kv> SharedKv<K> {
    pub(crate) fn new(kv: K) -> Self {
        let (kv, faults) = (Arc::new(kv), Arc::default());
        Self { kv, faults }
    }

    /// The next commits fail and change nothing.
    pub(crate) fn fail_commits(&self, count: u32) {
        self.faults.commits.store(count, Ordering::Relaxed);
    }

    /// The next commits are applied and reported as failed, as when the answer is lost.
    pub(crate) fn fail_after_commits(&self, count: u32) {
        self.faults.late_commits.store(count, Ordering::Relaxed);
    }

    /// The next reads fail.
    pub(crate) fn fail_reads(&self, count: u32) {
        self.faults.reads.store(count, Ordering::Relaxed);
    }

    /// Of the next reads the given one fails, counted from 1; zero calls it off.
    pub(crate) fn fail_reads_after(&self, count: u32) {
        let planned = &self.faults.reads_before_one_fails;
        planned.store(count, Ordering::Relaxed);
    }

    /// Every entry whose key holds these bytes.
    pub(crate) fn entries_about(&self, id: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        let all = self.kv.scan(&[], &[u8::MAX; 64], Order::Ascending, &mut |key, value| {
            if key.windows(id.len()).any(|part| part == id) {
                found.push((key.to_vec(), value.to_vec()));
            }
            ControlFlow::Continue(())
        });
        all.unwrap();
        found
    }

    /// Writes an entry past the store.
    pub(crate) fn overwrite(&self, key: &[u8], value: &[u8]) {
        let mut batch = Batch::default();
        batch.put(key, value);
        self.kv.commit(batch).unwrap();
    }
}

impl Faults {
    fn read(&self) -> Result<()> {
        fault(&self.reads)?;
        let counted = &self.reads_before_one_fails;
        match fault(counted) {
            Err(error) if counted.load(Ordering::Relaxed) == 0 => Err(error),
            _ => Ok(()),
        }
    }
}

/// Uses up one planned fault, if there is one.
fn fault(planned: &AtomicU32) -> Result<()> {
    let used =
        planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    match used {
        Ok(_) => Err(Error("a planned fault".into())),
        Err(_) => Ok(()),
    }
}

impl<K: Kv> Kv for SharedKv<K> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.faults.read()?;
        self.kv.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        self.faults.read()?;
        self.kv.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        fault(&self.faults.commits)?;
        self.kv.commit(batch)?;
        fault(&self.faults.late_commits)
    }

    fn sync(&self) -> Result<()> {
        self.kv.sync()
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        self.faults.read()?;
        self.kv.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        self.kv.compact(watch)
    }

    fn size(&self) -> u64 {
        self.kv.size()
    }
}
