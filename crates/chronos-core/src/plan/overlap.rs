//! Overlap, applied: whether one more run of a job is admitted beside those alive.

use super::{Draft, Live, Withdrawal};
use crate::Timestamp;
use crate::audit::{Decision, Slots};
use crate::execution::{CancelCause, Execution, SkipReason, State, Trigger};
use crate::job::{Job, JobSpec};
use crate::policy::rank::RUNS_BEFORE_CROWD;
use crate::policy::{OverlapPolicy, Rank};

/// How a new run is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// At once.
    Free,
    /// Behind those alive, one after the other.
    Behind,
    /// In the place of those alive.
    Instead,
    /// Not at all.
    Refused,
}

/// How many executions of a job are alive, in the terms that overlap policies speak of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occupancy {
    /// Running, or free to be claimed.
    active: u32,
    /// Waiting for an active one to end.
    held: u32,
    /// Waiting for a retry.
    retries: u32,
    /// Of the active and the held: those that a backfill asked for.
    filled_in: u32,
}

impl Occupancy {
    pub(super) fn of(job: &Job, live: &[&Execution]) -> Self {
        let mut occupancy = Self::default();
        for execution in live.iter().filter(|live| live.notice().is_none()) {
            if execution.is_waiting_retry() {
                occupancy.retries += 1;
            } else if !job.keeps_waiting(execution) {
                occupancy.add(execution);
            }
        }
        occupancy
    }

    fn add(&mut self, execution: &Execution) {
        self.filled_in += u32::from(execution.trigger.backfill().is_some());
        if execution.is_held() {
            self.held += 1;
        } else {
            self.active += 1;
        }
    }

    /// Forgets the waiting retries; says whether there were any.
    fn take_waiting_retries(&mut self) -> bool {
        std::mem::take(&mut self.retries) > 0
    }

    /// Everything alive is on its way out, but for what is filled in; retries that wait are not alive.
    fn replace_all(&mut self) {
        (self.active, self.held) = (self.filled_in, 0);
    }

    /// Whether there is room for a slot to be filled in beside everything that lives or will.
    fn has_room(&self, spec: &JobSpec) -> bool {
        let alive = self.active + self.held + self.retries;
        spec.overlap.capacity().is_none_or(|capacity| alive < capacity)
    }

    fn admit(&self, spec: &JobSpec, trigger: &Trigger) -> Admission {
        let policy = spec.overlap;
        if trigger.backfill().is_some() {
            // What is filled in waits for its turn outside, and takes nobody's place.
            return if self.has_room(spec) { Admission::Free } else { Admission::Refused };
        }
        let alive = self.active + self.held;
        let full = |alive| policy.capacity().is_some_and(|capacity| alive >= capacity);
        if !full(alive) {
            return Admission::Free;
        }
        if trigger.is_scheduled() && !full(alive - self.filled_in) {
            // Only what is filled in is in the way, which the schedule does not suffer from but for the wait.
            return Admission::Behind;
        }
        let caught_up = *trigger == Trigger::CatchUp && policy != OverlapPolicy::Replace;
        if caught_up && self.held < spec.catch_up.cap() {
            // Caught-up runs come in order, one behind the other, whatever the policy: the cap on
            // them is the bound, over however many outages.
            return Admission::Behind;
        }
        match policy {
            OverlapPolicy::Queue(most) if self.held < most.get() => Admission::Behind,
            OverlapPolicy::Replace => Admission::Instead,
            OverlapPolicy::Skip
            | OverlapPolicy::Concurrent
            | OverlapPolicy::ConcurrentUpTo(_)
            | OverlapPolicy::Queue(_) => Admission::Refused,
        }
    }
}

/// The rank of one more run of a job beside as many others that are alive.
pub(super) fn rank(job: &Job, live: &Live<'_>, alive: u32) -> Rank {
    let owned = !job.spec.owner.is_empty();
    // Whoever comes after a run that waits with the crowd does not pass it.
    let waits = |run: &&Execution| run.is_queued() && run.rank.is_crowd();
    let many = || alive >= RUNS_BEFORE_CROWD || live.executions.iter().any(waits);
    Rank::new(job.spec.priority, live.crowd || owned && many())
}

impl<'a> Draft<'a> {
    /// Queues a run if the overlap policy admits it; a message is emitted instead, whatever runs.
    pub(super) fn admit(
        &mut self,
        slot: Timestamp,
        trigger: Trigger,
        run_at: Timestamp,
        instead_of: Option<Slots>,
    ) -> bool {
        let job = self.job;
        if let Some(template) = job.spec.template() {
            self.emit(template, slot, trigger, run_at, instead_of);
            return true;
        }
        let id = job.spec.id;
        let (rank, trace) = (self.rank(), self.trace);
        let queued = Execution::queued(id, slot, trigger.clone(), run_at).nth(self.attempt);
        let mut execution = Execution { rank, trace, ..queued };
        match self.occupancy.admit(&self.job.spec, &trigger) {
            Admission::Refused => return false,
            Admission::Free if trigger.backfill().is_some() => {}
            Admission::Free => self.supersede_retries(),
            // Whoever queues up takes nobody's place, so a retry keeps its own.
            Admission::Behind => execution.state = State::Queued { held: true },
            Admission::Instead => {
                self.withdraw_for(&mut execution);
                self.supersede_retries();
            }
        }
        self.rows += 1;
        self.plan.decide(Decision::Fired { slot, execution: execution.id, trigger, instead_of });
        self.occupancy.add(&execution);
        self.plan.record(execution);
        true
    }

    /// The rank of one more run of the job.
    pub(super) fn rank(&self) -> Rank {
        let alive = self.occupancy.active + self.occupancy.held;
        rank(self.job, self.live, alive)
    }

    /// The job's runs that are alive.
    fn runs(&self) -> impl Iterator<Item = &'a Execution> + use<'a> {
        self.live.executions.iter().copied().filter(|live| live.notice().is_none())
    }

    /// A retry that waits never blocks the next run: that run takes its place. One that is filled in waits on,
    /// behind it.
    pub(super) fn supersede_retries(&mut self) {
        if !self.occupancy.take_waiting_retries() {
            return;
        }
        for retry in self.runs().filter(|live| live.is_waiting_retry()) {
            if retry.trigger.backfill().is_none() {
                self.plan.skip_waiting(retry, SkipReason::Superseded);
            } else if !retry.is_held() {
                self.plan.withdrawals.push(Withdrawal::Hold(retry.id));
            }
        }
    }

    /// Takes back everything alive so that the new execution can replace it.
    fn withdraw_for(&mut self, newcomer: &mut Execution) {
        let cause = CancelCause::Replaced;
        let is_replaced =
            |live: &&Execution| !live.is_waiting_retry() && live.trigger.backfill().is_none();
        for live in self.runs().filter(is_replaced) {
            let withdrawal = Withdrawal::Cancel(live.id, cause);
            if !self.plan.withdrawals.contains(&withdrawal) {
                self.plan.withdrawals.push(withdrawal);
                self.plan.decide(Decision::CancelRequested { execution: live.id, cause });
            }
        }
        // Of several slots in one plan the newest replaces the others before they exist anywhere.
        let planned = self.plan.executions.iter_mut();
        for earlier in planned.filter(|earlier| earlier.is_queued()) {
            let at = self.now;
            earlier.state = State::Cancelled { run: None, cause, at };
        }
        // What is filled in is not replaced, so the newcomer waits for that as well.
        let stays = |live: &Execution| {
            live.running().is_some()
                || live.trigger.backfill().is_some() && !live.is_waiting_retry()
        };
        let held = self.runs().any(stays);
        newcomer.state = State::Queued { held };
        self.occupancy.replace_all();
    }
}
