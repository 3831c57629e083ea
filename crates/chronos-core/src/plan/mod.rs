//! Planning: what a due job does now, decided from its standing and the time alone.
//!
//! [`plan`] walks the slots that have come due, in order, and accounts for every one of them: it
//! fires, is skipped with a reason, or is covered by a range that says so. The result is a value; a
//! store applies it in one atomic step, so no slot can be fired twice or lost in between.

mod backfill;
mod change;
mod conclude;
mod difference;
mod emit;
mod herd;
mod hold;
mod missed;
mod overlap;
mod preview;
mod redrive;
mod storm;
mod tell;

use std::time::Duration;

pub(crate) use backfill::{Filling, fill_in};
pub use change::{Amended, Change, amend};
pub use conclude::{Conclusion, Ending, FollowUp, conclude, follow_up};
pub use difference::{Difference, Moved, difference};
pub use herd::{Herd, Rush};
pub use preview::{PreviewRun, Reason, preview, preview_until};
pub use redrive::redrive;
pub use storm::Storm;
pub use tell::{Overdue, Telling, overdue};

use crate::audit::{Decision, Slots};
use crate::execution::{CancelCause, Execution, SkipReason, Trigger};
use crate::job::{Job, Standing};
use crate::message::Message;
use crate::notice::Occasions;
use crate::policy::{QuietHours, jitter};
use crate::{ExecutionId, Timestamp, TraceId};
use hold::resume;
use overlap::Occupancy;

/// Slots that one plan passes over one by one; what lies beyond is recorded as a range. A plan fires
/// as many on time, and leaves the rest due.
pub const MAX_ROWS: usize = 1_000;

/// What surrounds a job when it is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live<'a> {
    /// Its executions that wait or run.
    pub executions: &'a [&'a Execution],
    /// The quiet hours it observes.
    pub quiet_hours: Option<&'a QuietHours>,
    /// What is told about jobs that do not say, where there is someone to tell.
    pub usual: Option<Occasions>,
    /// Whether the job is one of the crowd.
    pub crowd: bool,
    /// Whether few slots are passed over one by one, because many jobs have many of them: a [`Storm`] says so.
    pub terse: bool,
    /// When caught-up runs begin, if not at once: a [`Storm`] says so.
    pub begins: Option<Timestamp>,
}

/// What a store must do, all of it or nothing; what it withdraws may let others go on, which
/// [`follow_up`] says in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Executions to record: queued ones to run, skipped ones to remember.
    pub executions: Vec<Execution>,
    /// Live executions to end or to ask to stop.
    pub withdrawals: Vec<Withdrawal>,
    /// What was decided, in order.
    pub decisions: Vec<Decision>,
    /// What is said by it, in order.
    pub messages: Vec<Message>,
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

impl Withdrawal {
    /// The execution that is taken back.
    #[must_use]
    pub fn execution(&self) -> ExecutionId {
        match self {
            Self::Skip(execution, _) | Self::Cancel(execution, _) | Self::Hold(execution) => {
                *execution
            }
        }
    }
}

impl Plan {
    /// Whether the plan takes this execution back.
    fn withdraws(&self, execution: ExecutionId) -> bool {
        self.withdrawals.iter().any(|withdrawal| withdrawal.execution() == execution)
    }

    /// Whether the plan takes this execution back for good.
    fn ends(&self, execution: ExecutionId) -> bool {
        let mut ends = self.withdrawals.iter().filter(|it| !matches!(it, Withdrawal::Hold(_)));
        ends.any(|withdrawal| withdrawal.execution() == execution)
    }

    fn record(&mut self, execution: Execution) {
        push(&mut self.executions, execution);
    }

    fn decide(&mut self, decision: Decision) {
        push(&mut self.decisions, decision);
    }

    /// Whether it may let other executions of the job go on, which [`follow_up`] says: it took one back, or
    /// ended a pause.
    #[must_use]
    pub fn leads_on(&self) -> bool {
        !self.withdrawals.is_empty() || self.resumes()
    }

    /// Whether it ends a pause.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.decisions.iter().any(|decision| matches!(decision, Decision::Resumed { .. }))
    }

    /// The trace of what it fires, where its job and its slot do not tell it.
    #[must_use]
    pub fn trace(&self) -> Option<TraceId> {
        let runs = self.executions.iter().filter(|execution| execution.notice().is_none());
        runs.into_iter().find_map(Execution::told_trace)
    }

    /// Adds the next plan, which was made from where this one leaves the job.
    fn go_on_with(&mut self, next: Self) {
        let Self { executions, withdrawals, decisions, messages, standing } = next;
        self.executions.extend(executions);
        self.withdrawals.extend(withdrawals);
        self.decisions.extend(decisions);
        self.messages.extend(messages);
        self.standing = standing;
    }

    /// Makes a waiting execution a skipped one, and says so.
    fn skip_waiting(&mut self, execution: &Execution, reason: SkipReason) {
        let slots = Slots::one(execution.slot);
        self.withdrawals.push(Withdrawal::Skip(execution.id, reason.clone()));
        self.decide(Decision::Skipped { slots, reason });
    }
}

/// Adds an item to a list that mostly has one: a list that grows by itself has room for four at once,
/// which for thousands of plans in a second is memory that nobody ever fills.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.capacity() == 0 {
        list.reserve_exact(1);
    }
    list.push(item);
}

/// Decides what the job does now.
///
/// Nothing, when it is not due. Otherwise every slot up to `now` is accounted for, up to a bound of
/// work: a plan that reaches it leaves the rest due, for the next call.
#[must_use]
pub fn plan(job: &Job, live: &Live<'_>, now: Timestamp) -> Plan {
    let mut draft = Draft::new(job, live, now);
    if job.due_at().is_some_and(|due| due <= now) {
        if let Some(pause) = &job.standing.paused {
            if let Some(end) = pause.resume_at.filter(|end| *end <= now) {
                return resume(job, live, end, now);
            }
            draft.pass_over(now, &SkipReason::Paused(pause.note.clone()));
        } else if let Some(until) = live.quiet_hours.and_then(|quiet| quiet.until(now)) {
            draft.keep_quiet(until);
        } else {
            draft.note_missing_policy();
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
pub fn run_now(job: &Job, live: &Live<'_>, trace: Option<TraceId>, now: Timestamp) -> Option<Plan> {
    let mut draft = Draft { trace, ..Draft::new(job, live, now) };
    let tally = &mut draft.plan.standing.tally;
    tally.manual += 1;
    let number = tally.manual;
    draft.admit(now, Trigger::Manual { number }, now, None).then_some(draft.plan)
}

/// A plan in the making, with the oldest slot that is not yet accounted for.
struct Draft<'a> {
    job: &'a Job,
    live: &'a Live<'a>,
    now: Timestamp,
    cursor: Option<Timestamp>,
    rows: usize,
    occupancy: Occupancy,
    /// The trace that new executions belong to.
    trace: Option<TraceId>,
    /// Which attempt at its slot a new execution is.
    attempt: u32,
    plan: Plan,
}

impl<'a> Draft<'a> {
    fn new(job: &'a Job, live: &'a Live<'a>, now: Timestamp) -> Self {
        Self {
            job,
            live,
            now,
            cursor: job.standing.next_slot,
            rows: 0,
            occupancy: Occupancy::of(job, live.executions),
            trace: job.spec.trace.filter(|_| job.spec.schedule.is_one_shot()),
            attempt: 1,
            plan: Plan {
                executions: Vec::new(),
                withdrawals: Vec::new(),
                decisions: Vec::new(),
                messages: Vec::new(),
                standing: job.standing.clone(),
            },
        }
    }

    /// The oldest slot that is not yet accounted for, if it is not after `until`.
    fn slot_until(&self, until: Timestamp) -> Option<Timestamp> {
        self.cursor.filter(|slot| *slot <= until)
    }

    /// Counts the slot as accounted for and moves on to the next.
    fn advance_past(&mut self, slot: Timestamp) {
        self.plan.standing.last_slot = Some(slot);
        // What held the accounted slot back says nothing about the next one.
        self.plan.standing.deferred_until = None;
        self.cursor = self.slot_after(slot);
    }

    /// The slot that follows `slot`, if that one does not fire where the end of a run sets the next.
    fn slot_after(&self, slot: Timestamp) -> Option<Timestamp> {
        let schedule = &self.job.spec.schedule;
        if schedule.counts_from_end() {
            schedule.next_from_end(self.now.max(slot))
        } else {
            schedule.next_after(slot)
        }
    }

    /// Fires what is on time, whatever was missed before it; a plan that would grow too large leaves
    /// the rest due.
    fn fire_on_time(&mut self) {
        for _ in 0..MAX_ROWS {
            let Some(slot) = self.slot_until(self.now) else {
                return;
            };
            self.fire(slot, Trigger::Schedule, slot, None);
        }
    }

    /// Records every slot up to `until` as skipped: one by one, then as a range.
    fn pass_over(&mut self, until: Timestamp, reason: &SkipReason) {
        let most = if self.live.terse { Storm::FEW_ROWS } else { MAX_ROWS };
        while let Some(slot) = self.slot_until(until) {
            if self.rows < most {
                self.skip(slot, reason);
                self.advance_past(slot);
                continue;
            }
            let slots = self.slots(slot, until);
            self.record_skipped(slots, reason);
            self.advance_past(slots.last);
        }
    }

    /// The slots from `first` up to `until`.
    fn slots(&self, first: Timestamp, until: Timestamp) -> Slots {
        let schedule = &self.job.spec.schedule;
        let last = schedule.latest_until(until, first);
        let count = schedule.count(first, last);
        Slots { first, last, count }
    }

    fn skip(&mut self, slot: Timestamp, reason: &SkipReason) {
        self.rows += 1;
        let row = Execution::skipped(self.job.spec.id, slot, reason.clone(), self.now);
        self.plan.record(row);
        self.record_skipped(Slots::one(slot), reason);
    }

    fn record_skipped(&mut self, slots: Slots, reason: &SkipReason) {
        self.plan.standing.tally.pass_over(&slots, reason);
        let reason = reason.clone();
        self.plan.decide(Decision::Skipped { slots, reason });
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
        let run_at = base.after(self.jitter(slot, base));
        if self.admit(slot, trigger, run_at, instead_of) {
            self.plan.standing.tally.fired += 1;
            if self.job.spec.schedule.counts_from_end() {
                // The end of this run sets the next slot; that of a message has come.
                let emitted = self.job.spec.template().is_some();
                self.cursor = self.cursor.filter(|_| emitted);
            }
            let limit = self.job.spec.schedule.max_runs();
            if limit.is_some_and(|limit| self.plan.standing.tally.fired >= limit.get()) {
                self.cursor = None;
                self.plan.standing.enabled = false;
            }
        } else {
            if let Some(slots) = instead_of {
                self.record_skipped(slots, &SkipReason::Missed);
            }
            if instead_of.is_none_or(|slots| !slots.contains(slot)) {
                self.skip(slot, &SkipReason::Overlap);
            }
        }
    }

    /// How long after `base` the slot begins. The window ends before the next slot after `base`, or
    /// a run that is late already would also take the turn of the slot that is not.
    fn jitter(&self, slot: Timestamp, base: Timestamp) -> Duration {
        let spec = &self.job.spec;
        let late = base > slot && !spec.jitter.is_zero() && !spec.schedule.counts_from_end();
        let next = late.then(|| spec.schedule.next_after(base)).flatten();
        let window = next.map_or(spec.jitter, |next| spec.jitter.min(next.since(base)));
        jitter::offset(spec.id, slot, self.cursor, window)
    }

    fn finish(mut self) -> Plan {
        let standing = &mut self.plan.standing;
        standing.next_slot = self.cursor;
        let fired = standing.tally.fired > self.job.standing.tally.fired;
        let emits = self.job.spec.template().is_some();
        let waits_for_end = fired && self.job.spec.schedule.counts_from_end() && !emits;
        if self.cursor.is_none() && self.job.standing.next_slot.is_some() && !waits_for_end {
            standing.enabled = false;
        }
        tell::watch(self.job, self.live, &mut self.plan, self.now);
        self.plan
    }
}

#[cfg(test)]
mod tests;
