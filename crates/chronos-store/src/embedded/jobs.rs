//! The verbs about jobs: made, changed, removed, and fired when they are due.

use chronos_core::audit::Decision;
use chronos_core::execution::CancelCause;
use chronos_core::plan::{self, Change, Live};
use chronos_core::policy::QuietHours;
use chronos_core::policy::rank::joins_crowd;
use chronos_core::store::{Error, Fired, Planned, Result, Taker};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Message, Plan, TraceId};

use super::apply::Taking;
use super::keys::Key;
use super::record::{Place, StandingRecord};
use super::step::{Step, readable};
use super::volumes::Volume;

/// Records that one planning step may write before it leaves the rest to the next.
const ROWS_PER_STEP: usize = 4_096;

/// A long message counts for as many records as it could be.
fn rows_of(message: &Message) -> usize {
    message.size() / 1_024
}

impl Step<'_> {
    pub(super) fn create_job(&mut self, spec: JobSpec) -> Result<Job> {
        let job = Job::new(spec, self.now)?;
        self.check_policy(&job.spec)?;
        // Whatever had this id left its tag, though perhaps nothing else.
        let known = self.state.exists(&Key::Tag(job.spec.id))?;
        if known && self.state.exists(&Key::Standing(job.spec.id))? {
            return Err(Error::NameTaken(job.spec.name.to_string()));
        }
        self.take_name(&job.spec)?;
        self.put(&Key::Spec(job.spec.id), job.spec.as_ref())?;
        self.mark(&Key::Tag(job.spec.id));
        // Another job of this id may have left a past.
        let volumes = known.then_some(Volume::ALL);
        let crowd = joins_crowd(&job.spec.owner, self.state.index.roll.count_of(&job.spec.owner));
        let place = Place { due: job.due_at(), crowd, kept: 0, volumes };
        self.state.index.move_due(None, place.turn(job.spec.id));
        // A desk that is there already was a deleted job's.
        if let Some(desk) = self.state.index.desk_mut(job.spec.id) {
            desk.gone = false;
        }
        let record = StandingRecord { place, standing: &job.standing, live: None::<&Execution> };
        self.put(&Key::Standing(job.spec.id), &record)?;
        self.belongs_to(job.spec.id, &job.spec.owner);
        self.decide(job.spec.id, job.spec.trace, Decision::Created)?;
        self.state.index.jobs += 1;
        self.state.index.roll.put(&job, place.due);
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
        let job = &self.open(id)?.job;
        let (spec, current) = (job.spec.clone(), job.spec.version);
        if let Some(expected) = expected.filter(|expected| *expected != current) {
            let name = spec.name.to_string();
            return Err(Error::VersionConflict { name, expected, current });
        }
        let (now, disables) = (self.now, change == Change::Disable);
        let amended = self.ask(id, |job, live| plan::amend(job, live, change, now))??;
        if amended.spec.version != current {
            self.check_policy(&amended.spec)?;
            if amended.spec.name != spec.name {
                self.take_name(&amended.spec)?;
                self.delete(&Key::Name(&spec.owner, &spec.name));
            }
            self.put(&Key::Spec(id), amended.spec.as_ref())?;
        }
        let edited = amended.spec.version != current;
        self.open(id)?.job.spec = amended.spec;
        self.apply(id, &amended.plan)?;
        self.follow_up(id)?;
        self.settle(id)?;
        if disables {
            self.give_up_backfills(id)?;
        }
        let job = self.open(id)?.job.clone();
        if edited {
            self.state.index.roll.remove(&spec);
            self.state.index.roll.put(&job, job.due_at());
        }
        Ok(job)
    }

    pub(super) fn delete_job(&mut self, id: JobId) -> Result<()> {
        let file = self.open(id)?;
        let (spec, place) = (file.job.spec.clone(), file.place);
        self.belongs_to(id, &spec.owner);
        self.state.index.move_due(place.turn(id), None);
        self.state.index.roll.remove(&spec);
        self.state.index.jobs -= 1;
        for key in [
            Key::Spec(id),
            Key::Standing(id),
            Key::Checkpoint(id),
            Key::Name(&spec.owner, &spec.name),
        ] {
            self.delete(&key);
        }
        self.forget_backfills(id)?;
        let desk = self.state.index.desk_of(id);
        (desk.file, desk.gone) = (None, true);
        let live = self.state.index.live_of(id);
        let live: Vec<Execution> = live.into_iter().cloned().collect();
        for execution in live {
            self.move_out(execution.clone())?;
            self.ask_to_stop(&execution, CancelCause::JobDeleted)?;
        }
        // What is kept of it is still found by its executions' ids.
        if self.state.retention.executions_per_job.is_some() {
            self.drop_oldest(id, place.volumes, u32::MAX)?;
            self.delete(&Key::Tag(id));
        }
        self.decide(id, None, Decision::Deleted)?;
        Ok(())
    }

    /// Asks the domain about a job and what surrounds it.
    pub(super) fn ask<T>(
        &mut self,
        id: JobId,
        question: impl FnOnce(&Job, &Live<'_>) -> T,
    ) -> Result<T> {
        self.open(id)?;
        let index = &self.state.index;
        let file =
            index.desk(id).and_then(|desk| desk.file.as_ref()).ok_or(Error::NoSuchJob(id))?;
        let (job, crowd) = (&file.job, file.place.crowd);
        let executions = index.live_of(id);
        let quiet_hours: Option<&QuietHours> =
            job.spec.quiet_hours.and_then(|policy| index.policies.get(&policy));
        let usual = self.state.usual;
        let (storm, executions) = (&self.state.storm, executions.as_slice());
        let (terse, begins) = (storm.is_terse(self.now), storm.begins(self.now));
        Ok(question(job, &Live { executions, quiet_hours, usual, crowd, terse, begins }))
    }

    pub(super) fn fire_due(&mut self, limit: usize, taker: Option<&Taker>) -> Result<Fired> {
        let room = self.state.last_fired.min(limit);
        let mut fired = Fired { planned: Vec::with_capacity(room), ..Fired::default() };
        self.taking = taker.map(|taker| Taking::new(taker.clone(), room));
        let mut rows = 0;
        while fired.planned.len() < limit && rows < ROWS_PER_STEP {
            let now = self.now;
            let crowd_first = fired.planned.len() % 2 == 1;
            let Some(turn) = self.state.index.first_due(now, crowd_first) else {
                break;
            };
            let id = turn.job;
            let asked: Result<Plan> = self.ask(id, |job, live| plan::plan(job, live, now));
            let plan = match readable(asked)? {
                Ok(plan) => plan,
                Err(unreadable) => {
                    self.state.index.move_due(Some(turn), None);
                    fired.unreadable.push((id, unreadable));
                    continue;
                }
            };
            self.state.storm.count(&plan, now);
            rows += plan.executions.len() + plan.messages.iter().map(rows_of).sum::<usize>();
            self.apply(id, &plan)?;
            self.settle(id)?;
            let spec = self.open(id)?.job.spec.clone();
            fired.planned.push(Planned { spec, plan });
        }
        fired.claims = self.taking.take().map(|taking| taking.claims).unwrap_or_default();
        fired.next = self.state.index.next_due();
        self.state.last_fired = fired.planned.len();
        Ok(fired)
    }

    pub(super) fn run_now(&mut self, id: JobId, trace: Option<TraceId>) -> Result<Execution> {
        let now = self.now;
        let plan = self.ask(id, |job, live| {
            let overlap = || Error::Overlap(job.spec.name.to_string());
            plan::run_now(job, live, trace, now).ok_or_else(overlap)
        })??;
        self.apply(id, &plan)?;
        self.settle(id)?;
        let run = plan.executions.into_iter().last();
        run.ok_or_else(|| Error::Corrupt("a manual run planned nothing".into()))
    }

    pub(super) fn redrive(&mut self, id: ExecutionId) -> Result<Execution> {
        let dead = self.state.execution(id)?;
        if !self.state.exists(&Key::DeadLetter(id))? {
            return Err(Error::NotDeadLetter(id));
        }
        let now = self.now;
        let plan = self.ask(dead.job, |job, live| plan::redrive(job, live, &dead, now))?;
        self.delete(&Key::DeadLetter(id));
        if let Some(number) = dead.trigger.backfill() {
            self.reopen_backfill(dead.job, number)?;
        }
        self.apply(dead.job, &plan)?;
        self.settle(dead.job)?;
        let again = plan.executions.into_iter().next();
        again.ok_or_else(|| Error::Corrupt("a redriven slot planned nothing".into()))
    }
}
