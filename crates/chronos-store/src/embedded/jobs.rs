//! The verbs about jobs: made, changed, removed, and fired when they are due.

use chronos_core::audit::Decision;
use chronos_core::execution::CancelCause;
use chronos_core::plan::{self, Change, Live};
use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Fired, Planned, Result};
use chronos_core::{Execution, Job, JobId, JobSpec};

use super::keys::Key;
use super::record::{Place, StandingRecord};
use super::step::{Step, readable};

/// Records that one planning step may write before it leaves the rest to the next.
const ROWS_PER_STEP: usize = 4_096;

impl Step<'_> {
    pub(super) fn create_job(&mut self, spec: JobSpec) -> Result<Job> {
        let job = Job::new(spec, self.now)?;
        self.check_policy(&job.spec)?;
        if self.state.exists(&Key::Standing(job.spec.id))? {
            return Err(Error::NameTaken(job.spec.name.to_string()));
        }
        self.take_name(&job.spec)?;
        // The cache fills with jobs that fire, not with jobs that merely exist.
        self.put(&Key::Spec(job.spec.id), job.spec.as_ref())?;
        let place = Place { due: job.due_at(), kept: 0 };
        self.state.index.move_due(job.spec.id, None, place.due);
        self.put(&Key::Standing(job.spec.id), &StandingRecord { place, standing: &job.standing })?;
        self.decide(job.spec.id, Decision::Created);
        self.state.index.jobs += 1;
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
        let (mut job, mut place) = self.load(id)?;
        let current = job.spec.version;
        if let Some(expected) = expected.filter(|expected| *expected != current) {
            let name = job.spec.name.to_string();
            return Err(Error::VersionConflict { name, expected, current });
        }
        let amended = {
            let executions = self.state.index.live_of(id);
            let quiet_hours = self.quiet_hours(&job);
            plan::amend(&job, &Live { executions: &executions, quiet_hours }, change, self.now)?
        };
        if amended.spec.version != current {
            self.check_policy(&amended.spec)?;
            if amended.spec.name != job.spec.name {
                self.take_name(&amended.spec)?;
                self.delete(&Key::Name(&job.spec.owner, &job.spec.name));
            }
            self.put(&Key::Spec(id), amended.spec.as_ref())?;
        }
        job.spec = amended.spec;
        self.apply(&mut job, &mut place, &amended.plan)?;
        self.follow_up(&mut job)?;
        self.put_standing(job.clone(), place);
        Ok(job)
    }

    pub(super) fn delete_job(&mut self, id: JobId) -> Result<()> {
        let (job, place) = self.load(id)?;
        self.state.index.move_due(id, place.due, None);
        self.state.index.set_paused(id, false);
        self.state.index.hot.remove(&id);
        self.state.index.jobs -= 1;
        for key in [
            Key::Spec(id),
            Key::Standing(id),
            Key::Checkpoint(id),
            Key::Name(&job.spec.owner, &job.spec.name),
        ] {
            self.delete(&key);
        }
        let live = self.state.index.live_of(id);
        let live: Vec<Execution> = live.into_iter().cloned().collect();
        for execution in &live {
            self.ask_to_stop(execution, CancelCause::JobDeleted, None)?;
        }
        if self.state.retention.executions_per_job.is_some() {
            self.drop_oldest(id, u32::MAX)?;
        }
        self.decide(id, Decision::Deleted);
        Ok(())
    }

    fn quiet_hours(&self, job: &Job) -> Option<&QuietHours> {
        self.state.index.policies.get(&job.spec.quiet_hours?)
    }

    pub(super) fn fire_due(&mut self, limit: usize) -> Result<Fired> {
        let mut fired = Fired::default();
        let mut rows = 0;
        while fired.planned.len() < limit && rows < ROWS_PER_STEP {
            let Some((due, id)) = self.state.index.first_due().filter(|(due, _)| *due <= self.now)
            else {
                break;
            };
            let (mut job, mut place) = match readable(self.load(id))? {
                Ok(loaded) => loaded,
                Err(unreadable) => {
                    self.state.index.move_due(id, Some(due), None);
                    fired.unreadable.push((id, unreadable));
                    continue;
                }
            };
            let plan = {
                let executions = self.state.index.live_of(id);
                let quiet_hours = self.quiet_hours(&job);
                plan::plan(&job, &Live { executions: &executions, quiet_hours }, self.now)
            };
            rows += plan.executions.len();
            self.apply(&mut job, &mut place, &plan)?;
            let spec = job.spec.clone();
            self.put_standing(job, place);
            fired.planned.push(Planned { spec, plan });
        }
        fired.next = self.state.index.next_due();
        Ok(fired)
    }

    pub(super) fn run_now(&mut self, id: JobId) -> Result<Execution> {
        let (mut job, mut place) = self.load(id)?;
        let plan = {
            let executions = self.state.index.live_of(id);
            let quiet_hours = self.quiet_hours(&job);
            plan::run_now(&job, &Live { executions: &executions, quiet_hours }, self.now)
        };
        let plan = plan.ok_or_else(|| Error::Overlap(job.spec.name.to_string()))?;
        self.apply(&mut job, &mut place, &plan)?;
        self.put_standing(job, place);
        let run = plan.executions.into_iter().last();
        run.ok_or_else(|| Error::Corrupt("a manual run planned nothing".into()))
    }
}
