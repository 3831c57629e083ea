//! Handlers: the Rust code that a slot runs, and what it is given and gives back.

use std::any::Any;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use chronos_core::execution::{Failure, Response, Token, Trigger};
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::policy::Rank;
use chronos_core::store::{self, Hold};
use chronos_core::{Execution, ExecutionId, JobId, JobSpec, TraceId};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::run::{Shared, Task};

/// What a job logs beyond this is dropped.
const MAX_LOG: usize = 64 * 1024;

/// How a run ended, as the registry shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// It is done.
    Success,
    /// It failed, with the message.
    Failed(String),
    /// It did not run, with the reason.
    Skipped(String),
}

/// A failure that says whether trying again could help.
///
/// ```
/// # use chronos_engine::JobError;
/// # use std::time::Duration;
/// async fn fetch(status: u16) -> Result<(), JobError> {
///     match status {
///         200 => Ok(()),
///         429 => Err(JobError::transient("too many requests").retry_after(Duration::from_secs(60))),
///         404 => Err(JobError::permanent("no such page")),
///         _ => Err(JobError::transient(format!("answered {status}"))),
///     }
/// }
/// ```
///
/// Any error that can be displayed may be returned from a job and counts as transient; return this
/// one to say more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError(Failure);

impl JobError {
    /// A failure that may pass by itself; it is retried if the job has retries left.
    #[must_use]
    pub fn transient(message: impl Display) -> Self {
        Self(Failure::transient(&message.to_string()))
    }

    /// A failure that will repeat itself; it is not retried.
    #[must_use]
    pub fn permanent(message: impl Display) -> Self {
        Self(Failure::permanent(&message.to_string()))
    }

    /// The same failure, retried no sooner than this.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }
}

impl Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for JobError {}

/// What a job may return: nothing, a `Result<(), E>`, or a [`JobResult`].
pub trait JobReturn: Send {
    /// The ending that it stands for.
    fn into_ending(self) -> Ending;
}

impl JobReturn for () {
    fn into_ending(self) -> Ending {
        Ending::Success
    }
}

impl JobReturn for JobResult {
    fn into_ending(self) -> Ending {
        match self {
            Self::Success => Ending::Success,
            Self::Failed(message) => Ending::Failed(Failure::transient(&message)),
            Self::Skipped(reason) => Ending::Skipped(reason.into()),
        }
    }
}

impl<T: JobReturn, E: Display + Send + 'static> JobReturn for Result<T, E> {
    fn into_ending(self) -> Ending {
        match self {
            Ok(value) => value.into_ending(),
            Err(error) => {
                let known = (&error as &dyn Any).downcast_ref::<JobError>();
                Ending::Failed(match known {
                    Some(JobError(failure)) => failure.clone(),
                    // The alternate form lets error types such as anyhow's show their causes.
                    None => Failure::transient(&format!("{error:#}")),
                })
            }
        }
    }
}

/// Code that a slot runs.
pub trait Handler: Send + Sync + 'static {
    /// Runs once; the future is dropped at the time limit or when a stop is past its grace.
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending>;
}

/// A closure that can become a [`Handler`]: one that takes a [`JobContext`], a
/// [`CancellationToken`], or nothing; or a handler already. `Shape` only tells them apart.
pub trait IntoHandler<Shape> {
    /// The handler.
    fn into_handler(self) -> Arc<dyn Handler>;
}

struct Closure<F>(F);

impl<F> Handler for Closure<F>
where
    F: Fn(JobContext) -> BoxFuture<'static, Ending> + Send + Sync + 'static,
{
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending> {
        (self.0)(context)
    }
}

impl<F, Fut> IntoHandler<(JobContext,)> for F
where
    F: Fn(JobContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: JobReturn> + Send + 'static,
{
    fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(Closure(move |context| self(context).map(JobReturn::into_ending).boxed()))
    }
}

impl<F, Fut> IntoHandler<(CancellationToken,)> for F
where
    F: Fn(CancellationToken) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: JobReturn> + Send + 'static,
{
    fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(Closure(move |context: JobContext| {
            self(context.token().clone()).map(JobReturn::into_ending).boxed()
        }))
    }
}

impl<F, Fut> IntoHandler<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: JobReturn> + Send + 'static,
{
    fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(Closure(move |_| self().map(JobReturn::into_ending).boxed()))
    }
}

/// A handler of one's own type is one already.
impl IntoHandler<Arc<dyn Handler>> for Arc<dyn Handler> {
    fn into_handler(self) -> Arc<dyn Handler> {
        self
    }
}

/// What a run is given: which slot it is for, whether it should stop, and where to keep things.
///
/// A job that looks at its token and keeps a checkpoint can be stopped at any time and goes on where
/// it was:
///
/// ```
/// # use chronos_engine::{JobContext, SchedulerConfig, SchedulerError, SchedulerService};
/// # use std::time::Duration;
/// async fn sweep(context: JobContext) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     let kept = context.load_checkpoint().await?;
///     let first = kept.and_then(|bytes| bytes.first().copied()).unwrap_or(1);
///     for shelf in first..=20 {
///         if context.is_cancelled() {
///             tracing::info!("Shutdown requested, checkpointing...");
///             context.save_checkpoint([shelf]).await?;
///             return Ok(());
///         }
///         context.log(format!("shelf {shelf} swept"));
///     }
///     Ok(context.save_checkpoint([1]).await?)
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SchedulerError> {
/// # let scheduler = SchedulerService::new(SchedulerConfig::default())?;
/// scheduler.register_interval("sweep", Duration::from_secs(3_600), sweep).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct JobContext(Arc<Inner>);

/// The engine of runs that begin together. They count who holds it in a place of their own: threads
/// that begin and end runs at once would slow each other down at a common one.
pub(crate) type Crew = Arc<Shared>;

struct Inner {
    spec: Arc<JobSpec>,
    execution: Execution,
    hold: Hold,
    /// Where it tells what it has to tell, if it is a notice.
    webhook: Option<Result<Target, Failure>>,
    engine: Arc<Crew>,
    /// Made when someone first asks for it: most runs end before anyone does.
    token: OnceLock<CancellationToken>,
    task: Task,
    log: Mutex<String>,
    response: Mutex<Option<Arc<Response>>>,
}

impl JobContext {
    pub(crate) fn new(claim: store::Claim, engine: Arc<Crew>) -> Self {
        let store::Claim { spec, execution, hold } = claim;
        let notice = execution.notice();
        let webhook = notice.map(|notice| engine.webhook(&spec, &execution, notice));
        let (token, task) = (OnceLock::new(), Task::default());
        let (log, response) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { spec, execution, hold, webhook, engine, token, task, log, response }))
    }

    pub(crate) fn rank(&self) -> Rank {
        self.0.execution.rank
    }

    /// Cancelled when the run should stop: checkpoint and return soon.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        self.0.token.get_or_init(|| self.0.engine.runs.child_token())
    }

    /// Whether the run should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let own = self.0.token.get();
        own.is_some_and(CancellationToken::is_cancelled) || self.0.engine.runs.is_cancelled()
    }

    /// The job's name.
    #[must_use]
    pub fn job_name(&self) -> &str {
        &self.0.spec.name
    }

    /// Identifies the job.
    #[must_use]
    pub fn job_id(&self) -> JobId {
        self.0.spec.id
    }

    /// What this run does: what the job's slots do, or where a notice goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        match &self.0.webhook {
            Some(Ok(webhook)) => webhook,
            Some(Err(_)) | None => &self.0.spec.target,
        }
    }

    /// The same, unless it is a notice that nobody can be told.
    pub(crate) fn reachable_target(&self) -> Result<&Target, Failure> {
        match &self.0.webhook {
            Some(Err(failure)) => Err(failure.clone()),
            Some(Ok(_)) | None => Ok(self.target()),
        }
    }

    pub(crate) fn is_notice(&self) -> bool {
        self.0.webhook.is_some()
    }

    pub(crate) fn spec(&self) -> &Arc<JobSpec> {
        &self.0.spec
    }

    pub(crate) fn hold(&self) -> Hold {
        self.0.hold
    }

    pub(crate) fn engine(&self) -> &Shared {
        &self.0.engine
    }

    pub(crate) fn task(&self) -> &Task {
        &self.0.task
    }

    /// The token of the claim that this run goes back to: larger than that of any earlier claim, so
    /// that whoever remembers the largest one can refuse a run that was taken for dead.
    #[must_use]
    pub fn fence(&self) -> Token {
        self.0.hold.token
    }

    /// Identifies this attempt.
    #[must_use]
    pub fn execution_id(&self) -> ExecutionId {
        self.0.execution.id
    }

    /// The nominal time this run is for.
    #[must_use]
    pub fn scheduled_for(&self) -> DateTime<Utc> {
        self.0.execution.slot.to_datetime()
    }

    /// Which attempt at the slot this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.execution.attempt
    }

    /// What asked for the run.
    #[must_use]
    pub fn trigger(&self) -> Trigger {
        self.0.execution.trigger.clone()
    }

    /// A key that is the same for every attempt at this slot: hand it to whatever must not happen
    /// twice.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let Execution { slot, trigger, .. } = &self.0.execution;
        let first = ExecutionId::of(self.0.spec.id, *slot, trigger, 1);
        first.to_string()
    }

    /// The trace that this run belongs to: that of whoever asked for it, else one of the slot.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.0.execution.trace_id()
    }

    /// Keeps something for the job's next run, or for the next attempt after a crash. Fails with
    /// [`store::Error::LeaseLost`] when the run is no longer this one's to make.
    pub async fn save_checkpoint(&self, checkpoint: impl Into<Vec<u8>>) -> store::Result<()> {
        self.0.engine.store.save_checkpoint(&self.0.hold, checkpoint.into()).await
    }

    /// What the job kept last.
    pub async fn load_checkpoint(&self) -> store::Result<Option<Vec<u8>>> {
        self.0.engine.store.checkpoint(self.0.spec.id).await
    }

    /// Adds a line to the execution's log, which is kept with its record up to 64 KiB.
    pub fn log(&self, line: impl Display) {
        let mut log = self.0.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() >= MAX_LOG {
            return;
        }
        log.push_str(&line.to_string());
        log.push('\n');
        if log.len() > MAX_LOG {
            let end = log.floor_char_boundary(MAX_LOG);
            log.truncate(end);
            log.push_str("\n[truncated]");
        }
    }

    /// Keeps what a target answered with the execution, in the place of an earlier answer.
    pub fn record_response(&self, response: Response) {
        let mut kept = self.0.response.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::new(response));
    }

    pub(crate) fn take_response(&self) -> Option<Arc<Response>> {
        self.0.response.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn take_log(&self) -> Option<Arc<str>> {
        let mut log = self.0.log.lock().unwrap_or_else(PoisonError::into_inner);
        let text = std::mem::take(&mut *log);
        (!text.is_empty()).then(|| text.into())
    }
}

impl fmt::Debug for JobContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobContext")
            .field("job", &self.job_name())
            .field("execution", &self.0.execution.id)
            .finish_non_exhaustive()
    }
}
