//! The verbs about executions: claimed, held, ended, reaped and cancelled.

use chronos_core::execution::{CancelCause, Lease, Report, Running, State as Stage};
use chronos_core::plan::{self, Ending};
use chronos_core::store::{Claim, Claimed, Error, Finish, Hold, Reaped, Renewal, Result, Terms};
use chronos_core::{Execution, ExecutionId, Job, JobId, Timestamp, WorkerId};

use super::keys::Key;
use super::record::Place;
use super::step::{Step, asked_to_stop, readable};

impl Step<'_> {
    pub(super) fn claim(
        &mut self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Claimed> {
        let expires_at = terms.now.after(terms.lease);
        let mut claimed = Claimed::default();
        while claimed.claims.len() < limit {
            let ready = self.state.index.first_ready().filter(|(run_at, _)| *run_at <= terms.now);
            let Some(mut execution) = ready.and_then(|(_, id)| self.state.index.live(id).cloned())
            else {
                break;
            };
            let Ok(spec) = readable(self.state.spec(execution.job))? else {
                // Nobody can run it; whoever asks for the job is told why.
                self.state.index.set_aside(&execution);
                continue;
            };
            let token = self.next_token();
            let lease = Lease { worker: worker.clone(), token, expires_at };
            let deadline = spec.max_execution_time.map(|most| terms.now.after(most));
            let running = Running { deadline, ..Running::begin(lease, terms.now) };
            execution.state = Stage::Running(running);
            self.put_live(execution.clone())?;
            let hold = Hold { execution: execution.id, token };
            claimed.claims.push(Claim { spec, execution, hold });
        }
        if !claimed.claims.is_empty() {
            let token = self.state.token.0;
            self.put(&Key::Token, &token)?;
        }
        claimed.next = self.state.index.next_ready();
        Ok(claimed)
    }

    /// The execution, if the hold on it is still good.
    pub(super) fn held(&self, hold: &Hold) -> Option<&Execution> {
        let execution = self.state.index.live(hold.execution)?;
        (execution.running()?.lease.token == hold.token).then_some(execution)
    }

    pub(super) fn renew(&mut self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>> {
        let expires_at = terms.now.after(terms.lease);
        let mut renewals = Vec::with_capacity(holds.len());
        for hold in holds {
            let Some(mut execution) = self.held(hold).cloned() else {
                renewals.push(Renewal::Lost);
                continue;
            };
            if let Stage::Running(running) = &mut execution.state {
                running.renew(terms.now, expires_at);
                renewals.push(running.cancel.map_or(Renewal::Held, Renewal::CancelRequested));
            }
            self.put_live(execution)?;
        }
        Ok(renewals)
    }

    pub(super) fn finish(&mut self, finishes: Vec<Finish>) -> Result<Vec<Result<Execution>>> {
        let mut answers = Vec::with_capacity(finishes.len());
        for Finish { hold, ending, mut report } in finishes {
            let Some(execution) = self.held(&hold).cloned() else {
                answers.push(Err(Error::LeaseLost(hold.execution)));
                continue;
            };
            answers.push(match readable(self.owner(execution.job))? {
                Ok(owner) => {
                    report.at = report.at.min(self.now);
                    Ok(self.conclude(&execution, owner, ending, report)?)
                }
                Err(unreadable) => Err(unreadable),
            });
        }
        Ok(answers)
    }

    /// The job of a live execution and its place; `None` when the job was deleted.
    fn owner(&mut self, job: JobId) -> Result<Option<(Job, Place)>> {
        match self.load(job) {
            Ok(loaded) => Ok(Some(loaded)),
            Err(Error::NoSuchJob(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends a running execution and makes so what follows from it.
    fn conclude(
        &mut self,
        execution: &Execution,
        mut owner: Option<(Job, Place)>,
        ending: Ending,
        report: Report,
    ) -> Result<Execution> {
        let concluded = {
            let mut siblings = self.state.index.live_of(execution.job);
            siblings.retain(|other| other.id != execution.id);
            let job = owner.as_ref().map(|(job, _)| job);
            plan::conclude(job, execution, &siblings, ending, report)
        };
        let Some(concluded) = concluded else {
            return Err(Error::LeaseLost(execution.id));
        };
        self.put_past(&concluded.ended, owner.as_mut().map(|(_, place)| place))?;
        if concluded.dead_letter && owner.is_some() {
            self.put(&Key::DeadLetter(execution.id), &())?;
        }
        self.decide(execution.job, concluded.decision);
        if let Some(again) = concluded.again {
            self.put_live(again)?;
        }
        if let (Some((mut job, place)), Some(standing)) = (owner, concluded.standing) {
            job.standing = standing;
            self.follow_up(&mut job)?;
            self.put_standing(job, place);
        }
        Ok(concluded.ended)
    }

    pub(super) fn release(&mut self, holds: &[Hold]) -> Result<()> {
        for hold in holds {
            let Some(mut execution) = self.held(hold).cloned() else {
                continue;
            };
            let Ok(owner) = readable(self.owner(execution.job))? else {
                // Whether it may be queued is not known, so it is left to its lease.
                continue;
            };
            if asked_to_stop(&execution) {
                let report = Report::at(self.now);
                self.conclude(&execution, owner, Ending::Cancelled, report)?;
                continue;
            }
            let paused = execution.trigger.is_scheduled()
                && owner.is_some_and(|(job, _)| job.standing.paused.is_some());
            execution.state = Stage::Queued { held: paused };
            self.put_live(execution)?;
        }
        Ok(())
    }

    pub(super) fn reap(&mut self, limit: usize) -> Result<Reaped> {
        let mut expired: Vec<(ExecutionId, Ending)> = Vec::new();
        let mut next = None;
        for execution in self.state.index.running() {
            let Some((at, ending)) = expiry(execution) else {
                continue;
            };
            if at <= self.now {
                expired.push((execution.id, ending));
            } else {
                next = Some(next.map_or(at, |next: Timestamp| next.min(at)));
            }
        }
        // The order must not hang on that of a hash table: the same history replays the same way.
        expired.sort_by_key(|(id, _)| *id);
        let mut expired = expired.into_iter();
        let mut reaped = Reaped::default();
        while reaped.ended.len() < limit {
            let Some((id, ending)) = expired.next() else {
                break;
            };
            let Some(execution) = self.state.index.live(id).cloned() else {
                continue;
            };
            // What follows from its end is not known while its job cannot be read.
            if let Ok(owner) = readable(self.owner(execution.job))? {
                let report = Report::at(self.now);
                let ended = self.conclude(&execution, owner, ending, report)?;
                reaped.ended.push(ended);
            }
        }
        reaped.next = expired.next().map_or(next, |_| Some(self.now));
        Ok(reaped)
    }

    pub(super) fn cancel_execution(&mut self, id: ExecutionId, cause: CancelCause) -> Result<()> {
        let execution = self.state.execution(id)?;
        if !execution.is_live() {
            return Ok(());
        }
        let Some((mut job, mut place)) = self.owner(execution.job)? else {
            return self.ask_to_stop(&execution, cause, None);
        };
        self.ask_to_stop(&execution, cause, Some(&mut place))?;
        self.follow_up(&mut job)?;
        self.put_standing(job, place);
        Ok(())
    }

    pub(super) fn save_checkpoint(&mut self, hold: &Hold, checkpoint: &[u8]) -> Result<()> {
        let execution = self.held(hold).ok_or(Error::LeaseLost(hold.execution))?;
        let job = execution.job;
        if !self.state.exists(&Key::Standing(job))? {
            return Err(Error::NoSuchJob(job));
        }
        self.put(&Key::Checkpoint(job), &checkpoint)
    }
}

/// When and how a running execution is taken from its worker.
fn expiry(execution: &Execution) -> Option<(Timestamp, Ending)> {
    let running = execution.running()?;
    let lease_end = running.lease.expires_at;
    // The worker stops its own run at the deadline; only one that has not by far is dead or deaf.
    let lease = lease_end.since(running.heartbeat_at);
    match running.deadline.map(|deadline| deadline.after(lease)) {
        Some(overdue) if overdue < lease_end => Some((overdue, Ending::TimedOut)),
        _ => Some((lease_end, Ending::Stuck)),
    }
}
