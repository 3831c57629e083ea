//! Planning: what a due job does now, decided from its standing and the time alone.
//!
//! [`plan`] walks the slots that have come due, in order, and accounts for every one of them: it
//! fires, is skipped with a reason, or is covered by a range that says so. The result is a value; a
//! store applies it in one atomic step, so no slot can be fired twice or lost in between.

mod change;
mod conclude;
mod overlap;
mod preview;

use std::time::Duration;

pub use change::{Amended, Change, amend};
pub use conclude::{Conclusion, Ending, FollowUp, conclude, follow_up};
pub use preview::{PreviewRun, Reason, preview};

use crate::audit::{Decision, Slots};
use crate::execution::{CancelCause, Execution, SkipReason, State, Trigger};
use crate::job::{Job, Standing};
use crate::policy::quiet_hours::Mode;
use crate::policy::{CatchUpPolicy, QuietHours, jitter};
use crate::{ExecutionId, Timestamp};
use overlap::{Admission, Occupancy};

/// Slots that one plan records one by one; what lies beyond is recorded as a range.
pub const MAX_ROWS: usize = 1_000;

/// What surrounds a job when it is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live<'a> {
    /// Its executions that wait or run.
    pub executions: &'a [&'a Execution],
    /// The quiet hours it observes.
    pub quiet_hours: Option<&'a QuietHours>,
}

/// What a store must do, all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Executions to record: queued ones to run, skipped ones to remember.
    pub executions: Vec<Execution>,
    /// Live executions to end or to ask to stop.
    pub withdrawals: Vec<Withdrawal>,
    /// What was decided, in order.
    pub decisions: Vec<Decision>,
    /// Where the job stands afterwards.
    pub standing: Standing,
}

/// A live execution that the plan takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withdrawal {
    /// A waiting execution becomes a skipped one.
    Skip(ExecutionId, SkipReason),
    /// A waiting execution ends cancelled; a running one is asked to stop.
    Cancel(ExecutionId, CancelCause),
    /// A waiting execution waits on, for the end of a pause.
    Hold(ExecutionId),
}

/// Decides what the job does now.
///
/// Nothing, when it is not due. Otherwise every slot up to `now` is accounted for, up to a bound of
/// work: a plan that reaches it leaves the rest due, for the next call.
#[must_use]
pub fn plan(job: &Job, live: &Live<'_>, now: Timestamp) -> Plan {
    let mut draft = Draft::new(job, live, now);
    if job.due_at().is_some_and(|due| due <= now) {
        if job.standing.paused.is_some() {
            draft.pass_over(now, &SkipReason::Paused);
        } else if let Some(until) = live.quiet_hours.and_then(|quiet| quiet.until(now)) {
            draft.keep_quiet(until);
        } else {
            draft.fire_deferred();
            draft.catch_up();
            draft.fire_on_time();
        }
    }
    draft.finish()
}

/// Decides what happens when someone asks for a run now.
///
/// Ignores the schedule, a pause and jitter, never moves the cadence, and respects the overlap
/// policy: `None` says that it refuses.
#[must_use]
pub fn run_now(job: &Job, live: &Live<'_>, now: Timestamp) -> Option<Plan> {
    let mut draft = Draft::new(job, live, now);
    draft.standing.tally.manual += 1;
    let trigger = Trigger::Manual {
        number: draft.standing.tally.manual,
    };
    draft.admit(now, trigger, now, None).then(|| Plan {
        standing: draft.standing,
        executions: draft.executions,
        withdrawals: draft.withdrawals,
        decisions: draft.decisions,
    })
}

/// A plan in the making, with the oldest slot that is not yet accounted for.
struct Draft<'a> {
    job: &'a Job,
    live: &'a Live<'a>,
    now: Timestamp,
    cursor: Option<Timestamp>,
    rows: usize,
    occupancy: Occupancy,
    executions: Vec<Execution>,
    withdrawals: Vec<Withdrawal>,
    decisions: Vec<Decision>,
    standing: Standing,
}

impl<'a> Draft<'a> {
    fn new(job: &'a Job, live: &'a Live<'a>, now: Timestamp) -> Self {
        Self {
            job,
            live,
            now,
            cursor: job.standing.next_slot,
            rows: 0,
            occupancy: Occupancy::of(live.executions),
            executions: Vec::new(),
            withdrawals: Vec::new(),
            decisions: Vec::new(),
            standing: job.standing.clone(),
        }
    }

    /// The oldest slot that is not yet accounted for, if it is not after `until`.
    fn slot_until(&self, until: Timestamp) -> Option<Timestamp> {
        self.cursor.filter(|slot| *slot <= until)
    }

    /// Counts the slot as accounted for and moves on to the next.
    fn advance_past(&mut self, slot: Timestamp) {
        self.standing.last_slot = Some(slot);
        let schedule = &self.job.spec.schedule;
        self.cursor = if schedule.counts_from_end() {
            schedule.next_from_end(self.now.max(slot))
        } else {
            schedule.next_after(slot)
        };
    }

    /// Inside quiet hours nothing fires: slots are skipped, or the first waits for their end.
    fn keep_quiet(&mut self, until: Timestamp) {
        let defers = self
            .live
            .quiet_hours
            .is_some_and(|quiet| quiet.mode == Mode::Defer);
        match self.cursor {
            Some(slot) if defers || self.job.spec.schedule.is_one_shot() => {
                self.standing.deferred_until = Some(until);
                self.decisions.push(Decision::Deferred { slot, until });
            }
            _ => self.pass_over(self.now, &SkipReason::QuietHours),
        }
    }

    /// Fires the slot that waited for the end of quiet hours; those that came due meanwhile do not.
    fn fire_deferred(&mut self) {
        let Some(until) = self.standing.deferred_until.take() else {
            return;
        };
        if let Some(slot) = self.slot_until(self.now) {
            self.fire(slot, Trigger::Schedule, until, None);
        }
        let quiet_end = until.before(Duration::from_micros(1)).min(self.now);
        self.pass_over(quiet_end, &SkipReason::QuietHours);
    }

    /// Deals with slots older than the misfire grace, as the job's policy says.
    fn catch_up(&mut self) {
        // A slot exactly as old as the grace is still on time.
        let grace = self
            .job
            .spec
            .misfire_grace
            .saturating_add(Duration::from_micros(1));
        let cutoff = self.now.before(grace);
        let Some(first) = self.slot_until(cutoff) else {
            return;
        };
        match self.job.spec.catch_up {
            CatchUpPolicy::Skip => self.pass_over(cutoff, &SkipReason::Missed),
            CatchUpPolicy::RunOnce => self.run_once(first, cutoff),
            CatchUpPolicy::RunAllCapped(cap) => {
                for _ in 0..cap.get() {
                    let Some(slot) = self.slot_until(cutoff) else {
                        return;
                    };
                    self.fire(slot, Trigger::CatchUp, self.now, None);
                }
                self.pass_over(cutoff, &SkipReason::Missed);
            }
        }
    }

    /// One run stands for all missed slots: the slot that is on time, else the newest missed one.
    fn run_once(&mut self, first: Timestamp, cutoff: Timestamp) {
        let schedule = &self.job.spec.schedule;
        let last = schedule.latest_until(cutoff, first);
        let missed = Slots {
            first,
            last,
            count: schedule.count(first, last),
        };
        let on_time = schedule.next_after(last).filter(|slot| *slot <= self.now);
        // Where the end of a run sets the next slot, there is none before this one has run.
        match on_time.filter(|_| !schedule.counts_from_end()) {
            Some(slot) => self.fire(slot, Trigger::Schedule, slot, Some(missed)),
            None => {
                self.fire(
                    last,
                    Trigger::CatchUp,
                    self.now,
                    (first != last).then_some(missed),
                );
            }
        }
    }

    /// Fires what is on time; a plan that would grow too large leaves the rest due.
    fn fire_on_time(&mut self) {
        while let Some(slot) = self.slot_until(self.now) {
            if self.rows >= MAX_ROWS {
                return;
            }
            self.fire(slot, Trigger::Schedule, slot, None);
        }
    }

    /// Records every slot up to `until` as skipped: one by one, then as a range.
    fn pass_over(&mut self, until: Timestamp, reason: &SkipReason) {
        while let Some(slot) = self.slot_until(until) {
            if self.rows < MAX_ROWS {
                self.skip(slot, reason);
                self.advance_past(slot);
                continue;
            }
            let schedule = &self.job.spec.schedule;
            let last = schedule.latest_until(until, slot);
            let slots = Slots {
                first: slot,
                last,
                count: schedule.count(slot, last),
            };
            self.standing.tally.skipped += slots.count.unwrap_or(1);
            self.decisions.push(Decision::Skipped {
                slots,
                reason: reason.clone(),
            });
            self.advance_past(last);
        }
    }

    fn skip(&mut self, slot: Timestamp, reason: &SkipReason) {
        self.rows += 1;
        let tally = &mut self.standing.tally;
        tally.skipped += 1;
        tally.last_skip = Some((slot, reason.as_str().into()));
        self.executions.push(Execution::skipped(
            self.job.spec.id,
            slot,
            reason.clone(),
            self.now,
        ));
        self.decisions.push(Decision::Skipped {
            slots: Slots::one(slot),
            reason: reason.clone(),
        });
    }

    /// Fires a slot, unless the overlap policy passes it over. Jitter counts from `base`: for a slot
    /// that was held back or missed, the stampede to avoid is the one after the wait.
    fn fire(
        &mut self,
        slot: Timestamp,
        trigger: Trigger,
        base: Timestamp,
        instead_of: Option<Slots>,
    ) {
        self.advance_past(slot);
        let window = self.job.spec.jitter;
        let offset = jitter::offset(self.job.spec.id, slot, self.cursor, window);
        if self.admit(slot, trigger, base.after(offset), instead_of) {
            self.standing.tally.fired += 1;
            if self.job.spec.schedule.counts_from_end() {
                // The end of this run sets the next slot.
                self.cursor = None;
            }
            let limit = self.job.spec.schedule.max_runs();
            if limit.is_some_and(|limit| self.standing.tally.fired >= limit.get()) {
                self.cursor = None;
                self.standing.enabled = false;
            }
        } else {
            if let Some(slots) = instead_of {
                self.decisions.push(Decision::Skipped {
                    slots,
                    reason: SkipReason::Missed,
                });
            }
            self.skip(slot, &SkipReason::Overlap);
        }
    }

    /// Queues a run if the overlap policy admits it.
    fn admit(
        &mut self,
        slot: Timestamp,
        trigger: Trigger,
        run_at: Timestamp,
        instead_of: Option<Slots>,
    ) -> bool {
        let id = self.job.spec.id;
        let mut execution = Execution::queued(id, slot, trigger, run_at);
        match self.occupancy.admit(self.job.spec.overlap, trigger) {
            Admission::Refused => return false,
            Admission::Free => {}
            Admission::Behind => execution.state = State::Queued { held: true },
            Admission::Instead => self.withdraw_for(&mut execution),
        }
        self.supersede_retries();
        self.rows += 1;
        let decision = Decision::Fired {
            slot,
            execution: execution.id,
            trigger,
            instead_of,
        };
        self.decisions.push(decision);
        self.occupancy.add(&execution);
        self.executions.push(execution);
        true
    }

    /// A retry that waits never blocks the next run: that run takes its place.
    fn supersede_retries(&mut self) {
        if !self.occupancy.take_waiting_retries() {
            return;
        }
        for retry in self
            .live
            .executions
            .iter()
            .filter(|live| live.is_waiting_retry())
        {
            let slots = Slots::one(retry.slot);
            let reason = SkipReason::Superseded;
            self.decisions.push(Decision::Skipped {
                slots,
                reason: reason.clone(),
            });
            self.withdrawals.push(Withdrawal::Skip(retry.id, reason));
        }
    }

    /// Takes back everything alive so that the new execution can replace it.
    fn withdraw_for(&mut self, newcomer: &mut Execution) {
        let cause = CancelCause::Replaced;
        let running = self
            .live
            .executions
            .iter()
            .any(|live| live.running().is_some());
        for live in self
            .live
            .executions
            .iter()
            .filter(|live| !live.is_waiting_retry())
        {
            let withdrawal = Withdrawal::Cancel(live.id, cause);
            if !self.withdrawals.contains(&withdrawal) {
                self.withdrawals.push(withdrawal);
            }
        }
        // Of several slots in one plan the newest replaces the others before they exist anywhere.
        for earlier in self
            .executions
            .iter_mut()
            .filter(|earlier| earlier.is_queued())
        {
            let at = self.now;
            earlier.state = State::Cancelled {
                run: None,
                cause,
                at,
            };
        }
        newcomer.state = State::Queued { held: running };
        self.occupancy.replace_all();
    }

    fn finish(mut self) -> Plan {
        self.standing.next_slot = self.cursor;
        let fired = self.standing.tally.fired > self.job.standing.tally.fired;
        let waits_for_end = fired && self.job.spec.schedule.counts_from_end();
        if self.cursor.is_none() && self.job.standing.next_slot.is_some() && !waits_for_end {
            self.standing.enabled = false;
        }
        Plan {
            executions: self.executions,
            withdrawals: self.withdrawals,
            decisions: self.decisions,
            standing: self.standing,
        }
    }
}

#[cfg(test)]
mod tests;
