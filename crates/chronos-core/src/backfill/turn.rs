//! Turns: what becomes of the next slot of a backfill, decided from where things stand and the time alone.

use std::time::Duration;

use super::ledger::run_of;
use super::{Backfill, Counts, Entry, State};
use crate::Timestamp;
use crate::audit::Decision;
use crate::job::Job;
use crate::plan::{Filling, Live, Plan, fill_in};

/// What becomes of the next slot, all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It fires.
    Fire {
        /// The backfill afterwards.
        after: Box<Backfill>,
        /// What a store must do for the job.
        plan: Box<Plan>,
    },
    /// It has run, and is passed over.
    PassOver {
        /// The backfill afterwards.
        after: Box<Backfill>,
        /// What is decided by that, if it was the last.
        decision: Option<Decision>,
    },
    /// It waits.
    Wait(Wait),
    /// There is none, or the backfill does not go on.
    Rest,
}

/// What the next slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The pace.
    Rate(Timestamp),
    /// The end of quiet hours.
    QuietHours(Timestamp),
    /// Somebody to resume the job.
    JobPaused,
    /// The backfill's own runs: as many are under way as may be.
    OwnRuns,
    /// Other runs of the job: its overlap policy admits no more.
    JobBusy,
}

impl Wait {
    /// When it is over by itself, if that can be told.
    #[must_use]
    pub fn until(self) -> Option<Timestamp> {
        match self {
            Self::Rate(until) | Self::QuietHours(until) => Some(until),
            Self::JobPaused | Self::OwnRuns | Self::JobBusy => None,
        }
    }

    /// What is waited for, as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rate(_) => "rate",
            Self::QuietHours(_) => "quiet_hours",
            Self::JobPaused => "job_paused",
            Self::OwnRuns => "own_runs",
            Self::JobBusy => "job_busy",
        }
    }
}

/// Decides what becomes of the next slot of a backfill.
///
/// `ledger` knows the executions of that slot; it may know others. Quiet hours and pauses are about the time at
/// which something runs, so they hold a backfill up and take no slot from it.
#[must_use]
pub fn turn(
    backfill: &Backfill,
    job: &Job,
    live: &Live<'_>,
    ledger: &[Entry],
    now: Timestamp,
) -> Turn {
    let (State::Running, Some(slot)) = (backfill.state, backfill.cursor) else {
        return Turn::Rest;
    };
    let has_run = run_of(ledger, slot).is_some();
    if has_run && !backfill.force {
        let mut after = backfill.gone_past(slot, now);
        after.counts.already_run += 1;
        after.end_at_total();
        let decision = after.close(now);
        return Turn::PassOver { after: Box::new(after), decision };
    }
    if let Some(wait) = wait(backfill, job, live, now) {
        return Turn::Wait(wait);
    }
    let (trigger, attempt) = backfill.naming(ledger, slot);
    let Some(plan) = fill_in(job, live, Filling { slot, trigger, attempt }, now) else {
        return Turn::Wait(Wait::JobBusy);
    };
    let mut after = backfill.gone_past(slot, now);
    after.counts.fired += 1;
    after.end_at_total();
    if let Some(per_minute) = backfill.rate.per_minute {
        // Rounded up, so that never more begin in a minute.
        let between = Duration::from_micros(60_000_000_u64.div_ceil(per_minute.max(1).into()));
        after.next_at = now.after(between);
    }
    Turn::Fire { after: Box::new(after), plan: Box::new(plan) }
}

fn wait(backfill: &Backfill, job: &Job, live: &Live<'_>, now: Timestamp) -> Option<Wait> {
    if job.standing.paused.is_some() {
        return Some(Wait::JobPaused);
    }
    if let Some(until) = live.quiet_hours.and_then(|quiet| quiet.until(now)) {
        return Some(Wait::QuietHours(until));
    }
    if backfill.next_at > now {
        return Some(Wait::Rate(backfill.next_at));
    }
    let own = live.executions.iter().filter(|execution| backfill.asked_for(execution)).count();
    (own >= backfill.rate.at_once as usize).then_some(Wait::OwnRuns)
}

impl Backfill {
    /// The backfill once it has been at a slot.
    fn gone_past(&self, slot: Timestamp, now: Timestamp) -> Self {
        Self { cursor: self.slot_after(slot), updated_at: now, ..self.clone() }
    }

    /// Has it come to no further slot once it has been at as many as it may.
    fn end_at_total(&mut self) {
        let Counts { fired, already_run, .. } = self.counts;
        if fired + already_run >= self.total {
            self.cursor = None;
        }
    }
}
