//! The scheduler inside a program: register closures, start, and let them run on time.

mod config;
mod jitter;
mod new_job;
mod observer;
mod overlap_guard;
mod registry;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use chronos_core::plan::{Change, PreviewRun, preview};
use chronos_core::policy::{OverlapPolicy, QuietHours};
use chronos_core::schedule::{Cadence, Zone};
use chronos_core::store::Store;
use chronos_core::{ExecutionId, Job, JobId, JobSpec, PolicyId, Timestamp, WorkerId};
use chronos_store::{EmbeddedStore, Retention};
use rustc_hash::FxHashMap;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub use config::{SchedulerConfig, SchedulerError};
pub use jitter::{JitterConfig, with_jitter};
pub use new_job::NewJob;
pub use overlap_guard::{OverlapGuard, RunGuard};
pub use registry::{JobRegistry, JobStatus};

use crate::clock::{Clock, SystemClock};
use crate::handler::{Handler, IntoHandler, JobReturn};
use crate::run::{Engine, EngineConfig, Handlers};
use observer::Reporter;

/// Decisions that the built-in store keeps.
const AUDIT_EVENTS: u64 = 10_000;

/// Runs cron, interval and one-time jobs inside this program.
///
/// ```
/// # use chronos_engine::{SchedulerConfig, SchedulerService, SchedulerError};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SchedulerError> {
/// let scheduler = SchedulerService::new(SchedulerConfig::default())?;
/// scheduler.add_cron_job("heartbeat", "0 * * * * *", Some("Europe/Berlin"), |token| async move {
///     if !token.is_cancelled() { println!("still here"); }
/// }).await?;
/// scheduler.start().await?;
/// // … the program goes on …
/// scheduler.shutdown().await?;
/// # Ok(()) }
/// ```
pub struct SchedulerService {
    config: SchedulerConfig,
    default_zone: Zone,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    registry: Arc<JobRegistry>,
    registered: Arc<Registered>,
    shutdown_token: CancellationToken,
    is_running: AtomicBool,
    engine: Mutex<Option<Engine>>,
}

impl fmt::Debug for SchedulerService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerService")
            .field("config", &self.config)
            .field("is_running", &self.is_running())
            .finish_non_exhaustive()
    }
}

/// The closures of this program, by the names of their jobs.
#[derive(Default)]
struct Registered {
    jobs: RwLock<FxHashMap<Arc<str>, (JobId, Arc<dyn Handler>)>>,
}

impl Registered {
    fn id(&self, name: &str) -> Option<JobId> {
        self.jobs
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .map(|(id, _)| *id)
    }

    fn put(&self, name: Arc<str>, id: JobId, handler: Arc<dyn Handler>) {
        self.jobs
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, (id, handler));
    }

    fn remove(&self, name: &str) {
        self.jobs
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }
}

impl Handlers for Registered {
    fn handler(&self, name: &str) -> Option<Arc<dyn Handler>> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).map(|(_, handler)| handler.clone())
    }
}

impl SchedulerService {
    /// A scheduler on the machine's clock that keeps its jobs in memory.
    pub fn new(config: SchedulerConfig) -> Result<Self, SchedulerError> {
        Self::with_clock(config, Arc::new(SystemClock::new()))
    }

    /// The same on another clock, such as a [`VirtualClock`](crate::VirtualClock) in tests.
    pub fn with_clock(
        config: SchedulerConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SchedulerError> {
        let retention = Retention {
            executions_per_job: Some(config.history_per_job),
            audit_events: Some(AUDIT_EVENTS),
        };
        let store = EmbeddedStore::memory(retention).map_err(SchedulerError::Store)?;
        Self::with_store(config, Arc::new(store), clock)
    }

    /// A scheduler over a store of one's own; jobs that it remembers meet their closures by name
    /// when they are registered.
    pub fn with_store(
        config: SchedulerConfig,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SchedulerError> {
        config.validate()?;
        Ok(Self {
            default_zone: config.zone()?,
            config,
            store,
            registry: Arc::new(JobRegistry::with_clock(clock.clone())),
            clock,
            registered: Arc::default(),
            shutdown_token: CancellationToken::new(),
            is_running: AtomicBool::new(false),
            engine: Mutex::new(None),
        })
    }

    /// What every job did last and does next.
    #[must_use]
    pub fn registry(&self) -> &Arc<JobRegistry> {
        &self.registry
    }

    /// The store behind the scheduler, for executions and decisions in full.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Cancelled when a shutdown begins; the parent of every run's token.
    #[must_use]
    pub fn shutdown_token(&self) -> &CancellationToken {
        &self.shutdown_token
    }

    /// Whether the scheduler has been started and not shut down.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }

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
        self.register(NewJob::named(name).every(every), job_fn)
            .await
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
        if self.registered.id(job.name()).is_some() {
            return Err(SchedulerError::DuplicateJob(job.name().into()));
        }
        self.put(job, job_fn.into_handler()).await
    }

    /// Registers a job or, if there is one of its name, puts this in its place. Figures and history
    /// stay; a run under way ends as it began.
    pub async fn replace<Shape>(
        &self,
        job: NewJob,
        job_fn: impl IntoHandler<Shape>,
    ) -> Result<JobId, SchedulerError> {
        self.put(job, job_fn.into_handler()).await
    }

    async fn put(&self, job: NewJob, handler: Arc<dyn Handler>) -> Result<JobId, SchedulerError> {
        let name: Arc<str> = job.name().into();
        let now = self.clock.now();
        let id = JobId::new(now, chance());
        let spec = job.into_spec(id, &self.config, self.default_zone, now)?;
        // The closure first: a job that is due at once must find it.
        let before = self.registered.id(&name);
        self.registered.put(name.clone(), id, handler.clone());
        let stored = self.store_job(spec, now).await.inspect_err(|_| {
            if before.is_none() {
                self.registered.remove(&name);
            }
        })?;
        let spec = &stored.spec;
        self.registered.put(name.clone(), spec.id, handler);
        self.registry
            .adopt(name, schedule_text(spec), &stored.standing);
        log_registered(spec);
        Ok(spec.id)
    }

    /// Creates the job, or meets the one that the store remembers under its name.
    async fn store_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job, SchedulerError> {
        let name = spec.name.to_string();
        let named = |error| SchedulerError::of(&name, error);
        let Some(known) = self
            .store
            .job_named(&spec.owner, &spec.name)
            .await
            .map_err(named)?
        else {
            return self.store.create_job(spec, now).await.map_err(named);
        };
        let mut spec = spec;
        if spec.schedule.is_like(&known.spec.schedule) {
            spec.schedule = known.spec.schedule.clone();
        }
        let unchanged = JobSpec {
            id: known.spec.id,
            created_at: known.spec.created_at,
            version: known.spec.version,
            ..spec.clone()
        };
        if unchanged == *known.spec {
            return Ok(known);
        }
        let change = Change::Edit(Box::new(spec));
        self.store
            .amend_job(known.spec.id, change, None, now)
            .await
            .map_err(named)
    }

    /// Starts running jobs. Jobs may be registered before and after.
    pub async fn start(&self) -> Result<(), SchedulerError> {
        let mut engine = self.engine.lock().await;
        if self.shutdown_token.is_cancelled() {
            return Err(SchedulerError::ShutDown);
        }
        if engine.is_some() {
            return Err(SchedulerError::AlreadyRunning);
        }
        let worker = WorkerId::new(&format!("in-process-{}", hex(&chance())));
        let mut config = EngineConfig::new(worker);
        config.max_concurrency = self.config.max_concurrent_runs;
        let observer = Arc::new(Reporter {
            registry: self.registry.clone(),
        });
        *engine = Some(Engine::start(
            config,
            self.store.clone(),
            self.clock.clone(),
            self.registered.clone(),
            observer,
            self.shutdown_token.clone(),
        ));
        self.is_running.store(true, Ordering::SeqCst);
        info!(jobs = self.registry.job_count(), "Scheduler started");
        Ok(())
    }

    /// Shuts down: nothing new begins, every run's token is cancelled, and runs are awaited for up to
    /// `shutdown_timeout_secs`, not at all when there are none. What has not ended by then is
    /// aborted and recorded as failed with "cancelled: shutdown".
    pub async fn shutdown(&self) -> Result<(), SchedulerError> {
        let engine = self
            .engine
            .lock()
            .await
            .take()
            .ok_or(SchedulerError::NotRunning)?;
        info!("Initiating scheduler shutdown");
        let grace = Duration::from_secs(self.config.shutdown_timeout_secs);
        let aborted = engine.stop(grace).await;
        if aborted > 0 {
            warn!(aborted, "Runs did not stop in time");
        }
        if let Err(error) = self.store.flush().await {
            warn!(%error, "Store could not be flushed");
        }
        self.is_running.store(false, Ordering::SeqCst);
        info!("Scheduler shutdown complete");
        Ok(())
    }

    /// Keeps the job registered and skips its slots until it is resumed.
    pub async fn pause_job(&self, name: &str) -> Result<(), SchedulerError> {
        self.amend(name, Change::Pause { note: None }).await
    }

    /// Lets a paused job go on with its next slot; what it skipped stays skipped.
    pub async fn resume_job(&self, name: &str) -> Result<(), SchedulerError> {
        self.amend(name, Change::Resume).await
    }

    async fn amend(&self, name: &str, change: Change) -> Result<(), SchedulerError> {
        let id = self.id(name)?;
        let amended = self
            .store
            .amend_job(id, change, None, self.clock.now())
            .await;
        let job = amended.map_err(|error| SchedulerError::of(name, error))?;
        self.registry
            .set_paused(name, job.standing.paused.is_some());
        self.registry
            .set_next_run(name, job.standing.next_slot.map(Timestamp::to_datetime));
        Ok(())
    }

    /// Runs the job now, whatever its schedule and also while it is paused; its overlap policy may
    /// refuse. Gives back the execution to look for.
    pub async fn run_job(&self, name: &str) -> Result<ExecutionId, SchedulerError> {
        let id = self.id(name)?;
        let run = self.store.run_now(id, self.clock.now()).await;
        run.map(|execution| execution.id)
            .map_err(|error| SchedulerError::of(name, error))
    }

    /// Removes the job; a run under way is asked to stop.
    pub async fn remove_job(&self, name: &str) -> Result<(), SchedulerError> {
        let id = self.id(name)?;
        let deleted = self.store.delete_job(id, self.clock.now()).await;
        deleted.map_err(|error| SchedulerError::of(name, error))?;
        self.registered.remove(name);
        self.registry.forget(name);
        Ok(())
    }

    /// Adds a quiet-hours policy, for jobs to refer to.
    pub async fn add_quiet_hours(
        &self,
        name: &str,
        timezone: &str,
        windows: Vec<chronos_core::policy::quiet_hours::Window>,
        mode: chronos_core::policy::quiet_hours::Mode,
    ) -> Result<PolicyId, SchedulerError> {
        let zone = Zone::parse(timezone)
            .map_err(|error| SchedulerError::InvalidConfig(format!("quiet hours: {error}")))?;
        let id = PolicyId::new(self.clock.now(), chance());
        let policy = QuietHours {
            id,
            name: name.into(),
            zone,
            windows,
            mode,
        };
        self.store
            .put_policy(policy)
            .await
            .map_err(SchedulerError::Store)?;
        Ok(id)
    }

    /// The job's next `count` slots, with what moves or stops them.
    pub async fn preview_job(
        &self,
        name: &str,
        count: usize,
    ) -> Result<Vec<PreviewRun>, SchedulerError> {
        let of = |error| SchedulerError::of(name, error);
        let job = self.store.job(self.id(name)?).await.map_err(of)?;
        let policies = self.store.policies().await.map_err(of)?;
        let quiet = policies
            .iter()
            .find(|policy| Some(policy.id) == job.spec.quiet_hours);
        Ok(preview(&job, quiet, count))
    }

    fn id(&self, name: &str) -> Result<JobId, SchedulerError> {
        self.registered
            .id(name)
            .ok_or_else(|| SchedulerError::UnknownJob(name.into()))
    }
}

/// Waits for SIGINT or SIGTERM, the two ways in which a process is asked to stop.
pub async fn shutdown_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// A cron expression as it was given; any other schedule in words.
fn schedule_text(spec: &JobSpec) -> Arc<str> {
    match spec.schedule.cadence() {
        Cadence::Cron(cron) => cron.expression().into(),
        Cadence::Interval(_) | Cadence::OneShot(_) => spec.schedule.describe().into(),
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
        cron = %schedule_text(spec),
        timezone,
        overlap = ?spec.overlap,
        jitter_secs = spec.jitter.as_secs(),
        "Job registered"
    );
}

/// Ten bytes for an id.
fn chance() -> [u8; 10] {
    let mut bytes = [0; 10];
    fastrand::fill(&mut bytes);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
