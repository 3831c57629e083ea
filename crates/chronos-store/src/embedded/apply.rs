//! Applying: what the domain decided about live executions is made so within a step.

use chronos_core::audit::Decision;
use chronos_core::execution::{CancelCause, SkipReason, State as Stage};
use chronos_core::plan::{Plan, Telling, Withdrawal, follow_up};
use chronos_core::policy::Rank;
use chronos_core::store::{Claim, Error, Result, Taker};
use chronos_core::{Execution, ExecutionId, JobId};

use super::ready::Crowd;
use super::step::Step;

/// A worker that takes what a step fires, and what it took so far.
pub(super) struct Taking {
    pub(super) taker: Taker,
    pub(super) claims: Vec<Claim>,
    /// How many of them are of the crowd.
    crowd: usize,
}

impl Taking {
    pub(super) fn new(taker: Taker, expected: usize) -> Self {
        Self { taker, claims: Vec::with_capacity(expected), crowd: 0 }
    }

    fn admits(&self, rank: Rank) -> bool {
        self.taker.openings.admit(rank, self.claims.len(), self.crowd)
    }

    fn take(&mut self, claim: Claim) {
        self.crowd += usize::from(claim.execution.rank.is_crowd());
        self.claims.push(claim);
    }
}

impl Step<'_> {
    /// Makes a plan so; the caller settles the job afterwards.
    pub(super) fn apply(&mut self, job: JobId, plan: &Plan) -> Result<()> {
        self.open(job)?.job.standing.clone_from(&plan.standing);
        for withdrawal in &plan.withdrawals {
            match withdrawal {
                Withdrawal::Skip(id, reason) => self.skip(*id, reason)?,
                Withdrawal::Cancel(id, cause) => self.cancel(*id, *cause)?,
                Withdrawal::Hold(id) => self.hold(*id, true)?,
            }
        }
        for execution in &plan.executions {
            if execution.is_live() {
                self.enqueue(execution)?;
            } else {
                self.put_past(execution)?;
            }
        }
        let trace = plan.trace();
        for decision in &plan.decisions {
            self.decide(job, trace.filter(|_| decision.execution().is_some()), decision.clone())?;
        }
        for message in &plan.messages {
            self.emit(message)?;
        }
        if plan.leads_on() {
            self.follow_up(job)?;
        }
        Ok(())
    }

    fn skip(&mut self, id: ExecutionId, reason: &SkipReason) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        execution.state = Stage::Skipped { reason: reason.clone(), at: self.now };
        self.put_past(&execution)
    }

    /// Queues a notice in the place of older ones.
    pub(super) fn tell(&mut self, telling: Telling) -> Result<()> {
        for id in telling.instead_of {
            self.skip(id, &SkipReason::Superseded)?;
        }
        self.decide(telling.notice.job, None, telling.decision)?;
        self.put_live(telling.notice)
    }

    pub(super) fn hold(&mut self, id: ExecutionId, held: bool) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        execution.state = Stage::Queued { held };
        self.put_live(execution)
    }

    /// Cancels a live execution for someone who asks, and says so; asking again changes nothing.
    pub(super) fn ask_to_stop(&mut self, execution: &Execution, cause: CancelCause) -> Result<()> {
        if asked_to_stop(execution) {
            return Ok(());
        }
        let (job, trace, execution) = (execution.job, execution.trace_id(), execution.id);
        self.decide(job, Some(trace), Decision::CancelRequested { execution, cause })?;
        self.cancel(execution, cause)
    }

    /// Cancels a live execution: at once while it waits, by request while it runs. Says nothing about
    /// it: whoever decided it does.
    pub(super) fn cancel(&mut self, id: ExecutionId, cause: CancelCause) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        if let Stage::Running(running) = &mut execution.state {
            if running.cancel.is_none() {
                running.cancel = Some(cause);
                self.tell_of_cancel();
                self.put_live(execution)?;
            }
            return Ok(());
        }
        execution.state = Stage::Cancelled { run: None, cause, at: self.now };
        self.put_past(&execution)
    }

    /// Lets the job's other executions go on after one is gone.
    pub(super) fn follow_up(&mut self, id: JobId) -> Result<()> {
        self.open(id)?;
        let now = self.now;
        let desk = self.state.index.desk(id);
        let file = desk.and_then(|desk| desk.file.as_ref()).ok_or(Error::NoSuchJob(id))?;
        let after = follow_up(&file.job, &self.state.index.live_of(id), now);
        for execution in after.release {
            self.hold(execution, false)?;
        }
        let standing = &mut self.open(id)?.job.standing;
        if let Some(next) = after.next_slot {
            standing.next_slot = Some(next);
        }
        if after.over {
            standing.enabled = false;
        }
        Ok(())
    }

    /// Keeps an execution that has just been fired, or hands it to whoever takes it.
    fn enqueue(&mut self, execution: &Execution) -> Result<()> {
        let (at_once, rank) =
            (execution.run_at <= self.now && !execution.is_held(), execution.rank);
        // Those before the crowd do not wait for it.
        let before = if rank.is_crowd() { Crowd::Last } else { Crowd::Never };
        let first = self.state.index.next_ready_of(before);
        let waited = first.is_some_and(|ready| ready <= self.now);
        let taking = self.taking.as_ref();
        let taking = taking.filter(|taking| at_once && !waited && taking.admits(rank));
        let Some(Taker { worker, lease, .. }) = taking.map(|taking| taking.taker.clone()) else {
            return self.put_live(execution.clone());
        };
        let spec = self.open(execution.job)?.job.spec.clone();
        let claim = self.begin(execution.clone(), spec, &worker, lease)?;
        if let Some(taking) = &mut self.taking {
            taking.take(claim);
        }
        Ok(())
    }
}

/// Whether the execution runs and someone asked for it to stop.
pub(super) fn asked_to_stop(execution: &Execution) -> bool {
    let running = execution.running();
    running.is_some_and(|running| running.cancel.is_some())
}
