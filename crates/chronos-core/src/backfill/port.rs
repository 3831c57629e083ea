//! The port: what a store must do about backfills, each verb one atomic step.

use std::time::Duration;

use async_trait::async_trait;

use super::{Backfill, Entry, Switch, Wait};
use crate::store::{Error, Result};
use crate::{BackfillId, JobId, Timestamp};

/// A durable memory for backfills. Whatever is acknowledged survives a crash.
#[async_trait]
pub trait Backfills: Send + Sync + 'static {
    /// Adds a backfill to its job, if that is still on the schedule that the backfill was thought out for, and
    /// has fewer than [`Backfill::MOST_UNFINISHED`]; gives it its number. Of the job's others that are over,
    /// [`Backfill::KEPT`] of the newest are kept.
    async fn create_backfill(&self, new: Backfill, now: Timestamp) -> Result<Backfill>;

    /// The backfill of this id.
    async fn backfill(&self, backfill: BackfillId) -> Result<Backfill>;

    /// A job's backfills, newest first, from before one of this number.
    async fn backfills(
        &self,
        job: JobId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Backfill>>;

    /// Pauses a backfill, has it go on, or cancels it with what of it is alive. One that is over is refused.
    async fn switch_backfill(
        &self,
        backfill: BackfillId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Backfill>;

    /// Takes turns of all backfills that go on, up to `limit` slots, each as [`turn`](super::turn) has it. Ends
    /// of their runs are counted in the steps that end them.
    async fn advance_backfills(&self, now: Timestamp, limit: usize) -> Result<Advanced>;

    /// What is known of the executions of these slots of a job.
    async fn ledger(&self, job: JobId, slots: &[Timestamp]) -> Result<Vec<Entry>>;
}

/// What advancing did, and when there is something to advance again.
#[derive(Clone, Debug, Default)]
pub struct Advanced {
    /// Slots that fired.
    pub fired: usize,
    /// Slots that had run, and were passed over.
    pub passed_over: usize,
    /// Jobs whose records cannot be read, so that their backfills wait.
    pub unreadable: Vec<(JobId, Error)>,
    /// When to look again; may be past when `limit` cut the step short.
    pub next: Option<Timestamp>,
}

impl Advanced {
    /// Slots of one backfill in one step.
    pub const SLOTS_AT_ONCE: usize = 64;
    /// Where only others can tell when something may go on, it is looked at again after this.
    pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

    /// Has it looked at again no later than this.
    pub fn look_again(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// Has it looked at again when a backfill may go on that was left like this.
    pub fn look_again_at(&mut self, left: &Backfill, waits: Option<Wait>, now: Timestamp) {
        match waits {
            // Whoever ends a run tells of it, but a message may be lost.
            Some(wait) => self.look_again(wait.until().unwrap_or(now.after(Self::LOOK_AGAIN))),
            None if left.goes_on() => self.look_again(now),
            None => {}
        }
    }
}
