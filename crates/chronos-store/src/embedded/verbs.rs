//! The verbs of the embedded store, each one step over the state.

use std::sync::Arc;

use chronos_core::audit::Decision;
use chronos_core::execution::{CancelCause, Lease, Running, State as Stage};
use chronos_core::plan::{self, Change, Ending, Live};
use chronos_core::store::{
    Claim, Claimed, Error, Finish, Fired, Hold, Planned, Reaped, Renewal, Result, Terms, Wake,
};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Timestamp, WorkerId};

use super::keys::Key;
use super::record::StandingRecord;
use super::step::Step;

/// Records that one planning step may write before it leaves the rest to the next.
const ROWS_PER_STEP: usize = 4_096;

impl Step<'_> {
    pub(super) fn create_job(&mut self, spec: JobSpec) -> Result<Job> {
        let job = Job::new(spec, self.now)?;
        self.check_policy(&job.spec)?;
        self.take_name(&job.spec)?;
        if self
            .state
            .read::<StandingRecord>(&Key::Standing(job.spec.id))?
            .is_some()
        {
            return Err(Error::NameTaken(job.spec.name.to_string()));
        }
        // The cache fills with jobs that fire, not with jobs that merely exist.
        self.put(&Key::Spec(job.spec.id), job.spec.as_ref())?;
        let standing = job.standing.clone();
        self.put_standing(
            &job,
            &mut StandingRecord {
                due: None,
                kept: 0,
                standing,
            },
        )?;
        self.decide(job.spec.id, Decision::Created);
        self.state.index.jobs += 1;
        self.wake(Wake::Job);
        Ok(job)
    }

    fn check_policy(&self, spec: &JobSpec) -> Result<()> {
        match spec.quiet_hours {
            Some(id) if !self.state.index.policies.contains_key(&id) => {
                Err(Error::NoSuchPolicy(id))
            }
            _ => Ok(()),
        }
    }

    fn take_name(&mut self, spec: &JobSpec) -> Result<()> {
        let key = Key::Name(&spec.owner, &spec.name);
        match self.state.read::<JobId>(&key)? {
            Some(holder) if holder != spec.id => Err(Error::NameTaken(spec.name.to_string())),
            _ => self.put(&key, &spec.id),
        }
    }

    pub(super) fn amend_job(
        &mut self,
        id: JobId,
        change: Change,
        expected: Option<u64>,
    ) -> Result<Job> {
        let (mut job, mut record) = self.load(id)?;
        let current = job.spec.version;
        if let Some(expected) = expected.filter(|expected| *expected != current) {
            let name = job.spec.name.to_string();
            return Err(Error::VersionConflict {
                name,
                expected,
                current,
            });
        }
        let amended = {
            let executions = self.state.index.live_of(id);
            let quiet_hours = self.quiet_hours(&job);
            plan::amend(
                &job,
                &Live {
                    executions: &executions,
                    quiet_hours,
                },
                change,
                self.now,
            )?
        };
        if amended.spec.version != current {
            self.check_policy(&amended.spec)?;
            if amended.spec.name != job.spec.name {
                self.take_name(&amended.spec)?;
                self.delete(&Key::Name(&job.spec.owner, &job.spec.name));
            }
            self.put_spec(&amended.spec)?;
        }
        job.spec = amended.spec;
        self.apply(&mut job, &mut record, &amended.plan)?;
        self.follow_up(&mut job)?;
        self.put_standing(&job, &mut record)?;
        self.wake(Wake::Job);
        Ok(job)
    }

    pub(super) fn delete_job(&mut self, id: JobId) -> Result<()> {
        let (job, mut record) = self.load(id)?;
        self.state.index.move_due(id, record.due, None);
        self.state.index.forget_spec(id);
        self.state.index.jobs -= 1;
        for key in [
            Key::Spec(id),
            Key::Standing(id),
            Key::Checkpoint(id),
            Key::Name(&job.spec.owner, &job.spec.name),
        ] {
            self.delete(&key);
        }
        let live: Vec<_> = self
            .state
            .index
            .live_of(id)
            .iter()
            .map(|live| live.id)
            .collect();
        for execution in live {
            self.cancel(execution, CancelCause::JobDeleted, Some(&mut record))?;
        }
        if self.state.retention.executions_per_job.is_some() {
            self.drop_oldest(id, u32::MAX)?;
        }
        self.decide(id, Decision::Deleted);
        Ok(())
    }

    fn quiet_hours(&self, job: &Job) -> Option<&chronos_core::policy::QuietHours> {
        self.state.index.policies.get(&job.spec.quiet_hours?)
    }

    pub(super) fn fire_due(&mut self, limit: usize) -> Result<Fired> {
        let mut fired = Fired::default();
        let mut rows = 0;
        while fired.planned.len() < limit && rows < ROWS_PER_STEP {
            let Some((due, id)) = self
                .state
                .index
                .first_due()
                .filter(|(due, _)| *due <= self.now)
            else {
                break;
            };
            let (mut job, mut record) = match self.load(id) {
                Ok(loaded) => loaded,
                Err(Error::Unavailable(text)) => return Err(Error::Unavailable(text)),
                Err(unreadable) => {
                    self.state.index.move_due(id, Some(due), None);
                    fired.unreadable.push((id, unreadable));
                    continue;
                }
            };
            let plan = {
                let executions = self.state.index.live_of(id);
                let quiet_hours = self.quiet_hours(&job);
                plan::plan(
                    &job,
                    &Live {
                        executions: &executions,
                        quiet_hours,
                    },
                    self.now,
                )
            };
            rows += plan.executions.len();
            self.apply(&mut job, &mut record, &plan)?;
            fired.planned.push(Planned {
                spec: job.spec,
                plan,
            });
        }
        fired.next = self.state.index.first_due().map(|(due, _)| due);
        Ok(fired)
    }

    pub(super) fn run_now(&mut self, id: JobId) -> Result<Execution> {
        let (mut job, mut record) = self.load(id)?;
        let plan = {
            let executions = self.state.index.live_of(id);
            let quiet_hours = self.quiet_hours(&job);
            plan::run_now(
                &job,
                &Live {
                    executions: &executions,
                    quiet_hours,
                },
                self.now,
            )
        };
        let plan = plan.ok_or_else(|| Error::Overlap(job.spec.name.to_string()))?;
        self.apply(&mut job, &mut record, &plan)?;
        let run = plan.executions.into_iter().last();
        run.ok_or_else(|| Error::Corrupt("a manual run planned nothing".into()))
    }

    pub(super) fn claim(
        &mut self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Claimed> {
        let expires_at = terms.now.after(terms.lease);
        let mut claimed = Claimed::default();
        while claimed.claims.len() < limit {
            let ready = self
                .state
                .index
                .first_ready()
                .filter(|(run_at, _)| *run_at <= terms.now);
            let Some(mut execution) = ready.and_then(|(_, id)| self.state.index.live(id).cloned())
            else {
                break;
            };
            let spec = self.state.spec(execution.job)?;
            let token = self.next_token();
            let lease = Lease {
                worker: worker.clone(),
                token,
                expires_at,
            };
            let deadline = spec.max_execution_time.map(|most| terms.now.after(most));
            let running = Running {
                deadline,
                ..Running::begin(lease, terms.now)
            };
            execution.state = Stage::Running(running);
            self.put_live(execution.clone())?;
            let hold = Hold {
                execution: execution.id,
                token,
            };
            claimed.claims.push(Claim {
                spec,
                execution,
                hold,
            });
        }
        if !claimed.claims.is_empty() {
            let token = self.state.token.0;
            self.put(&Key::Token, &token)?;
        }
        claimed.next = self.state.index.first_ready().map(|(run_at, _)| run_at);
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
                renewals.push(
                    running
                        .cancel
                        .map_or(Renewal::Held, Renewal::CancelRequested),
                );
            }
            self.put_live(execution)?;
        }
        Ok(renewals)
    }

    pub(super) fn finish(&mut self, finishes: Vec<Finish>) -> Result<Vec<Result<Execution>>> {
        let mut answers = Vec::with_capacity(finishes.len());
        for Finish {
            hold,
            ending,
            at,
            log,
        } in finishes
        {
            let Some(execution) = self.held(&hold).cloned() else {
                answers.push(Err(Error::LeaseLost(hold.execution)));
                continue;
            };
            answers.push(Ok(self.conclude(
                &execution,
                ending,
                log,
                at.min(self.now),
            )?));
        }
        Ok(answers)
    }

    /// Ends a running execution and makes so what follows from it.
    fn conclude(
        &mut self,
        execution: &Execution,
        ending: Ending,
        log: Option<Arc<str>>,
        at: Timestamp,
    ) -> Result<Execution> {
        let mut loaded = match self.load(execution.job) {
            Ok(loaded) => Some(loaded),
            Err(Error::NoSuchJob(_)) => None,
            Err(error) => return Err(error),
        };
        let concluded = {
            let mut siblings = self.state.index.live_of(execution.job);
            siblings.retain(|other| other.id != execution.id);
            let job = loaded.as_ref().map(|(job, _)| job);
            plan::conclude(job, execution, &siblings, ending, log, at)
        };
        let Some(concluded) = concluded else {
            return Err(Error::LeaseLost(execution.id));
        };
        self.put_past(&concluded.ended, loaded.as_mut().map(|(_, record)| record))?;
        if concluded.dead_letter && loaded.is_some() {
            self.put(&Key::DeadLetter(execution.id), &())?;
        }
        self.decide(execution.job, concluded.decision);
        if let Some(again) = concluded.again {
            self.put_live(again)?;
        }
        if let (Some((mut job, mut record)), Some(standing)) = (loaded, concluded.standing) {
            job.standing = standing;
            self.follow_up(&mut job)?;
            self.put_standing(&job, &mut record)?;
        }
        Ok(concluded.ended)
    }

    pub(super) fn release(&mut self, holds: &[Hold]) -> Result<()> {
        for hold in holds {
            let Some(mut execution) = self.held(hold).cloned() else {
                continue;
            };
            if execution
                .running()
                .is_some_and(|running| running.cancel.is_some())
            {
                self.conclude(&execution, Ending::Cancelled, None, self.now)?;
                continue;
            }
            let paused = match self.load(execution.job) {
                Ok((job, _)) => job.standing.paused.is_some() && execution.trigger.is_scheduled(),
                Err(Error::NoSuchJob(_)) => false,
                Err(error) => return Err(error),
            };
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
        let more = expired.len() > limit;
        let mut reaped = Reaped {
            ended: Vec::new(),
            next: if more { Some(self.now) } else { next },
        };
        for (id, ending) in expired.into_iter().take(limit) {
            if let Some(execution) = self.state.index.live(id).cloned() {
                reaped
                    .ended
                    .push(self.conclude(&execution, ending, None, self.now)?);
            }
        }
        Ok(reaped)
    }

    pub(super) fn cancel_execution(&mut self, id: ExecutionId, cause: CancelCause) -> Result<()> {
        let execution = self.state.execution(id)?;
        if !execution.is_live() {
            return Ok(());
        }
        match self.load(execution.job) {
            Ok((mut job, mut record)) => {
                self.cancel(id, cause, Some(&mut record))?;
                self.follow_up(&mut job)?;
                self.put_standing(&job, &mut record)
            }
            Err(Error::NoSuchJob(_)) => self.cancel(id, cause, None),
            Err(error) => Err(error),
        }
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
