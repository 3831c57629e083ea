//! The verbs about executions: claimed, held, ended, reaped and cancelled.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{CancelCause, Lease, Report, Running, State as Stage};
use chronos_core::plan::{self, Ending, Live, Overdue};
use chronos_core::store::{
    Claim, Claimed, Error, Finish, Hold, Openings, Reaped, Renewal, Result, Terms,
};
use chronos_core::{Execution, ExecutionId, JobId, JobSpec, Timestamp, WorkerId};
use smallvec::SmallVec;

use super::apply::asked_to_stop;
use super::keys::Key;
use super::ready::Crowd;
use super::step::{Step, readable};

/// Of so many claims one has the crowd before the others, so that it has its turn whatever there is.
const CROWD_FIRST: u64 = 4;

impl Step<'_> {
    pub(super) fn claim(
        &mut self,
        worker: &WorkerId,
        terms: Terms,
        openings: Openings,
    ) -> Result<Claimed> {
        let mut claimed = Claimed::default();
        let mut of_crowd = 0;
        self.state.claims += 1;
        let usually =
            if self.state.claims.is_multiple_of(CROWD_FIRST) { Crowd::First } else { Crowd::Last };
        let crowd_now = |taken| if taken < openings.crowd { usually } else { Crowd::Never };
        while claimed.claims.len() < openings.any {
            let crowd = crowd_now(of_crowd);
            let Some(execution) = self.state.index.first_ready(terms.now, crowd).cloned() else {
                break;
            };
            let Ok(spec) = readable(self.state.spec(execution.job))? else {
                // Nobody can run it; whoever asks for the job is told why.
                self.state.index.set_aside(&execution);
                continue;
            };
            of_crowd += usize::from(execution.rank.is_crowd());
            claimed.claims.push(self.begin(execution, spec, worker, terms.lease)?);
        }
        // Of those for whom there was no opening from the beginning, whoever makes one knows.
        let hopeless = openings.crowd == 0 && openings.any > 0;
        let asked_for = if hopeless { Crowd::Never } else { Crowd::Last };
        claimed.next = self.state.index.next_ready_of(asked_for);
        Ok(claimed)
    }

    /// Hands a waiting execution to a worker.
    pub(super) fn begin(
        &mut self,
        mut execution: Execution,
        spec: Arc<JobSpec>,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<Claim> {
        let token = self.next_token();
        let lease = Lease { worker: worker.clone(), token, expires_at: self.now.after(lease) };
        let deadline = execution.limit(&spec).map(|most| self.now.after(most));
        execution.state = Stage::Running(Running { deadline, ..Running::begin(lease, self.now) });
        self.put_live(execution.clone())?;
        let hold = Hold { execution: execution.id, token };
        Ok(Claim { spec, execution, hold })
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
            let Some(job) = self.held(&hold).map(|execution| execution.job) else {
                answers.push(Err(Error::LeaseLost(hold.execution)));
                continue;
            };
            answers.push(match readable(self.exists(job))? {
                Ok(_) => {
                    report.at = report.at.min(self.now);
                    Ok(self.conclude(hold.execution, ending, report)?)
                }
                Err(unreadable) => Err(unreadable),
            });
        }
        Ok(answers)
    }

    /// Whether the job of a live execution is there; it may have been deleted.
    fn exists(&mut self, job: JobId) -> Result<bool> {
        match self.open(job) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchJob(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends a running execution and makes so what follows from it.
    fn conclude(&mut self, id: ExecutionId, ending: Ending, report: Report) -> Result<Execution> {
        let concluded = self.state.index.live(id).and_then(|execution| {
            let desk = self.state.index.desk(execution.job)?;
            let siblings = desk.all_live().filter(|other| other.id != id);
            let siblings: SmallVec<[&Execution; 4]> = siblings.collect();
            let job = desk.file.as_ref().map(|file| &file.job);
            let live = Live { executions: &siblings, usual: self.state.usual, ..Live::default() };
            plan::conclude(job, execution, &live, ending, report)
        });
        let concluded = concluded.ok_or(Error::LeaseLost(id))?;
        let job = concluded.ended.job;
        self.put_past(&concluded.ended)?;
        self.decide(job, concluded.ended.told_trace(), concluded.decision)?;
        if let Some(again) = concluded.again {
            self.put_live(again)?;
        }
        if let Some(telling) = concluded.telling {
            self.tell(telling)?;
        }
        if let Some(standing) = concluded.standing {
            self.open(job)?.job.standing = standing;
            if concluded.dead_letter {
                self.put(&Key::DeadLetter(id), &())?;
            }
            self.follow_up(job)?;
            self.settle(job)?;
        }
        Ok(concluded.ended)
    }

    pub(super) fn release(&mut self, holds: &[Hold]) -> Result<()> {
        for hold in holds {
            let Some(mut execution) = self.held(hold).cloned() else {
                continue;
            };
            let Ok(exists) = readable(self.exists(execution.job))? else {
                // Whether it may be queued is not known, so it is left to its lease.
                continue;
            };
            if asked_to_stop(&execution) {
                self.conclude(execution.id, Ending::Cancelled, Report::at(self.now))?;
                continue;
            }
            let paused = exists
                && execution.trigger.waits_out_pauses()
                && self.open(execution.job)?.job.standing.paused.is_some();
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
        let (ended, more) = self.end_all(expired, limit)?;
        let overdue = self.tell_overdue(limit)?;
        let more = more || overdue.len() == limit;
        let next = [next, self.state.index.next_overdue()].into_iter().flatten().min();
        Ok(Reaped { ended, overdue, next: if more { Some(self.now) } else { next } })
    }

    /// Tells of up to `limit` executions that have not begun in time.
    fn tell_overdue(&mut self, limit: usize) -> Result<Vec<Execution>> {
        let mut told = Vec::new();
        for id in self.state.index.overdue(self.now, limit) {
            let now = self.now;
            let Some(execution) = self.state.index.live(id).cloned() else {
                continue;
            };
            let looked =
                self.ask(execution.job, |job, live| plan::overdue(job, &execution, live, now));
            match readable(looked)? {
                Ok(Some(Overdue { execution, telling })) => {
                    self.put_live(execution.clone())?;
                    if let Some(telling) = telling {
                        self.tell(telling)?;
                        told.push(execution);
                    }
                }
                // Of a job that cannot be read, or is gone, nobody is told.
                Ok(None) | Err(_) => self.state.index.leave_overdue(&execution),
            }
        }
        Ok(told)
    }

    /// Ends up to `limit` running executions as lost, whatever their leases say.
    pub(super) fn reap_orphans(&mut self, limit: usize) -> Result<Vec<Execution>> {
        let running = self.state.index.running();
        let orphans = running.map(|execution| (execution.id, Ending::Stuck)).collect();
        self.end_all(orphans, limit).map(|(ended, _)| ended)
    }

    /// Ends up to `limit` of these executions; says whether some are left.
    fn end_all(
        &mut self,
        mut ends: Vec<(ExecutionId, Ending)>,
        limit: usize,
    ) -> Result<(Vec<Execution>, bool)> {
        // The order must not hang on that of a hash table: the same history replays the same way.
        ends.sort_by_key(|(id, _)| *id);
        let mut ends = ends.into_iter();
        let mut ended = Vec::new();
        while ended.len() < limit {
            let Some((id, ending)) = ends.next() else {
                break;
            };
            let Some(execution) = self.state.index.live(id).cloned() else {
                continue;
            };
            // What follows from its end is not known while its job cannot be read.
            if readable(self.exists(execution.job))?.is_ok() {
                ended.push(self.conclude(id, ending, Report::at(self.now))?);
            }
        }
        Ok((ended, ends.next().is_some()))
    }

    pub(super) fn cancel_execution(&mut self, id: ExecutionId, cause: CancelCause) -> Result<()> {
        let execution = self.state.execution(id)?;
        if !execution.is_live() {
            return Ok(());
        }
        self.ask_to_stop(&execution, cause)?;
        if self.exists(execution.job)? {
            self.follow_up(execution.job)?;
            self.settle(execution.job)?;
        }
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
