//! The port: what a store must do about backfills, each verb one atomic step.

use async_trait::async_trait;

use super::{Backfill, Entry, Switch};
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
    /// Backfills that were through by it.
    pub finished: Vec<Backfill>,
    /// Jobs whose records cannot be read, so that their backfills wait.
    pub unreadable: Vec<(JobId, Error)>,
    /// When to look again; may be past when `limit` cut the step short.
    pub next: Option<Timestamp>,
}
