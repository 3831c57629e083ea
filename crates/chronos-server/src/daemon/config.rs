//! How a daemon serves: where, from which data, and within which limits.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::store::Roles;
use chronos_engine::SchedulerConfig;
use chronos_store::{PostgresConfig, StoreUrl};

use super::Error;
use crate::auth::AuthConfig;
use crate::history::HistoryConfig;

/// How a daemon serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    /// The address that it answers on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Where it keeps its jobs and their history.
    pub data_dir: PathBuf,
    /// The store that holds them; memory, unless another is named.
    pub store: StoreUrl,
    /// The database that it shares with other nodes, in place of a store of its own.
    pub database: Option<PostgresConfig>,
    /// The key that secrets of jobs are sealed with; by default `secret.key` beside the store's files.
    pub secret_key_file: Option<PathBuf>,
    /// Keys whose place that one takes: they open what they sealed, until it is sealed anew.
    pub old_secret_key_files: Vec<PathBuf>,
    /// The secret that signs what the scheduler's own webhook is told.
    pub notify_signing_secret_file: Option<PathBuf>,
    /// How far this machine's clock may be off the database's before it takes on no work.
    pub max_clock_skew: Duration,
    /// How its scheduler works; unless told otherwise, its jobs call public addresses alone. One that does
    /// not answer requests still tells how it is.
    pub scheduler: SchedulerConfig,
    /// What it does about the history.
    pub history: HistoryConfig,
    /// What it accepts of those who connect.
    pub limits: Limits,
    /// How it knows who asks.
    pub auth: AuthConfig,
}

impl ServeConfig {
    /// The usual address.
    pub const LISTEN: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

    /// How far a clock may usually be off.
    pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(30);

    /// How many past executions of each job are usually kept: what is done over again, and what the history is made
    /// from again, is known for as long as they are.
    pub const HISTORY_PER_JOB: NonZeroU32 = NonZeroU32::new(10_000).expect("it is not zero");

    /// The usual way to serve what this directory holds.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let roles = Roles { api: true, ..Roles::default() };
        Self {
            listen: Self::LISTEN,
            data_dir: data_dir.into(),
            store: StoreUrl::Memory,
            database: None,
            secret_key_file: None,
            old_secret_key_files: Vec::new(),
            notify_signing_secret_file: None,
            max_clock_skew: Self::MAX_CLOCK_SKEW,
            scheduler: SchedulerConfig {
                history_per_job: Self::HISTORY_PER_JOB,
                roles,
                reach: Reach::public([]),
                ..SchedulerConfig::default()
            },
            history: HistoryConfig::default(),
            limits: Limits::default(),
            auth: AuthConfig::default(),
        }
    }

    /// Where it keeps what nobody else may read; nowhere if it keeps nothing at all.
    pub(super) fn private_dir(&self) -> Option<&Path> {
        match &self.store {
            _ if self.database.is_some() => Some(&self.data_dir),
            StoreUrl::Memory => None,
            StoreUrl::Directory(_, path) => Some(path),
        }
    }

    /// Where others may connect, the first user is made by whoever can read the token on disk.
    pub(super) fn validate(&self) -> Result<(), Error> {
        if self.listen.ip().to_canonical().is_loopback() || self.private_dir().is_some() {
            Ok(())
        } else {
            Err(Error::NotLoopback(self.listen))
        }
    }
}

/// What a daemon accepts of those who connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; further ones are closed.
    pub connections: usize,
    /// Requests at once on one connection; further ones wait.
    pub requests_per_connection: u32,
    /// Streams of changes at once, over all connections; further ones are refused.
    pub watchers: usize,
    /// The same for one account, so that nobody takes all of them.
    pub watchers_per_account: usize,
    /// Bytes of a request's headers.
    pub header_bytes: u32,
    /// Bytes of a request's body, or of one gRPC message.
    pub body_bytes: usize,
    /// How long a request may take to be answered; what is streamed after that may take longer.
    pub request_timeout: Duration,
    /// The same for a request that makes many jobs.
    pub bulk_timeout: Duration,
    /// How long a connection may take to ask for something.
    pub idle_timeout: Duration,
    /// How often a quiet connection is asked whether it is still there.
    pub keep_alive: Duration,
    /// How long connections may take to end when the daemon stops.
    pub close_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            requests_per_connection: 128,
            watchers: 2_048,
            watchers_per_account: 64,
            header_bytes: 16 * 1024,
            body_bytes: 4 * 1024 * 1024,
            request_timeout: Duration::from_secs(30),
            bulk_timeout: Duration::from_mins(5),
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(20),
            close_timeout: Duration::from_secs(5),
        }
    }
}
