//! Registering jobs: a schedule and policies meet the closure that they run.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chronos_core::plan::Change;
use chronos_core::policy::OverlapPolicy;
use chronos_core::schedule::{Cadence, Zone};
use chronos_core::store;
use chronos_core::{Job, JobId, JobSpec};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::SchedulerService;
use super::closures::Closure;
use super::config::SchedulerError;
use super::jitter::JitterConfig;
use super::new_job::NewJob;
use crate::handler::{Handler, IntoHandler, JobReturn};

impl SchedulerService {
    /// Registers a cron job. The closure takes nothing, a
    /// [`CancellationToken`] or a [`JobContext`](crate::JobContext), and returns nothing, a
    /// `Result<(), E>` or a [`JobResult`](crate::JobResult).
    pub async fn register_job<Shape>(
        &self,
        name: &str,
        cron: &str,
        timezone: Option<&str>,
        overlap: OverlapPolicy,
        jitter: JitterConfig,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        let job = NewJob::named(name)
            .cron(cron)
            .overlap(overlap)
            .jitter(Duration::from_secs(jitter.max_jitter_secs));
        let job = match timezone {
            Some(timezone) => job.timezone(timezone),
            None => job,
        };
        self.register(job, job_fn).await
    }

    /// Registers a cron job whose closure takes the token that tells it to stop.
    pub async fn add_cron_job<F, Fut>(
        &self,
        name: &str,
        cron: &str,
        timezone: Option<&str>,
        job_fn: F,
    ) -> Result<JobId, SchedulerError>
    where
        F: Fn(CancellationToken) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: JobReturn> + Send + 'static,
    {
        let (overlap, jitter) = (OverlapPolicy::default(), JitterConfig::none());
        self.register_job::<(CancellationToken,)>(name, cron, timezone, overlap, jitter, job_fn)
            .await
    }

    /// Registers a job that runs every so often.
    pub async fn register_interval<Shape>(
        &self,
        name: &str,
        every: Duration,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        self.register(NewJob::named(name).every(every), job_fn).await
    }

    /// Registers a job that runs once, at this instant.
    pub async fn register_one_shot<Shape>(
        &self,
        name: &str,
        at: DateTime<Utc>,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        self.register(NewJob::named(name).at(at), job_fn).await
    }

    /// Registers a job with every choice that there is.
    pub async fn register<Shape>(
        &self,
        job: NewJob,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        let draft = self.draft(job, Some(job_fn.into_handler()))?;
        self.add(draft).await
    }

    /// Registers a job or, if there is one of its name, puts this in its place. Figures and history
    /// stay; a run under way ends as it began. When it is refused, all is as before.
    pub async fn replace<Shape>(
        &self,
        job: NewJob,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        let draft = self.draft(job, Some(job_fn.into_handler()))?;
        self.put(draft).await
    }

    /// Schedules a job that calls an endpoint, or emits a message.
    ///
    /// ```
    /// # use chronos_engine::{Http, NewJob, SchedulerConfig, SchedulerService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scheduler = SchedulerService::new(SchedulerConfig::default())?;
    /// let request = Http::new("https://example.com/reports")?.with_body(r#"{"pages": 3}"#)?;
    /// let report = NewJob::named("report").cron("0 9 * * 1-5").retries(3).http(request);
    /// scheduler.schedule(report).await?;
    /// # Ok(()) }
    /// ```
    pub async fn schedule(&self, job: NewJob) -> Result<JobId, SchedulerError> {
        let draft = self.draft(job, None)?;
        self.add(draft).await
    }

    /// Schedules such a job or, if there is a job of its name, puts this in its place, as
    /// [`replace`](Self::replace) does.
    pub async fn reschedule(&self, job: NewJob) -> Result<JobId, SchedulerError> {
        let draft = self.draft(job, None)?;
        self.put(draft).await
    }

    async fn add(&self, (name, spec, closure): Draft) -> Result<JobId, SchedulerError> {
        if !self.closures.add(&name, closure) {
            return Err(SchedulerError::DuplicateJob(name.to_string()));
        }
        self.settle(name, spec, None).await
    }

    async fn put(&self, (name, spec, closure): Draft) -> Result<JobId, SchedulerError> {
        let before = self.closures.replace(&name, closure);
        self.settle(name, spec, before).await
    }

    /// A job with the closure that it came with, or with what serves its endpoint.
    fn draft(
        &self,
        job: NewJob,
        closure: Option<Arc<dyn Handler>>,
    ) -> Result<Draft, SchedulerError> {
        let handler = match closure {
            Some(closure) if !job.has_target() => closure,
            None if job.says() => said(),
            #[cfg(feature = "http")]
            None if job.has_target() => self.closures.caller(),
            _ => return Err(SchedulerError::NoSingleTarget(job.name().into())),
        };
        let name = job.name().into();
        let now = self.clock.now();
        let id = self.new_job_id();
        let spec = job.into_spec(id, &self.config, self.default_zone, now)?;
        Ok((name, spec, Closure { job: id, handler }))
    }

    /// Stores a job whose closure has its name already: one that is due at once must find it.
    async fn settle(
        &self,
        name: Arc<str>,
        spec: JobSpec,
        before: Option<Closure>,
    ) -> Result<JobId, SchedulerError> {
        let is_new = before.is_none();
        match self.store_job(spec, &name).await {
            Ok(spec) => {
                self.closures.settle(&name, spec.id);
                log_registered(&spec);
                Ok(spec.id)
            }
            Err(error) => {
                self.closures.restore(&name, before);
                if is_new {
                    self.registry.forget(&name);
                }
                Err(SchedulerError::of(&name, error))
            }
        }
    }

    /// Creates the job, or meets the one that the store remembers under its name. The registry knows
    /// it before it can fire.
    async fn store_job(&self, mut spec: JobSpec, name: &Arc<str>) -> store::Result<Arc<JobSpec>> {
        let now = self.clock.now();
        let known = self.store.job_named(&spec.owner, &spec.name).await?;
        let known = if let Some(known) = known {
            known
        } else {
            let job = Job::new(spec, now)?;
            self.registry.adopt(name, job.spec.schedule.expression().into(), &job);
            spec = Arc::unwrap_or_clone(job.spec);
            match self.store.create_job(spec.clone(), now).await {
                // Another node of the same program was quicker.
                Err(taken @ store::Error::NameTaken(_)) => {
                    self.store.job_named(&spec.owner, &spec.name).await?.ok_or(taken)?
                }
                created => return Ok(created?.spec),
            }
        };
        let spec = spec_for(&known, spec);
        if spec == *known.spec {
            self.registry.adopt(name, spec.schedule.expression().into(), &known);
            return Ok(known.spec);
        }
        let text = spec.schedule.expression().into();
        let change = Change::Edit(Box::new(spec));
        let edited = self.store.amend_job(known.spec.id, change, None, now).await?;
        self.registry.adopt(name, text, &edited);
        Ok(edited.spec)
    }
}

/// Stands for what a message job runs, which is nothing.
fn said() -> Arc<dyn Handler> {
    (|| async { Ok::<(), String>(()) }).into_handler()
}

/// A job to be stored, by its name, with what it runs.
type Draft = (Arc<str>, JobSpec, Closure);

/// What is asked for, as an edit of the known job: an unchanged interval keeps its phase.
fn spec_for(known: &Job, asked: JobSpec) -> JobSpec {
    let known = &known.spec;
    let schedule = if asked.schedule.is_like(&known.schedule) {
        known.schedule.clone()
    } else {
        asked.schedule
    };
    JobSpec {
        id: known.id,
        created_at: known.created_at,
        version: known.version,
        schedule,
        ..asked
    }
}

fn log_registered(spec: &JobSpec) {
    let timezone = match spec.schedule.cadence() {
        Cadence::Cron(cron) => cron.zone().name(),
        Cadence::Interval(_) | Cadence::OneShot(_) => Zone::UTC.name(),
    };
    info!(
        job = %spec.name,
        uuid = %spec.id,
        cron = %spec.schedule.expression(),
        timezone,
        overlap = ?spec.overlap,
        jitter_secs = spec.jitter.as_secs(),
        "Job registered"
    );
}
