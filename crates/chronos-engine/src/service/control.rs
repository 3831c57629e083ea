//! What may be done to a registered job, and asked about it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use chronos_core::backfill::{Asked, Backfill};
use chronos_core::plan::{Change, PreviewRun, preview};
use chronos_core::policy::QuietHours;
use chronos_core::policy::quiet_hours::{Mode, Window};
use chronos_core::schedule::Zone;
use chronos_core::store;
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, PolicyId, Store, UserId};

use super::config::SchedulerError;
use super::{SchedulerService, chance};
use crate::run::Observer as _;

impl SchedulerService {
    /// Keeps the job registered and skips its slots until it is resumed.
    pub async fn pause_job(&self, name: &str) -> Result<(), SchedulerError> {
        self.amend(name, Change::Pause { note: None, resume_at: None }).await
    }

    /// The same until this instant, when the job resumes by itself; the note is for whoever finds it paused.
    pub async fn pause_job_until(
        &self,
        name: &str,
        until: DateTime<Utc>,
        note: Option<&str>,
    ) -> Result<(), SchedulerError> {
        let (note, resume_at) = (note.map(Into::into), Some(until.into()));
        self.amend(name, Change::Pause { note, resume_at }).await
    }

    /// Lets a paused job go on with its next slot; what it skipped stays skipped.
    pub async fn resume_job(&self, name: &str) -> Result<(), SchedulerError> {
        self.amend(name, Change::Resume).await
    }

    /// Changes any job of the store, registered here or not. `expected` refuses the change when the
    /// job has another version by now.
    pub async fn amend_job(
        &self,
        job: JobId,
        change: Change,
        expected: Option<u64>,
    ) -> store::Result<Job> {
        self.amend_job_for(None, job, change, expected).await
    }

    /// The same, as this user asks for it.
    pub async fn amend_job_for(
        &self,
        user: Option<UserId>,
        job: JobId,
        change: Change,
        expected: Option<u64>,
    ) -> store::Result<Job> {
        let store = self.store_for(user);
        let job = store.amend_job(job, change, expected, self.clock.now()).await?;
        self.registry.amended(&job);
        Ok(job)
    }

    /// The store, which files what it is asked for as asked for by this user.
    #[must_use]
    pub fn store_for(&self, user: Option<UserId>) -> Arc<dyn Store> {
        user.map_or_else(|| self.store.clone(), |user| self.store.on_behalf_of(user))
    }

    async fn amend(&self, name: &str, change: Change) -> Result<(), SchedulerError> {
        let id = self.id(name)?;
        let amended = self.amend_job(id, change, None).await;
        amended.map(drop).map_err(|error| SchedulerError::of(name, error))
    }

    /// Has past slots of the job run after all, at a pace and beside its schedule. Gives back the backfill, whose
    /// progress the store tells.
    pub async fn backfill_job(
        &self,
        name: &str,
        asked: &Asked,
    ) -> Result<Backfill, SchedulerError> {
        let id = self.id(name)?;
        let made = async {
            let now = self.clock.now();
            let backfill = Backfill::new(&self.store.job(id).await?, asked, now)?;
            self.store.create_backfill(backfill, now).await
        };
        made.await.map_err(|error: store::Error| SchedulerError::of(name, error))
    }

    /// Runs the job now, whatever its schedule and also while it is paused; its overlap policy may
    /// refuse. Before [`start`](Self::start) the run waits for it. Gives back the execution to look
    /// for.
    pub async fn run_job(&self, name: &str) -> Result<ExecutionId, SchedulerError> {
        let id = self.id(name)?;
        if self.shutdown_token.is_cancelled() {
            return Err(SchedulerError::ShutDown);
        }
        let run = self.store.run_now(id, None, self.clock.now()).await;
        let run = run.map_err(|error| SchedulerError::of(name, error))?;
        self.note_run(&run).await;
        Ok(run.id)
    }

    /// Counts a run that was asked for by hand and is over already, as that of a message job is: no worker
    /// will tell of its end.
    pub async fn note_run(&self, run: &Execution) {
        if run.is_live() {
            return;
        }
        if let Ok(job) = self.store.job(run.job).await {
            self.observers.ended(&[(job.spec, run.clone())]);
        }
    }

    /// Removes the job; a run under way is asked to stop.
    pub async fn remove_job(&self, name: &str) -> Result<(), SchedulerError> {
        let id = self.id(name)?;
        let deleted = self.store.delete_job(id, self.clock.now()).await;
        deleted.map_err(|error| SchedulerError::of(name, error))?;
        self.closures.remove(name);
        self.registry.forget(name);
        Ok(())
    }

    /// Adds a quiet-hours policy, for jobs to refer to.
    pub async fn add_quiet_hours(
        &self,
        name: &str,
        timezone: &str,
        windows: Vec<Window>,
        mode: Mode,
    ) -> Result<PolicyId, SchedulerError> {
        let zone = Zone::parse(timezone)
            .map_err(|error| SchedulerError::InvalidConfig(format!("quiet hours: {error}")))?;
        let (id, now) = (self.new_policy_id(), self.clock.now());
        let policy = QuietHours { windows, mode, ..QuietHours::new(id, name, zone, now) };
        self.store.create_policy(policy).await.map_err(SchedulerError::Store)?;
        Ok(id)
    }

    /// An id for a new quiet-hours policy.
    #[must_use]
    pub fn new_policy_id(&self) -> PolicyId {
        PolicyId::new(self.clock.now(), chance())
    }

    /// The quiet hours that a job observes, as its plans see them: none, where they cannot be read.
    pub async fn quiet_hours_of(&self, spec: &JobSpec) -> store::Result<Option<QuietHours>> {
        let Some(policy) = spec.quiet_hours else {
            return Ok(None);
        };
        match self.store.policy(policy).await {
            Ok(policy) => Ok(Some(policy)),
            Err(store::Error::NoSuchPolicy(_) | store::Error::Corrupt(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The job's next `count` slots, with what moves or stops them.
    pub async fn preview_job(
        &self,
        name: &str,
        count: usize,
    ) -> Result<Vec<PreviewRun>, SchedulerError> {
        let of = |error| SchedulerError::of(name, error);
        let job = self.store.job(self.id(name)?).await.map_err(of)?;
        let quiet = self.quiet_hours_of(&job.spec).await.map_err(of)?;
        Ok(preview(&job, quiet.as_ref(), count))
    }

    /// The job's executions, newest first: runs, skips and what still waits.
    pub async fn history(
        &self,
        name: &str,
        limit: usize,
    ) -> Result<Vec<Execution>, SchedulerError> {
        let id = self.id(name)?;
        let executions = self.store.executions(id, None, limit).await;
        executions.map_err(|error| SchedulerError::of(name, error))
    }
}
