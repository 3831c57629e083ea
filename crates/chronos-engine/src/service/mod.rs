//! The scheduler inside a program: register closures, start, and let them run on time.

mod closures;
mod config;
mod control;
mod jitter;
mod new_job;
mod observer;
mod overlap_guard;
#[cfg(feature = "http")]
mod pushing;
mod reconcile;
mod registration;
mod registry;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chronos_core::audit::Reconciliation;
use chronos_core::schedule::Zone;
use chronos_core::store::Store;
use chronos_core::{JobId, WorkerId};
use chronos_store::{EmbeddedStore, Retention};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub use config::{SchedulerConfig, SchedulerError};
pub use jitter::{JitterConfig, with_jitter};
pub use new_job::NewJob;
pub use overlap_guard::{OverlapGuard, RunGuard};
pub use registry::{JobRegistry, JobStatus};

use crate::backpressure::{Backpressure, Lateness};
use crate::clock::{Clock, SystemClock};
use crate::events::Events;
use crate::run::{Brake, Engine, EngineConfig, Observer};
use closures::Closures;
use observer::{Observers, Reporter};

/// Decisions that the built-in store keeps.
const AUDIT_EVENTS: u64 = 10_000;
/// Message events that the built-in store keeps.
const MESSAGE_EVENTS: u64 = 10_000;

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
///
/// A registered job can be paused, resumed, run by hand, replaced and removed at any time:
///
/// ```
/// # use chronos_engine::{NewJob, SchedulerConfig, SchedulerService, SchedulerError};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SchedulerError> {
/// # let scheduler = SchedulerService::new(SchedulerConfig::default())?;
/// let sweep = NewJob::named("sweep").every(Duration::from_secs(60));
/// scheduler.register(sweep, || async { Ok::<(), String>(()) }).await?;
/// scheduler.pause_job("sweep").await?;
/// assert!(scheduler.registry().is_paused("sweep"));
/// scheduler.run_job("sweep").await?; // a run by hand ignores the pause
/// # Ok(()) }
/// ```
pub struct SchedulerService {
    config: SchedulerConfig,
    default_zone: Zone,
    store: Arc<dyn Store>,
    events: Events,
    clock: Arc<dyn Clock>,
    registry: Arc<JobRegistry>,
    closures: Arc<Closures>,
    observers: Arc<Observers>,
    brake: Arc<Brake>,
    backpressure: Arc<Backpressure>,
    #[cfg(feature = "http")]
    subscribed: Option<pushing::Subscribed>,
    shutdown_token: CancellationToken,
    is_running: AtomicBool,
    /// What was put in order when it started.
    reconciled: OnceLock<Reconciliation>,
    stage: Mutex<Stage>,
}

/// How far a scheduler has come; it goes one way only.
enum Stage {
    Ready,
    Running(Running),
    Over,
}

/// What a start begins and a shutdown ends.
struct Running {
    engine: Engine,
    #[cfg(feature = "http")]
    pushing: Option<crate::push::Pushing>,
}

impl fmt::Debug for SchedulerService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerService")
            .field("config", &self.config)
            .field("is_running", &self.is_running())
            .finish_non_exhaustive()
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
            message_events: Some(MESSAGE_EVENTS),
        };
        let store = EmbeddedStore::memory(retention).map_err(SchedulerError::Store)?;
        Self::with_store(config, Arc::new(store), clock)
    }

    /// A scheduler over a store of one's own; jobs that it remembers meet their closures by name
    /// when they are registered.
    ///
    /// Register them before [`start`](Self::start): a remembered job that comes due without a
    /// closure fails, and says so.
    pub fn with_store(
        config: SchedulerConfig,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SchedulerError> {
        config.validate()?;
        store.notify_on(config.notify.as_ref().map(|notify| notify.on));
        let registry = Arc::new(JobRegistry::with_clock(clock.clone()));
        let observers = Arc::new(Observers::default());
        observers.add(Arc::new(Reporter { registry: registry.clone(), clock: clock.clone() }));
        let backpressure = Arc::new(Backpressure::new(&store, Backpressure::PATIENCE));
        let lateness = Arc::new(Lateness::new(clock.clone()));
        observers.add(lateness.clone());
        backpressure.heed(lateness);
        Ok(Self {
            default_zone: config.zone()?,
            closures: Arc::new(Closures::new(&clock, &config)),
            config,
            events: Events::of(&store),
            store,
            registry,
            clock,
            observers,
            brake: Arc::default(),
            backpressure,
            #[cfg(feature = "http")]
            subscribed: None,
            shutdown_token: CancellationToken::new(),
            is_running: AtomicBool::new(false),
            reconciled: OnceLock::new(),
            stage: Mutex::new(Stage::Ready),
        })
    }

    /// The same scheduler, whose http jobs have secrets that this keyring opens.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<dyn crate::http::Keyring>) -> Self {
        self.closures.set_keyring(keyring);
        self
    }

    /// What seals and opens the secrets of http jobs, if there is such a thing.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn keyring(&self) -> Option<&dyn crate::http::Keyring> {
        self.closures.keyring().map(|keyring| &**keyring)
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

    /// What its message jobs say, to be followed.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The clock that the scheduler goes by.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// How the scheduler works.
    #[must_use]
    pub fn config(&self) -> &SchedulerConfig {
        &self.config
    }

    /// The zone of jobs that name none.
    #[must_use]
    pub fn default_zone(&self) -> Zone {
        self.default_zone
    }

    /// Lets `observer` see what the engine does, from now on.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.add(observer);
    }

    /// Keeps the scheduler from taking on work while it is pulled.
    #[must_use]
    pub fn brake(&self) -> &Arc<Brake> {
        &self.brake
    }

    /// What its built-in jobs ask before they begin.
    #[must_use]
    pub fn backpressure(&self) -> &Arc<Backpressure> {
        &self.backpressure
    }

    /// A fresh id for a job that goes straight to the store.
    #[must_use]
    pub fn new_job_id(&self) -> JobId {
        JobId::new(self.clock.now(), chance())
    }

    /// The names under which handlers are registered, in order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<str>> {
        self.closures.names()
    }

    /// Whether the job was registered here.
    #[must_use]
    pub fn has_registered(&self, job: JobId) -> bool {
        self.closures.has(job)
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

    /// Starts running jobs. Jobs may be registered before and after.
    pub async fn start(&self) -> Result<(), SchedulerError> {
        let mut stage = self.stage.lock().await;
        match *stage {
            Stage::Ready if !self.shutdown_token.is_cancelled() => {}
            Stage::Ready | Stage::Over => return Err(SchedulerError::ShutDown),
            Stage::Running(_) => return Err(SchedulerError::AlreadyRunning),
        }
        // Another start is another worker: what an earlier one left behind is not its.
        let node = self.config.node.as_deref().unwrap_or("in-process");
        let worker = WorkerId::new(&format!("{node}-{:016x}", fastrand::u64(..)));
        let config = EngineConfig {
            host: node.into(),
            roles: self.config.roles,
            brake: self.brake.clone(),
            max_concurrency: self.config.max_concurrent_runs,
            lease: self.config.lease,
            heartbeat: self.config.heartbeat,
            lease_margin: (self.config.lease / 6).min(Duration::from_secs(2)),
            webhook: self.config.notify.as_ref().and_then(|it| it.webhook.clone()).map(Arc::new),
            keep_messages: self.config.keep_messages,
            ..EngineConfig::new(worker)
        };
        #[cfg(feature = "http")]
        let pushing = self.start_pushing(&config);
        let engine = Engine::start(
            config,
            self.store.clone(),
            self.clock.clone(),
            self.closures.clone(),
            self.observers.clone(),
            self.shutdown_token.clone(),
        );
        *stage = Stage::Running(Running {
            engine,
            #[cfg(feature = "http")]
            pushing,
        });
        self.is_running.store(true, Ordering::SeqCst);
        info!(jobs = self.registry.job_count(), "Scheduler started");
        Ok(())
    }

    /// Shuts down: nothing new begins, every run's token is cancelled, and runs are awaited for up to
    /// `shutdown_timeout_secs`, not at all when there are none. What has not ended by then is
    /// aborted and recorded as failed with "cancelled: shutdown".
    ///
    /// An abort takes effect where a run awaits something. Work that blocks its thread cannot be
    /// interrupted: hand it to `tokio::task::spawn_blocking`, in pieces, and look at the token in
    /// between.
    pub async fn shutdown(&self) -> Result<(), SchedulerError> {
        let running = {
            let mut stage = self.stage.lock().await;
            match std::mem::replace(&mut *stage, Stage::Over) {
                Stage::Running(running) => running,
                idle @ (Stage::Ready | Stage::Over) => {
                    *stage = idle;
                    return Err(SchedulerError::NotRunning);
                }
            }
        };
        info!("Initiating scheduler shutdown");
        let grace = Duration::from_secs(self.config.shutdown_timeout_secs);
        #[cfg(feature = "http")]
        let Running { engine, pushing } = running;
        #[cfg(not(feature = "http"))]
        let Running { engine } = running;
        let pushed = async {
            #[cfg(feature = "http")]
            if let Some(pushing) = pushing {
                pushing.stop(grace).await;
            }
        };
        let (aborted, ()) = tokio::join!(engine.stop(grace), pushed);
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

    fn id(&self, name: &str) -> Result<JobId, SchedulerError> {
        self.closures.job(name).ok_or_else(|| SchedulerError::UnknownJob(name.into()))
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

/// Ten bytes for an id.
fn chance() -> [u8; 10] {
    let mut bytes = [0; 10];
    fastrand::fill(&mut bytes);
    bytes
}
