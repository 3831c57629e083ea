//! Syncing: everyone who waits for a commit to be durable shares the next sync.
//!
//! A step that decides something holds the lock under which decisions are numbered until it has committed.
//! If that commit waited for the disk, all deciding steps of the cluster would wait for one disk write
//! each, one after the other. So it does not; the step is acknowledged after a sync of the log that began
//! once it had committed, and that every step of the node that committed meanwhile shares. What another
//! node read before the sync and acts upon, it acknowledges after a later one, and the log has one order.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::Outcome;
use super::shared::Shared;

#[derive(Default)]
pub(super) struct Syncer {
    /// Counts commits that are to be synced.
    committed: AtomicU64,
    /// How many of them are.
    synced: AtomicU64,
    /// Whoever syncs holds this; the others wait for it.
    turn: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Waits until everything that was committed so far is durable.
    pub(super) async fn synced(&self) -> Outcome<()> {
        let syncer = &self.syncer;
        let mine = syncer.committed.fetch_add(1, Ordering::SeqCst) + 1;
        let _turn = syncer.turn.lock().await;
        if syncer.synced.load(Ordering::SeqCst) >= mine {
            return Ok(());
        }
        let all = syncer.committed.load(Ordering::SeqCst);
        if let Err(fault) = self.fetch_from(&self.pool, self.sql.sync.query()).await {
            // A connection may have died since it was used last, and a sync may be repeated.
            self.noted(fault);
            self.fetch_from(&self.pool, self.sql.sync.query()).await?;
        }
        syncer.synced.store(all, Ordering::SeqCst);
        Ok(())
    }
}
