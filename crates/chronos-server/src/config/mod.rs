//! Configuration: what the daemon is told, from where, and what it refuses.

mod database;
mod defaults;
mod flag;
mod history;
mod key;
mod layers;
mod notify;
mod quotas;
mod roles;
mod serve;
mod targets;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use chronos_core::notice::Occasions;
use chronos_core::schedule::{Cron, Zone};
use chronos_engine::{CompactionJobConfig, SchedulerConfig};
use chronos_history::{IndexCommitJobConfig, PruneJobConfig, RollupJobConfig};
use chronos_store::{Engine, StoreUrl};
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use crate::daemon::ServeConfig;
use crate::quotas::Quotas;

pub use database::DatabaseUrl;
pub use defaults::{data_dir, node};
pub use key::{Flags, KEYS, Key};
pub use layers::{Error, InForce, load};
pub use roles::NodeRoles;
pub use targets::{AllowedTarget, DeniedTarget};

/// More requests at once are no limit.
const MOST_CALLS: usize = 1_000_000;

/// How `chronos serve` works: every key of `chronos.toml`, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key that is on or off")]
pub struct Config {
    /// Where gRPC, health and metrics are served.
    pub listen: SocketAddr,
    /// Where the store keeps its files.
    pub data_dir: PathBuf,
    /// The engine that keeps them.
    pub store: StoreKind,
    /// The database that the nodes of a cluster share, in place of a store of one's own.
    pub database_url: Option<DatabaseUrl>,
    /// Connections to it, beside one that renews and one that listens.
    pub database_pool: u32,
    /// Whether a pooler in transaction mode stands before it.
    pub database_poll_only: bool,
    /// What this node is called.
    pub node: String,
    /// What this node does.
    pub roles: NodeRoles,
    /// How long an execution stays with a worker that does not renew it.
    pub lease_secs: u64,
    /// How often a worker renews what it runs.
    pub heartbeat_secs: u64,
    /// How far this machine's clock may be off the database's.
    pub max_clock_skew_secs: u64,
    /// How long runs may take to end once a shutdown begins.
    pub shutdown_timeout_secs: u64,
    /// Runs that may be under way at once; further ones wait their turn.
    pub max_concurrent_runs: usize,
    /// Whether each thread that runs jobs keeps to a core of its own.
    pub keep_to_cores: bool,
    /// The zone of cron jobs that name none.
    pub default_timezone: Zone,
    /// How late a slot may fire and still count as on time, for jobs that do not say.
    pub misfire_grace_secs: u64,
    /// Past executions kept of each job.
    pub history_per_job: NonZeroU32,
    /// Whether anyone may sign up once there is a user.
    #[serde(deserialize_with = "flag::read")]
    pub open_signup: bool,
    /// The file with the key that signs tokens; one in the data directory if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_key_file: Option<PathBuf>,
    /// Seconds between two slots of a user's job, at least.
    pub user_min_interval_secs: u64,
    /// The same for an admin.
    pub admin_min_interval_secs: u64,
    /// Jobs that a user may have; 0 for any number.
    pub user_max_jobs: u64,
    /// The same for an admin.
    pub admin_max_jobs: u64,
    /// Subscriptions that a user may have; 0 for any number.
    pub user_max_subscriptions: u64,
    /// The same for an admin.
    pub admin_max_subscriptions: u64,
    /// Runs of a user's job that may be alive at once; 0 for any number.
    pub user_max_runs_per_job: u32,
    /// The same for an admin.
    pub admin_max_runs_per_job: u32,
    /// Bytes that a job's request may send.
    pub max_payload_bytes: usize,
    /// Requests of one account in a second at this node; 0 for any number.
    pub max_requests_per_second: u32,
    /// What http jobs may call although it is not public.
    pub allow_targets: Vec<AllowedTarget>,
    /// What http jobs may not call, whatever else is allowed.
    pub deny_targets: Vec<DeniedTarget>,
    /// Requests of http jobs to one host at once.
    pub max_calls_per_host: usize,
    /// Requests of the jobs of one account at once.
    pub max_calls_per_owner: usize,
    /// The key that secrets of jobs are sealed with; by default one in the data directory.
    pub secret_key_file: Option<PathBuf>,
    /// Keys whose place it takes.
    pub old_secret_key_files: Vec<PathBuf>,
    /// The webhook that is told about jobs without one of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_url: Option<String>,
    /// What it is told of those that do not say.
    pub notify_on: Vec<String>,
    /// How long after its time a run is overdue that has not begun.
    pub notify_overdue_after_secs: u64,
    /// The file with the secret that signs what it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_signing_secret_file: Option<PathBuf>,
    /// What is logged: a level, or a filter such as `info,chronos_engine=debug`.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Whether this node keeps a history.
    #[serde(deserialize_with = "flag::read")]
    pub history: bool,
    /// When hours of the history are rolled up into days.
    pub rollup_day_cron: String,
    /// When days are rolled up into weeks.
    pub rollup_week_cron: String,
    /// When weeks are rolled up into months.
    pub rollup_month_cron: String,
    /// The zone whose clocks those expressions are read by.
    pub rollup_timezone: Zone,
    /// The window over which each of their starts is spread.
    pub rollup_jitter_secs: u64,
    /// When what was indexed for the search becomes durable.
    pub index_commit_cron: String,
    /// The zone whose clocks that expression is read by.
    pub index_commit_timezone: Zone,
    /// The window over which its start is spread.
    pub index_commit_jitter_secs: u64,
    /// Days for which executions, decisions and message events are kept, where they do not say.
    pub history_days: u32,
    /// Days for which finished executions are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_days: Option<u32>,
    /// Days for which decisions are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_days: Option<u32>,
    /// Days for which message events are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_days: Option<u32>,
    /// Days for which hours of the history are kept; 0 for ever.
    pub toc_hour_days: u32,
    /// The same for its days.
    pub toc_day_days: u32,
    /// The same for its weeks.
    pub toc_week_days: u32,
    /// The same for its months.
    pub toc_month_days: u32,
    /// The same for its years.
    pub toc_year_days: u32,
    /// When what is no longer to be kept is forgotten.
    pub prune_cron: String,
    /// The zone whose clocks that expression is read by.
    pub prune_timezone: Zone,
    /// The window over which its start is spread.
    pub prune_jitter_secs: u64,
    /// When the store gives back the space of deleted records.
    pub compaction_cron: String,
    /// The zone whose clocks that expression is read by.
    pub compaction_timezone: Zone,
    /// The window over which its start is spread.
    pub compaction_jitter_secs: u64,
}

/// The engine behind the embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// On disk, in pure Rust.
    Fjall,
    /// On disk, in RocksDB.
    Rocksdb,
    /// Nowhere: what is stored ends with the process.
    Memory,
}

impl StoreKind {
    /// Where a store of this kind is that keeps its files in `data_dir`.
    #[must_use]
    pub fn url(self, data_dir: &Path) -> StoreUrl {
        match self {
            Self::Fjall => StoreUrl::Directory(Engine::Fjall, data_dir.into()),
            Self::Rocksdb => StoreUrl::Directory(Engine::RocksDb, data_dir.into()),
            Self::Memory => StoreUrl::Memory,
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// What holds where nothing else is said, with the store's files in `data_dir`.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        let scheduler = SchedulerConfig::default();
        let (compaction, quotas) = (CompactionJobConfig::default(), Quotas::default());
        let (rollup, index) = (RollupJobConfig::default(), IndexCommitJobConfig::default());
        let prune = PruneJobConfig::default();
        Self {
            listen: ServeConfig::LISTEN,
            data_dir,
            store: StoreKind::Fjall,
            database_url: None,
            database_pool: 10,
            database_poll_only: false,
            node: node(),
            roles: NodeRoles::ALL,
            lease_secs: scheduler.lease.as_secs(),
            heartbeat_secs: scheduler.heartbeat.as_secs(),
            max_clock_skew_secs: ServeConfig::MAX_CLOCK_SKEW.as_secs(),
            shutdown_timeout_secs: scheduler.shutdown_timeout_secs,
            max_concurrent_runs: scheduler.max_concurrent_runs,
            keep_to_cores: false,
            default_timezone: Zone::UTC,
            misfire_grace_secs: scheduler.misfire_grace.as_secs(),
            history_per_job: ServeConfig::HISTORY_PER_JOB,
            open_signup: false,
            auth_key_file: None,
            user_min_interval_secs: quotas.user_min_interval.as_secs(),
            admin_min_interval_secs: quotas.admin_min_interval.as_secs(),
            user_max_jobs: quotas.user_max_jobs,
            admin_max_jobs: quotas.admin_max_jobs,
            user_max_subscriptions: quotas.user_max_subscriptions,
            admin_max_subscriptions: quotas.admin_max_subscriptions,
            user_max_runs_per_job: quotas.user_max_runs_per_job,
            admin_max_runs_per_job: quotas.admin_max_runs_per_job,
            max_payload_bytes: quotas.max_payload_bytes,
            max_requests_per_second: quotas.max_requests_per_second,
            allow_targets: Vec::new(),
            deny_targets: Vec::new(),
            max_calls_per_host: scheduler.max_calls_per_host,
            max_calls_per_owner: scheduler.max_calls_per_owner,
            secret_key_file: None,
            old_secret_key_files: Vec::new(),
            notify_url: None,
            notify_on: Occasions::default().kinds().map(|kind| kind.as_str().into()).collect(),
            notify_overdue_after_secs: Occasions::OVERDUE_AFTER.as_secs(),
            notify_signing_secret_file: None,
            log: "info".into(),
            log_format: LogFormat::Auto,
            history: true,
            rollup_day_cron: rollup.day_cron,
            rollup_week_cron: rollup.week_cron,
            rollup_month_cron: rollup.month_cron,
            rollup_timezone: Zone::UTC,
            rollup_jitter_secs: rollup.jitter_secs,
            index_commit_cron: index.cron,
            index_commit_timezone: Zone::UTC,
            index_commit_jitter_secs: index.jitter_secs,
            history_days: 90,
            execution_days: None,
            audit_days: None,
            message_days: None,
            toc_hour_days: 90,
            toc_day_days: 1_100,
            toc_week_days: 0,
            toc_month_days: 0,
            toc_year_days: 0,
            prune_cron: prune.cron,
            prune_timezone: Zone::UTC,
            prune_jitter_secs: prune.jitter_secs,
            compaction_cron: compaction.cron,
            compaction_timezone: Zone::UTC,
            compaction_jitter_secs: compaction.jitter_secs,
        }
    }

    /// Refuses what the types alone cannot: the key, and what is wrong with its value.
    fn check(&self) -> Result<(), (&'static str, Option<String>)> {
        // An empty path would scatter the store over the working directory.
        if self.data_dir.as_os_str().is_empty() {
            return Err(("data_dir", None));
        }
        if self.max_concurrent_runs == 0 {
            return Err(("max_concurrent_runs", None));
        }
        for (key, most) in [
            ("max_calls_per_host", self.max_calls_per_host),
            ("max_calls_per_owner", self.max_calls_per_owner),
        ] {
            if !(1..=MOST_CALLS).contains(&most) {
                return Err((key, None));
            }
        }
        if let Some(Err(problem)) = self.database_url.as_ref().map(DatabaseUrl::check) {
            return Err(("database_url", Some(problem)));
        }
        if !(1..=1_000).contains(&self.database_pool) {
            return Err(("database_pool", None));
        }
        self.check_history()?;
        let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        if !(1..=100).contains(&self.node.len()) || !self.node.chars().all(fits) {
            return Err(("node", None));
        }
        if self.heartbeat_secs == 0 {
            return Err(("heartbeat_secs", None));
        }
        if self.lease_secs < self.heartbeat_secs.saturating_mul(3) {
            let problem = format!(
                "{} s do not hold for three heartbeats of {} s",
                self.lease_secs, self.heartbeat_secs
            );
            return Err(("lease_secs", Some(problem)));
        }
        if self.max_clock_skew_secs == 0 {
            return Err(("max_clock_skew_secs", None));
        }
        self.check_quotas()?;
        for (key, seconds) in [
            ("lease_secs", self.lease_secs),
            ("max_clock_skew_secs", self.max_clock_skew_secs),
            ("shutdown_timeout_secs", self.shutdown_timeout_secs),
            ("misfire_grace_secs", self.misfire_grace_secs),
            ("compaction_jitter_secs", self.compaction_jitter_secs),
            ("rollup_jitter_secs", self.rollup_jitter_secs),
            ("index_commit_jitter_secs", self.index_commit_jitter_secs),
            ("prune_jitter_secs", self.prune_jitter_secs),
        ] {
            if seconds > key::MOST_SECONDS {
                return Err((key, None));
            }
        }
        self.notify().map_err(|(key, problem)| (key, Some(problem)))?;
        EnvFilter::try_new(&self.log).map_err(|error| ("log", Some(error.to_string())))?;
        Cron::parse(&self.compaction_cron, self.compaction_timezone)
            .map_err(|error| ("compaction_cron", Some(error.to_string())))?;
        Ok(())
    }
}
