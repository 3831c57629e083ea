//! The world: one job and its executions, changed as a store must change them, with the laws
//! checked at every step.
#![expect(clippy::expect_used, reason = "a world that breaks its own rules fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chronos_core::execution::{CancelCause, Failure, Lease, Report, Running, State, Token};
use chronos_core::plan::{
    Amended, Change, Ending, MAX_ROWS, Plan, Withdrawal, amend, conclude, follow_up, run_now,
};
use chronos_core::policy::QuietHours;
use chronos_core::{Execution, ExecutionId, Job, Live, Timestamp, WorkerId, plan};
use serde::{Serialize, de::DeserializeOwned};

use super::oracle::Oracle;
use super::setup::{Finish, Setup, Verb, quiet_hours};

pub(super) struct World {
    pub(super) job: Job,
    pub(super) quiet: Option<QuietHours>,
    pub(super) oracle: Oracle,
    pub(super) now: Timestamp,
    pub(super) executions: BTreeMap<ExecutionId, Execution>,
    pub(super) live: BTreeSet<ExecutionId>,
    /// Slots that fired, ever.
    pub(super) fired: BTreeSet<Timestamp>,
    /// Slots up to here have been accounted for, or were never the schedule's.
    pub(super) accounted: Timestamp,
    pub(super) claims: u64,
}

const INSTANT: Duration = Duration::from_micros(1);

impl World {
    pub(super) fn new(setup: &Setup) -> Self {
        let Some(now) = Timestamp::parse("2026-11-16T11:56:30.25Z") else {
            panic!("the world begins at a sensible time");
        };
        let (schedule, oracle) = setup.schedule(now).expect("setups are sensible");
        // A schedule may end before its first slot; such a job is not made, so it gets no end here.
        let (schedule, oracle) = match Job::new(setup.spec(schedule.clone(), now), now) {
            Ok(_) => (schedule, oracle),
            Err(_) => setup.endless().schedule(now).expect("setups are sensible"),
        };
        let job = Job::new(setup.spec(schedule, now), now).expect("an endless schedule has slots");
        Self {
            job,
            quiet: setup.quiet.map(quiet_hours),
            accounted: before_first(&oracle, now),
            oracle,
            now,
            executions: BTreeMap::new(),
            live: BTreeSet::new(),
            fired: BTreeSet::new(),
            claims: 0,
        }
    }

    pub(super) fn turn(&mut self, verb: Verb) {
        // An edit settles under the old policy, and may lower the capacity below what is alive.
        let capacity = self.job.spec.overlap.capacity().unwrap_or(u32::MAX);
        let allowed = if matches!(verb, Verb::EditPolicies(_) | Verb::EditSchedule(_)) {
            self.active().max(capacity)
        } else {
            self.active()
        };
        match verb {
            Verb::Plan => self.plan(),
            Verb::Pause(seconds) => {
                let end = |seconds: i64| self.now.as_micros() + seconds * 1_000_000;
                let resume_at = seconds.map(|seconds| Timestamp::from_micros(end(seconds)));
                self.amend(Change::Pause { note: None, resume_at }, None);
            }
            Verb::Resume => self.amend(Change::Resume, None),
            Verb::EditPolicies(setup) => self.edit_policies(&setup),
            Verb::EditSchedule(setup) => self.edit_schedule(&setup),
            Verb::Step(millis) => {
                let micros = self.now.as_micros() + millis * 1_000;
                self.now = Timestamp::from_micros(micros);
            }
            Verb::Restart => self.restart(),
            Verb::Claim => self.claim(),
            Verb::Finish(which, finish) => self.finish(which, finish),
            Verb::Cancel(which) => self.cancel(which),
            Verb::RunNow => self.run_now(),
        }
        self.check_overlap(allowed);
        self.check_standing();
    }

    pub(super) fn live(&self) -> Vec<&Execution> {
        self.live.iter().map(|id| &self.executions[id]).collect()
    }

    pub(super) fn with_live<T>(&self, act: impl FnOnce(&Live<'_>) -> T) -> T {
        let executions = self.live();
        let quiet_hours = self.quiet.as_ref();
        act(&Live { executions: &executions, quiet_hours, ..Live::default() })
    }

    fn plan(&mut self) {
        for _ in 0..20 {
            let before = self.job.clone();
            let planned = self.with_live(|live| plan(&before, live, self.now));
            let bounded = planned.executions.len() >= MAX_ROWS;
            self.check_cost(&planned);
            self.check_fired(&before, &planned);
            self.apply(planned);
            self.follow_up();
            let settled = self.job.due_at().is_none_or(|due| due > self.now);
            assert!(settled || bounded, "slots are left due: {:?}", self.job);
            if settled {
                self.check_idempotence();
                return;
            }
        }
        panic!("twenty plans do not settle {:?}", self.job);
    }

    fn run_now(&mut self) {
        let before = self.job.standing.clone();
        let Some(planned) = self.with_live(|live| run_now(&self.job, live, None, self.now)) else {
            return;
        };
        let after = &planned.standing;
        assert_eq!(
            (after.next_slot, after.last_slot, after.tally.fired),
            (before.next_slot, before.last_slot, before.tally.fired),
            "a manual run moves the cadence"
        );
        self.apply(planned);
        self.follow_up();
    }

    fn edit_policies(&mut self, setup: &Setup) {
        let schedule = self.job.spec.schedule.clone();
        let spec = setup.spec(schedule, self.now);
        self.amend(Change::Edit(Box::new(spec)), None);
        self.quiet = setup.quiet.map(quiet_hours);
    }

    fn edit_schedule(&mut self, setup: &Setup) {
        let (schedule, oracle) = setup.schedule(self.now).expect("setups are sensible");
        let spec = setup.spec(schedule, self.now);
        self.amend(Change::Edit(Box::new(spec)), Some(oracle));
    }

    fn amend(&mut self, change: Change, oracle: Option<Oracle>) {
        let amended = self.with_live(|live| amend(&self.job, live, change, self.now));
        let Ok(Amended { spec, plan }) = amended else {
            // Refused, so nothing happened.
            return;
        };
        let old = self.job.spec.clone();
        let was_enabled = self.job.standing.enabled;
        self.apply(plan);
        let used_up = |max: std::num::NonZeroU64| self.fired.len() as u64 >= max.get();
        if let Some(oracle) = oracle.filter(|_| old.schedule != spec.schedule) {
            if was_enabled && !old.schedule.max_runs().is_some_and(used_up) {
                let left = self.oracle.slots(self.accounted, self.now);
                assert_eq!(left.unwrap_or_default(), [], "an edit loses slots");
            }
            self.oracle = oracle;
            let last = self.job.standing.last_slot;
            let from = last.unwrap_or(self.now).max(self.now);
            self.accounted = before_first(&oracle, from);
        }
        self.job.spec = spec;
        self.follow_up();
    }

    fn restart(&mut self) {
        self.job.spec = reread(&self.job.spec);
        self.job.standing = reread(&self.job.standing);
        for id in &self.live {
            let stored = reread(&self.executions[id]);
            self.executions.insert(*id, stored);
        }
    }

    /// Hands out the oldest execution whose time has come.
    fn claim(&mut self) {
        let ready = self
            .live()
            .into_iter()
            .filter(|live| live.is_queued() && !live.is_held() && live.run_at <= self.now)
            .min_by_key(|live| (live.run_at, live.id))
            .map(|live| live.id);
        let Some(id) = ready else { return };
        self.claims += 1;
        let lease = Lease {
            worker: WorkerId::new("w"),
            token: Token(self.claims),
            expires_at: self.now.after(Duration::from_secs(30)),
        };
        self.change(id, State::Running(Running::begin(lease, self.now)));
    }

    fn finish(&mut self, which: usize, finish: Finish) {
        let running: Vec<_> =
            self.live().into_iter().filter(|live| live.running().is_some()).cloned().collect();
        if running.is_empty() {
            return;
        }
        let execution = &running[which % running.len()];
        let siblings: Vec<_> = self.live();
        let siblings: Vec<_> =
            siblings.into_iter().filter(|sibling| sibling.id != execution.id).collect();
        let ending = finish.ending();
        let job = Some(&self.job);
        let live = Live { executions: &siblings, ..Live::default() };
        let concluded =
            conclude(job, execution, &live, ending, Report::at(self.now)).expect("it was running");
        let ended = concluded.ended;
        assert!(!ended.is_live() && ended.id == execution.id);
        if execution.running().and_then(|running| running.cancel).is_some() {
            assert_eq!(concluded.again, None, "asked to stop, it comes again");
        }
        self.change(ended.id, ended.state);
        if let Some(again) = concluded.again {
            assert_eq!((again.slot, again.attempt), (execution.slot, execution.attempt + 1));
            assert!(again.retry <= self.job.spec.retry.max_retry.max(execution.retry));
            assert!(again.lost <= 3);
            self.insert(again);
        }
        self.job.standing = concluded.standing.expect("the job exists");
        self.follow_up();
    }

    fn cancel(&mut self, which: usize) {
        let live: Vec<_> = self.live.iter().copied().collect();
        if live.is_empty() {
            return;
        }
        self.withdraw_by_cancel(live[which % live.len()], CancelCause::User);
        self.follow_up();
    }

    fn follow_up(&mut self) {
        let follow = follow_up(&self.job, &self.live(), self.now);
        for id in follow.release {
            assert!(self.executions[&id].is_held(), "{id} was not held");
            self.change(id, State::Queued { held: false });
        }
        if let Some(next) = follow.next_slot {
            let Oracle::FromEnd { step, end: limit } = self.oracle else {
                panic!("only a fixed delay gets its slot from an end");
            };
            let end = self.job.standing.last_slot.unwrap_or(self.now).max(self.now);
            assert_eq!(next.as_micros(), end.as_micros() + step);
            assert!(limit.is_none_or(|limit| next <= limit), "a slot past the end");
            assert_eq!(self.job.standing.next_slot.replace(next), None);
        }
        if follow.over {
            self.job.standing.enabled = false;
        }
    }

    /// Does what the plan says, as a store does in one step.
    fn apply(&mut self, plan: Plan) {
        self.account(&plan);
        let withdrawn: BTreeSet<_> = plan.withdrawals.iter().map(Withdrawal::execution).collect();
        assert_eq!(withdrawn.len(), plan.withdrawals.len(), "withdrawn twice: {plan:?}");
        for withdrawal in plan.withdrawals {
            match withdrawal {
                Withdrawal::Skip(id, reason) => {
                    assert!(self.executions[&id].is_queued());
                    self.change(id, State::Skipped { reason, at: self.now });
                }
                Withdrawal::Hold(id) => {
                    assert!(self.executions[&id].is_queued());
                    self.change(id, State::Queued { held: true });
                }
                Withdrawal::Cancel(id, cause) => self.withdraw_by_cancel(id, cause),
            }
        }
        for execution in plan.executions {
            self.insert(execution);
        }
        self.job.standing = plan.standing;
    }

    fn withdraw_by_cancel(&mut self, id: ExecutionId, cause: CancelCause) {
        let state = match self.executions[&id].state.clone() {
            State::Running(mut running) => {
                running.cancel.get_or_insert(cause);
                State::Running(running)
            }
            _ => State::Cancelled { run: None, cause, at: self.now },
        };
        self.change(id, state);
    }

    fn insert(&mut self, execution: Execution) {
        let id = execution.id;
        if execution.is_live() {
            self.live.insert(id);
        }
        let known = self.executions.insert(id, execution);
        assert_eq!(known, None, "{id} is inserted twice");
    }

    fn change(&mut self, id: ExecutionId, state: State) {
        let execution = self.executions.get_mut(&id).expect("it exists");
        assert!(execution.is_live(), "{execution:?} is over and changes");
        execution.state = state;
        if !execution.is_live() {
            self.live.remove(&id);
        }
    }

    pub(super) fn active(&self) -> u32 {
        let active = self.live().into_iter().filter(|live| !live.is_held());
        u32::try_from(active.count()).unwrap_or(u32::MAX)
    }
}

/// The instant before the first slot of a schedule that begins at `now`: a one-time instant counts
/// even when it is past.
fn before_first(oracle: &Oracle, now: Timestamp) -> Timestamp {
    match oracle {
        Oracle::Single(at) => at.before(INSTANT),
        Oracle::Grid { .. } | Oracle::FromEnd { .. } => now,
    }
}

/// What a store reads back after a restart, from text and from a binary record.
fn reread<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    let from_text: T = serde_json::from_str(&text).expect("it can be read");
    let bytes = postcard::to_stdvec(value).expect("it can be written");
    let from_bytes: T = postcard::from_bytes(&bytes).expect("it can be read");
    assert_eq!(&from_text, value);
    assert_eq!(&from_bytes, value);
    from_bytes
}

impl Finish {
    fn ending(self) -> Ending {
        match self {
            Self::Success => Ending::Success,
            Self::Transient => Ending::Failed(Failure::transient("no answer")),
            Self::Permanent => Ending::Failed(Failure::permanent("refused")),
            Self::TimedOut => Ending::TimedOut,
            Self::Stuck => Ending::Stuck,
            Self::Cancelled => Ending::Cancelled,
            Self::Skipped => Ending::Skipped("nothing to do".into()),
            Self::Interrupted => Ending::Interrupted,
        }
    }
}
