//! How a scheduler works, and what it refuses.

use std::num::NonZeroU32;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::notice::Notify;
use chronos_core::schedule::Zone;
use chronos_core::store::{self, Roles};

/// How a [`SchedulerService`](crate::SchedulerService) works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// The IANA time zone of jobs that name none.
    pub default_timezone: String,
    /// How long runs may take to end once a shutdown begins.
    pub shutdown_timeout_secs: u64,
    /// Runs that may be under way at once; further ones wait their turn.
    pub max_concurrent_runs: usize,
    /// How late a slot may fire and still count as on time.
    pub misfire_grace: Duration,
    /// Past executions kept of each job, by the built-in store.
    pub history_per_job: NonZeroU32,
    /// Where http jobs may connect to.
    pub reach: Reach,
    /// Requests of http jobs to one host at once; further ones wait their turn.
    pub max_calls_per_host: usize,
    /// Requests of the jobs of one owner at once; further ones wait their turn. Jobs that belong to
    /// nobody have no limit.
    pub max_calls_per_owner: usize,
    /// What this scheduler does where several share a store.
    pub roles: Roles,
    /// What this node is called there; by default the process names itself.
    pub node: Option<String>,
    /// How long a claim holds without renewal.
    pub lease: Duration,
    /// How often leases are renewed.
    pub heartbeat: Duration,
    /// What is told about jobs that do not say, and where all that name no webhook of their own are told
    /// of; it needs the feature `http`.
    pub notify: Option<Notify>,
    /// How long message events are kept; `None` leaves them to the store, of which the built-in one keeps
    /// the newest.
    pub keep_messages: Option<Duration>,
}

impl SchedulerConfig {
    /// Requests of http jobs to one host at once, unless someone says otherwise.
    pub const MAX_CALLS_PER_HOST: usize = 256;
    /// Requests of the jobs of one owner at once, unless someone says otherwise.
    pub const MAX_CALLS_PER_OWNER: usize = 1_024;
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            default_timezone: "UTC".into(),
            shutdown_timeout_secs: 30,
            max_concurrent_runs: 16_384,
            misfire_grace: Duration::from_secs(10),
            history_per_job: NonZeroU32::MIN.saturating_add(99),
            reach: Reach::everything(),
            max_calls_per_host: Self::MAX_CALLS_PER_HOST,
            max_calls_per_owner: Self::MAX_CALLS_PER_OWNER,
            roles: Roles::default(),
            node: None,
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
            notify: None,
            keep_messages: None,
        }
    }
}

impl SchedulerConfig {
    pub(super) fn zone(&self) -> Result<Zone, SchedulerError> {
        Zone::parse(&self.default_timezone)
            .map_err(|error| SchedulerError::InvalidConfig(format!("default_timezone: {error}")))
    }

    pub(super) fn validate(&self) -> Result<(), SchedulerError> {
        self.zone()?;
        if self.max_concurrent_runs == 0 {
            let text = "max_concurrent_runs: 0 lets nothing run; use 1 or more";
            return Err(SchedulerError::InvalidConfig(text.into()));
        }
        if self.max_calls_per_host == 0 || self.max_calls_per_owner == 0 {
            let text =
                "max_calls_per_host, max_calls_per_owner: 0 lets nothing be called; use 1 or more";
            return Err(SchedulerError::InvalidConfig(text.into()));
        }
        if self.heartbeat.is_zero() || self.lease < self.heartbeat * 3 {
            let text = "lease: must hold for at least three heartbeats, and those take time";
            return Err(SchedulerError::InvalidConfig(text.into()));
        }
        if self.notify.is_some() && cfg!(not(feature = "http")) {
            let text = "notify: nothing can be told without the feature http";
            return Err(SchedulerError::InvalidConfig(text.into()));
        }
        if self.notify.as_ref().is_some_and(|notify| notify.webhook.is_none()) {
            let text = "notify: it names no webhook, so there is nobody to tell";
            return Err(SchedulerError::InvalidConfig(text.into()));
        }
        let notify = self.notify.as_ref().map_or(Ok(()), Notify::validate);
        notify.map_err(|error| SchedulerError::InvalidConfig(error.to_string()))
    }
}

/// What a scheduler could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// There is nothing to shut down.
    #[error("the scheduler is not running")]
    NotRunning,
    /// It was started before.
    #[error("the scheduler is already running")]
    AlreadyRunning,
    /// It was shut down; make a new one.
    #[error("the scheduler has been shut down; create a new one to start again")]
    ShutDown,
    /// A field of the configuration cannot be accepted.
    #[error("configuration refused: {0}")]
    InvalidConfig(String),
    /// The job cannot be accepted as it is.
    #[error("job \"{job}\" refused: {error}")]
    InvalidJob {
        /// The job's name.
        job: String,
        /// What is wrong with it.
        error: chronos_core::Error,
    },
    /// A policy cannot be accepted as it is.
    #[error(transparent)]
    InvalidPolicy(#[from] chronos_core::Error),
    /// The job says nothing about when it runs.
    #[error("job \"{0}\" has no schedule; give it a cron expression, an interval or a time")]
    NoSchedule(String),
    /// The job has nothing to do, or two things.
    #[error(
        "job \"{0}\" needs one target: register it with a closure, or give it an endpoint and \
         schedule it"
    )]
    NoSingleTarget(String),
    /// The name is taken.
    #[error("a job named \"{0}\" is already registered; use replace to change it")]
    DuplicateJob(String),
    /// There is no job of that name.
    #[error("no job named \"{0}\" is registered")]
    UnknownJob(String),
    /// The overlap policy refuses a further run.
    #[error("job \"{0}\" is already running and its overlap policy admits no further run")]
    AlreadyRunningJob(String),
    /// The store could not do its part.
    #[error(transparent)]
    Store(store::Error),
}

impl SchedulerError {
    /// The port's error, said in terms of the job it is about.
    pub(super) fn of(job: &str, error: store::Error) -> Self {
        match error {
            store::Error::Invalid(error) => Self::InvalidJob { job: job.into(), error },
            store::Error::NameTaken(name) => Self::DuplicateJob(name),
            store::Error::NoSuchJob(_) => Self::UnknownJob(job.into()),
            store::Error::Overlap(name) => Self::AlreadyRunningJob(name),
            other => Self::Store(other),
        }
    }
}
