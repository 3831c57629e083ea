//! The ceiling: fjall alone, given the very batches that the store gives it, each synced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::anyhow;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::directory;
use super::seam::Changes;
use crate::process::begin;

/// Keyspaces by the first byte of their keys.
type Keyspaces = BTreeMap<u8, Keyspace>;

/// Seconds that fjall takes, as it comes, to commit and sync these batches one by one, after others
/// that are not counted, by so many callers at once: as many as put them through the store.
pub(super) fn replay(
    before: Vec<Changes>,
    batches: Vec<Changes>,
    callers: usize,
) -> anyhow::Result<f64> {
    let directory = directory()?;
    let db = Database::builder(directory.path()).manual_journal_persist(true).open()?;
    // A keyspace for each table, as the store has it.
    let keys = before.iter().chain(&batches).flatten().filter_map(|(key, _)| key.first());
    let mut keyspaces = Keyspaces::new();
    for table in keys.copied().collect::<BTreeSet<u8>>() {
        keyspaces.insert(table, db.keyspace(&table.to_string(), KeyspaceCreateOptions::default)?);
    }
    for batch in before {
        commit(&db, &keyspaces, batch)?;
    }
    db.persist(PersistMode::SyncAll)?;
    let batches = Mutex::new(batches.into_iter());
    let begun = begin();
    thread::scope(|scope| {
        let caller = || -> anyhow::Result<()> {
            loop {
                let next = batches.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(batch) = next else {
                    return Ok(());
                };
                commit(&db, &keyspaces, batch)?;
                db.persist(PersistMode::SyncAll)?;
            }
        };
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
        let ended =
            callers.into_iter().map(|caller| caller.join().map_err(|_| anyhow!("panic"))?);
        ended.collect::<anyhow::Result<()>>()
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

fn commit(db: &Database, keyspaces: &Keyspaces, batch: Changes) -> anyhow::Result<()> {
    let mut writes = db.batch();
    for (key, value) in batch {
        let table = key.first().and_then(|first| keyspaces.get(first));
        let table = table.ok_or_else(|| anyhow!("a key of an unknown table"))?;
        match value {
            Some(value) => writes.insert(table, key.as_slice(), &*value),
            None => writes.remove(table, key.as_slice()),
        }
    }
    Ok(writes.commit()?)
}
