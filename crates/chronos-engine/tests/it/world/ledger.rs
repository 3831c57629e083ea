//! The ledger: every step and every call of a history, judged as it happens.
//!
//! Each engine's store writes down here what a step did at the moment it was applied, so the order of
//! the ledger is the order of the store, whatever the engine was told about it afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chronos_core::execution::{Token, Trigger};
use chronos_core::store::{Claim, Fired, Hold, Reaped};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp, WorkerId};

/// More records than this in one planning step is unbounded work: what one step may write before it
/// leaves the rest, and what one plan may.
const MOST_ROWS: usize = 4_096 + 1_000 + 10;
/// A history with more store calls than this spins.
const MOST_CALLS: u64 = 400_000;

/// A slot, or a manual run, over all its attempts.
pub(super) type SlotKey = (JobId, Timestamp, Option<u64>);

pub(super) fn slot_of(execution: &Execution) -> SlotKey {
    let number = match execution.trigger {
        Trigger::Schedule | Trigger::CatchUp => None,
        Trigger::Manual { number } => Some(number),
        Trigger::Notice(_) => panic!("these jobs tell nobody anything"),
        Trigger::Backfill { .. } => panic!("nobody fills these jobs in"),
    };
    (execution.job, execution.slot, number)
}

/// One call of a handler.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) execution: ExecutionId,
    pub(super) key: String,
    pub(super) worker: WorkerId,
    pub(super) started: Duration,
    pub(super) ended: Option<(Duration, Outcome)>,
}

/// How a call ended, as the handler saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed,
    Panicked,
    Skipped,
    Stopped,
    /// The engine dropped it.
    Dropped,
}

/// How often each thing happened; histories in which nothing happens prove nothing.
pub(super) type Counts = BTreeMap<&'static str, u64>;

#[derive(Default)]
pub(super) struct Ledger {
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) log: String,
    pub(super) violations: Vec<String>,
    pub(super) counts: Counts,
    pub(super) calls: Vec<Call>,
    /// What engines were told has ended, as they were told.
    pub(super) acknowledged: Vec<Execution>,
    /// Ends as the store gave them out.
    pub(super) ended: BTreeMap<ExecutionId, Execution>,
    /// The most executions of a job that may run at once, over all its versions.
    pub(super) capacities: BTreeMap<JobId, Option<u32>>,
    pub(super) started: BTreeSet<ExecutionId>,
    /// When the wall clock last jumped forward.
    pub(super) jumped: Option<Duration>,
    pub(super) lease: Duration,
    /// The most jobs that were planned in one step.
    pub(super) most_planned: usize,
    running: BTreeMap<ExecutionId, (WorkerId, Token, JobId)>,
    fired: BTreeSet<ExecutionId>,
    claimed: BTreeSet<ExecutionId>,
    tokens: BTreeMap<SlotKey, Token>,
    active: BTreeMap<ExecutionId, SlotKey>,
    store_calls: u64,
}

impl Ledger {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    pub(super) fn note(&mut self, at: Duration, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.log, "{:>10.3} {text}", at.as_secs_f64());
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn violation(&mut self, text: String) {
        if self.violations.len() < 20 {
            let _ = writeln!(self.log, "VIOLATION  {text}");
            self.violations.push(text);
        }
    }

    fn require(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.violation(text());
        }
    }

    /// Whether the history may go on.
    pub(super) fn called(&mut self) -> bool {
        self.store_calls += 1;
        if self.store_calls == MOST_CALLS {
            self.violation("I12: an engine calls the store without end".into());
        }
        self.store_calls < MOST_CALLS
    }

    pub(super) fn store_calls(&self) -> u64 {
        self.store_calls
    }

    pub(super) fn fired(&mut self, fired: &Fired, now: Timestamp, limit: usize) {
        self.most_planned = self.most_planned.max(fired.planned.len());
        let rows: usize = fired.planned.iter().map(|planned| planned.plan.executions.len()).sum();
        self.require(fired.planned.len() <= limit && rows <= MOST_ROWS, || {
            format!("I12: {} plans, {rows} rows in one step", fired.planned.len())
        });
        for planned in &fired.planned {
            let standing = &planned.plan.standing;
            self.require(
                standing.next_slot.is_none() || standing.next_slot > standing.last_slot,
                || format!("I10: {} stands at {standing:?}", planned.spec.name),
            );
            let full = planned.plan.executions.len() >= 1_000;
            self.require(
                full || standing.enabled && standing.deferred_until.is_some()
                    || standing.next_slot.is_none_or(|next| next > now),
                || format!("I10: {} is still due at {now}: {standing:?}", planned.spec.name),
            );
            for execution in &planned.plan.executions {
                let new = self.fired.insert(execution.id);
                self.require(new, || format!("I3: fired twice: {execution:?}"));
                self.require(execution.slot <= now, || {
                    format!("I2: fired early at {now}: {execution:?}")
                });
            }
        }
    }

    pub(super) fn claimed(
        &mut self,
        worker: &WorkerId,
        claims: &[Claim],
        now: Timestamp,
        limit: usize,
    ) {
        self.require(claims.len() <= limit, || format!("I12: {} claims of {limit}", claims.len()));
        for claim in claims {
            let execution = &claim.execution;
            let (id, token) = (execution.id, claim.hold.token);
            let new = self.claimed.insert(id);
            self.require(new, || format!("I4: claimed twice: {execution:?}"));
            let over = self.ended.contains_key(&id);
            self.require(!over, || format!("I6: claimed after its end: {execution:?}"));
            self.require(execution.run_at <= now, || {
                format!("I2: claimed early at {now}: {execution:?}")
            });
            let before = self.tokens.insert(slot_of(execution), token);
            self.require(before.is_none_or(|before| before < token), || {
                format!("I5: token {token:?} after {before:?}: {execution:?}")
            });
            self.running.insert(id, (worker.clone(), token, execution.job));
            self.within_capacity(execution.job);
        }
    }

    fn within_capacity(&mut self, job: JobId) {
        let running = self.running.values().filter(|(.., of)| *of == job).count();
        let most = self.capacities.get(&job).copied().flatten();
        self.require(most.is_none_or(|most| running <= most as usize), || {
            format!("I7: {running} executions of {job} run at once, of {most:?}")
        });
    }

    pub(super) fn released(&mut self, holds: &[Hold]) {
        for hold in holds {
            if self.holds(hold) {
                self.running.remove(&hold.execution);
                self.claimed.remove(&hold.execution);
            }
        }
    }

    fn holds(&self, hold: &Hold) -> bool {
        self.running.get(&hold.execution).is_some_and(|(_, token, _)| *token == hold.token)
    }

    pub(super) fn finished(
        &mut self,
        hold: Hold,
        answer: &Result<Execution, chronos_core::store::Error>,
    ) {
        let good = self.holds(&hold);
        if let Ok(execution) = answer {
            self.require(good, || format!("I5: a stale result was accepted: {execution:?}"));
            self.over(execution);
        } else {
            self.count("stale results refused");
            self.require(!good, || format!("I6: a good result was refused: {hold:?}"));
        }
    }

    pub(super) fn renewed(&mut self, hold: Hold, lost: bool) {
        let good = self.holds(&hold);
        if lost {
            self.count("stale renewals refused");
        }
        self.require(good != lost, || {
            format!("I5: renewal of {hold:?} answered wrongly (lost: {lost})")
        });
    }

    pub(super) fn reaped(&mut self, reaped: &Reaped, limit: usize) {
        self.require(reaped.ended.len() <= limit, || {
            format!("I12: {} reaped of {limit}", reaped.ended.len())
        });
        for execution in &reaped.ended {
            self.count("leases reaped");
            self.over(execution);
        }
    }

    fn over(&mut self, execution: &Execution) {
        let ran = self.running.remove(&execution.id).is_some();
        self.require(ran && !execution.is_live(), || {
            format!("I6: ended without running: {execution:?}")
        });
        let before = self.ended.insert(execution.id, execution.clone());
        self.require(before.is_none(), || format!("I6: ended twice: {execution:?}"));
    }

    /// Writes down that a handler was called; gives back the call's number.
    pub(super) fn call_begins(&mut self, call: Call, slot: SlotKey) -> usize {
        let id = call.execution;
        let first = self.started.insert(id);
        self.require(first, || format!("I4: a second call for one attempt: {call:?}"));
        let holder = self.running.get(&id).map(|(worker, ..)| worker.clone());
        // A clock that jumped may have ended leases and time limits before their time.
        let window = self.lease * 2 + Duration::from_secs(20);
        let jumped = self.jumped.is_some_and(|at| call.started <= at + window);
        self.require(jumped || holder.as_ref() == Some(&call.worker), || {
            format!("F11: called without the lease, which {holder:?} holds: {call:?}")
        });
        let same = self.active.values().filter(|other| **other == slot).count();
        self.require(jumped || same == 0, || {
            format!("I7: two attempts at one slot run at once: {call:?}")
        });
        self.active.insert(id, slot);
        let beside = self.active.values().filter(|(job, ..)| *job == slot.0).count();
        let most = self.capacities.get(&slot.0).copied().flatten();
        self.require(jumped || most.is_none_or(|most| beside <= most as usize), || {
            format!("I7: {beside} calls of one job at once, of {most:?}: {call:?}")
        });
        self.calls.push(call);
        self.calls.len() - 1
    }

    pub(super) fn call_ends(&mut self, number: usize, at: Duration, outcome: Outcome) {
        let call = &mut self.calls[number];
        call.ended = Some((at, outcome));
        let id = call.execution;
        self.active.remove(&id);
        self.count(match outcome {
            Outcome::Succeeded => "calls that succeeded",
            Outcome::Failed => "calls that failed",
            Outcome::Panicked => "calls that panicked",
            Outcome::Skipped => "calls that skipped",
            Outcome::Stopped => "calls that stopped when asked",
            Outcome::Dropped => "calls that were dropped",
        });
    }

    /// Whether a handler is at work on the execution.
    pub(super) fn is_active(&self, id: ExecutionId) -> bool {
        self.active.contains_key(&id)
    }
}
