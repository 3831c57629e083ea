//! Applying: what the domain decided about jobs and executions is made so within a step.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::{CancelCause, Lease, Report, Running, SkipReason, State, Token};
use chronos_core::plan::{self, Ending, Live, Plan, Telling, Withdrawal};
use chronos_core::store::{Claim, Error, Hold, Result, Taker};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, WorkerId};

use super::step::Step;

impl Step {
    /// Asks the domain about a job and what surrounds it.
    pub(super) fn ask<T>(
        &self,
        id: JobId,
        question: impl FnOnce(&Job, &Live<'_>) -> T,
    ) -> Result<T> {
        let desk = self.desks.get(&id).ok_or(Error::NoSuchJob(id))?;
        let job = desk.job()?;
        let executions: Vec<&Execution> = desk.live.iter().collect();
        let quiet_hours = job.spec.quiet_hours.and_then(|policy| self.policies.get(&policy));
        let (usual, crowd) = (self.usual, desk.row.crowd);
        let (terse, begins) = (self.storm.is_terse(self.now), self.storm.begins(self.now));
        let executions = &executions;
        Ok(question(job, &Live { executions, quiet_hours, usual, crowd, terse, begins }))
    }

    /// Makes a plan so.
    pub(super) fn apply(&mut self, job: JobId, plan: &Plan) -> Result<()> {
        self.desk(job)?.standing_mut().clone_from(&plan.standing);
        for withdrawal in &plan.withdrawals {
            match withdrawal {
                Withdrawal::Skip(id, reason) => self.skip(*id, reason),
                Withdrawal::Cancel(id, cause) => self.cancel(*id, *cause)?,
                Withdrawal::Hold(id) => self.hold(*id, true)?,
            }
        }
        for execution in &plan.executions {
            if execution.is_live() {
                self.enqueue(execution)?;
            } else {
                self.put_past(execution.clone(), false);
            }
        }
        let trace = plan.trace();
        for decision in &plan.decisions {
            self.decide(job, trace.filter(|_| decision.execution().is_some()), decision.clone());
        }
        self.messages.extend_from_slice(&plan.messages);
        if plan.leads_on() {
            self.follow_up(job)?;
        }
        Ok(())
    }

    fn skip(&mut self, id: ExecutionId, reason: &SkipReason) {
        if let Some(mut execution) = self.live(id).cloned() {
            execution.state = State::Skipped { reason: reason.clone(), at: self.now };
            self.put_past(execution, false);
        }
    }

    /// Queues a notice in the place of older ones.
    pub(super) fn tell(&mut self, telling: Telling) -> Result<()> {
        for id in telling.instead_of {
            self.skip(id, &SkipReason::Superseded);
        }
        self.decide(telling.notice.job, None, telling.decision);
        self.put_live(telling.notice)
    }

    fn hold(&mut self, id: ExecutionId, held: bool) -> Result<()> {
        let Some(mut execution) = self.live(id).cloned() else {
            return Ok(());
        };
        execution.state = State::Queued { held };
        self.put_live(execution)
    }

    /// Cancels a live execution for someone who asks, and says so; asking again changes nothing.
    pub(super) fn ask_to_stop(&mut self, execution: &Execution, cause: CancelCause) -> Result<()> {
        if asked_to_stop(execution) {
            return Ok(());
        }
        let (job, trace, execution) = (execution.job, execution.trace_id(), execution.id);
        self.decide(job, Some(trace), Decision::CancelRequested { execution, cause });
        self.cancel(execution, cause)
    }

    /// Cancels a live execution: at once while it waits, by request while it runs. Says nothing about
    /// it: whoever decided it does.
    fn cancel(&mut self, id: ExecutionId, cause: CancelCause) -> Result<()> {
        let Some(mut execution) = self.live(id).cloned() else {
            return Ok(());
        };
        if let State::Running(running) = &mut execution.state {
            if running.cancel.is_none() {
                running.cancel = Some(cause);
                self.asked_to_stop = true;
                self.put_live(execution)?;
            }
            return Ok(());
        }
        execution.state = State::Cancelled { run: None, cause, at: self.now };
        self.put_past(execution, false);
        Ok(())
    }

    /// Lets the job's other executions go on after one is gone.
    pub(super) fn follow_up(&mut self, id: JobId) -> Result<()> {
        let now = self.now;
        let after = self.ask(id, |job, live| plan::follow_up(job, live.executions, now))?;
        for execution in after.release {
            self.hold(execution, false)?;
        }
        if after.next_slot.is_some() || after.over {
            let standing = self.desk(id)?.standing_mut();
            standing.next_slot = after.next_slot.or(standing.next_slot);
            standing.enabled &= !after.over;
        }
        Ok(())
    }

    /// Keeps an execution that has just been fired, or hands it to whoever takes it. Its token is given
    /// to it once it is known how many are needed.
    fn enqueue(&mut self, execution: &Execution) -> Result<()> {
        let at_once = execution.run_at <= self.now && !execution.is_held();
        let taking = self.taking.as_ref();
        let taking = taking.filter(|taking| at_once && taking.admits(execution.rank));
        let Some(Taker { worker, lease, .. }) = taking.map(|taking| taking.taker.clone()) else {
            return self.put_live(execution.clone());
        };
        let spec = self.desk(execution.job)?.job()?.spec.clone();
        let claim = self.begin(execution.clone(), spec, &worker, lease)?;
        if let Some(taking) = &mut self.taking {
            taking.take(claim);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        mut execution: Execution,
        spec: Arc<JobSpec>,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<Claim> {
        let token = Token(0);
        let lease = Lease { worker: worker.clone(), token, expires_at: self.now.after(lease) };
        let deadline = execution.limit(&spec).map(|most| self.now.after(most));
        execution.state = State::Running(Running { deadline, ..Running::begin(lease, self.now) });
        self.put_live(execution.clone())?;
        let hold = Hold { execution: execution.id, token };
        Ok(Claim { spec, execution, hold })
    }

    /// Gives the taken executions their tokens, in order.
    pub(super) fn hand_out(&mut self, tokens: Vec<Token>) -> Result<Vec<Claim>> {
        let claims = self.taking.take().map(|taking| taking.claims).unwrap_or_default();
        let mut handed_out = Vec::with_capacity(claims.len());
        for (claim, token) in claims.into_iter().zip(tokens) {
            // A later plan of the same step may have changed or ended it.
            let Some(mut execution) = self.live(claim.execution.id).cloned() else {
                continue;
            };
            if let State::Running(running) = &mut execution.state {
                running.lease.token = token;
            }
            self.put_live(execution.clone())?;
            let hold = Hold { execution: execution.id, token };
            handed_out.push(Claim { spec: claim.spec, execution, hold });
        }
        Ok(handed_out)
    }

    /// Ends a running execution and makes so what follows from it.
    pub(super) fn conclude(
        &mut self,
        id: ExecutionId,
        ending: Ending,
        report: Report,
    ) -> Result<Execution> {
        let execution = self.live(id).ok_or(Error::LeaseLost(id))?;
        let job = execution.job;
        let desk = self.desks.get(&job).ok_or(Error::NoSuchJob(job))?;
        let siblings: Vec<&Execution> = desk.live.iter().filter(|other| other.id != id).collect();
        let known = desk.job.as_ref().map_err(Clone::clone)?.as_ref();
        let live = Live { executions: &siblings, usual: self.usual, ..Live::default() };
        let concluded = plan::conclude(known, execution, &live, ending, report);
        let concluded = concluded.ok_or(Error::LeaseLost(id))?;
        let dead_letter = concluded.dead_letter && concluded.standing.is_some();
        self.put_past(concluded.ended.clone(), dead_letter);
        self.decide(job, concluded.ended.told_trace(), concluded.decision);
        if let Some(again) = concluded.again {
            self.put_live(again)?;
        }
        if let Some(telling) = concluded.telling {
            self.tell(telling)?;
        }
        if let Some(standing) = concluded.standing {
            *self.desk(job)?.standing_mut() = standing;
            self.follow_up(job)?;
        }
        Ok(concluded.ended)
    }
}

/// Whether the execution runs and someone asked for it to stop.
pub(super) fn asked_to_stop(execution: &Execution) -> bool {
    let running = execution.running();
    running.is_some_and(|running| running.cancel.is_some())
}
