//! Backfills: past slots of a job that fire after all, one after the other and at a pace, beside the schedule.
//!
//! A backfill goes through the slots that the job's schedule has in a range, as it was when the backfill was
//! asked for. Each slot fires unless the ledger of executions says that it has run. What becomes of the next slot
//! is decided by [`turn`], which a store applies in one atomic step with the backfill's new position.

mod asked;
mod ledger;
mod port;
mod preview;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use asked::{Asked, Order, Rate};
pub use ledger::Entry;
pub use port::{Advanced, Backfills};
pub use preview::{Action, Previewed, preview};
pub use turn::{Turn, Wait, turn};

use crate::audit::{BackfillAct, Decision};
use crate::execution::{Execution, State as Stage};
use crate::schedule::Schedule;
use crate::store::Error;
use crate::{BackfillId, JobId, Timestamp};

/// A range of a job's past slots that fires after all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backfill {
    /// The job.
    pub job: JobId,
    /// Which of the job's backfills it is, from 1.
    pub number: u64,
    /// Slots from here on.
    pub from: Timestamp,
    /// And before here.
    pub to: Timestamp,
    /// Which of them come first.
    pub order: Order,
    /// It goes through no more slots than this.
    pub cap: u32,
    /// How fast it goes.
    pub rate: Rate,
    /// Whether slots that have run run again.
    pub force: bool,
    /// The schedule that the slots are of.
    pub schedule: Schedule,
    /// How many slots it goes through.
    pub total: u64,
    /// Whether the range has more slots than it goes through.
    pub beyond_cap: bool,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When something last became of it.
    pub updated_at: Timestamp,
    /// How far it has come.
    pub state: State,
    /// The slot that it comes to next; `None` once it has been through all.
    pub cursor: Option<Timestamp>,
    /// Nothing more of it begins before this.
    pub next_at: Timestamp,
    /// What became of its slots.
    pub counts: Counts,
    /// Why the run failed that failed last.
    pub error: Option<Arc<str>>,
}

/// Whether a backfill goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It goes on.
    Running,
    /// It waits for somebody to have it go on.
    Paused,
    /// It is through, and so are its runs.
    Finished {
        /// Since when.
        at: Timestamp,
    },
    /// It was given up; runs of it that were asked to stop may not have stopped yet.
    Cancelled {
        /// Since when.
        at: Timestamp,
    },
}

impl State {
    /// The state as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished { .. } => "finished",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// Since when it is over, if it is.
    #[must_use]
    pub fn ended_at(self) -> Option<Timestamp> {
        match self {
            Self::Running | Self::Paused => None,
            Self::Finished { at } | Self::Cancelled { at } => Some(at),
        }
    }
}

/// What became of the slots of a backfill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Slots that it fired.
    pub fired: u64,
    /// Of these, those whose last attempt succeeded.
    pub succeeded: u64,
    /// Those whose last attempt failed, timed out or was lost.
    pub failed: u64,
    /// Those that were cancelled.
    pub cancelled: u64,
    /// Those in which the job found nothing to do.
    pub skipped: u64,
    /// Slots that had run, and were passed over.
    pub already_run: u64,
}

impl Counts {
    /// Slots that fired and are not over.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        let over = self.succeeded + self.failed + self.cancelled + self.skipped;
        self.fired.saturating_sub(over)
    }

    /// Slots of which nothing more is to come.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.gone_through() - self.under_way()
    }

    /// Slots that it has been at.
    fn gone_through(&self) -> u64 {
        self.fired + self.already_run
    }
}

/// What somebody wants of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Nothing more of it begins; what is under way goes on.
    Pause,
    /// It goes on.
    Resume,
    /// It is given up: what waits of it is cancelled, what runs is asked to stop.
    Cancel,
}

impl Backfill {
    /// More slots are never gone through.
    pub const MAX_CAP: u32 = 100_000;
    /// The bound on slots where nothing is said.
    pub const USUAL_CAP: u32 = 1_000;
    /// A job has no more unfinished ones than this.
    pub const MOST_UNFINISHED: usize = 10;
    /// Of those that are over, a job keeps this many of the newest.
    pub const KEPT: usize = 100;

    /// What it is called.
    #[must_use]
    pub fn id(&self) -> BackfillId {
        BackfillId::of(self.job, self.number)
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state.ended_at().is_some()
    }

    /// Whether it comes to further slots by itself.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.state == State::Running && self.cursor.is_some()
    }

    /// Whether the execution is one of its runs.
    #[must_use]
    pub fn asked_for(&self, execution: &Execution) -> bool {
        execution.job == self.job && execution.trigger.backfill() == Some(self.number)
    }

    /// The slots that it comes to next, up to a few, in its order.
    #[must_use]
    pub fn upcoming(&self, most: usize) -> Vec<Timestamp> {
        let rest = self.total.saturating_sub(self.counts.gone_through());
        let most = usize::try_from(rest).unwrap_or(usize::MAX).min(most);
        std::iter::successors(self.cursor, |slot| self.slot_after(*slot)).take(most).collect()
    }

    /// The slot that follows one in its order, within its range.
    fn slot_after(&self, slot: Timestamp) -> Option<Timestamp> {
        match self.order {
            Order::OldestFirst => self.schedule.next_after(slot).filter(|next| *next < self.to),
            Order::NewestFirst => {
                let first = self.schedule.next_after(just_before(self.from))?;
                (first < slot).then(|| self.schedule.latest_until(just_before(slot), first))
            }
        }
    }

    /// What it becomes by the end of a slot that it fired, and what is decided by that.
    #[must_use]
    pub fn after_end(&self, last: &Execution, now: Timestamp) -> (Self, Option<Decision>) {
        let mut after = Self { updated_at: now, ..self.clone() };
        let counts = &mut after.counts;
        match &last.state {
            Stage::Queued { .. } | Stage::Running(_) => return (after, None),
            Stage::Success(_) => counts.succeeded += 1,
            Stage::Failed(..) | Stage::TimedOut(_) | Stage::Stuck(_) => {
                counts.failed += 1;
                after.error = last.error().map(Into::into);
            }
            Stage::Cancelled { .. } => counts.cancelled += 1,
            Stage::Skipped { .. } => counts.skipped += 1,
        }
        let decision = after.close(now);
        (after, decision)
    }

    /// What it becomes when a slot of it that failed for good is tried again: it is under way again.
    #[must_use]
    pub fn after_redrive(&self, now: Timestamp) -> Self {
        let failed = self.counts.failed.saturating_sub(1);
        Self { counts: Counts { failed, ..self.counts }, updated_at: now, ..self.clone() }
    }

    /// Ends it once it is through and nothing of it is under way.
    fn close(&mut self, now: Timestamp) -> Option<Decision> {
        if self.is_over() || self.cursor.is_some() || self.counts.under_way() > 0 {
            return None;
        }
        self.state = State::Finished { at: now };
        Some(self.decision(BackfillAct::Finished(self.counts)))
    }

    /// What somebody makes of it, and what is decided by that; refused where it is over.
    pub fn switched(
        &self,
        switch: Switch,
        now: Timestamp,
    ) -> Result<(Self, Option<Decision>), Error> {
        let (state, act) = match (switch, self.state) {
            (_, State::Finished { .. } | State::Cancelled { .. }) => {
                return Err(Error::BackfillIsOver(self.state.as_str()));
            }
            (Switch::Pause, State::Paused) | (Switch::Resume, State::Running) => {
                return Ok((self.clone(), None));
            }
            (Switch::Pause, State::Running) => (State::Paused, BackfillAct::Paused),
            (Switch::Resume, State::Paused) => (State::Running, BackfillAct::Resumed),
            (Switch::Cancel, State::Running | State::Paused) => {
                (State::Cancelled { at: now }, BackfillAct::Cancelled)
            }
        };
        let after = Self { state, updated_at: now, ..self.clone() };
        Ok((after, Some(self.decision(act))))
    }

    /// What is decided when it is asked for.
    #[must_use]
    pub fn created(&self) -> Decision {
        let Self { from, to, total, force, .. } = *self;
        self.decision(BackfillAct::Created { from, to, total, force })
    }

    fn decision(&self, act: BackfillAct) -> Decision {
        Decision::Backfill { number: self.number, act }
    }
}

/// The least time before an instant.
fn just_before(at: Timestamp) -> Timestamp {
    at.before(Duration::from_micros(1))
}

/// The least time after an instant.
fn just_after(at: Timestamp) -> Timestamp {
    at.after(Duration::from_micros(1))
}

#[cfg(test)]
mod tests;
