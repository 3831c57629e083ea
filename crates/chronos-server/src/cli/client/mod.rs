//! Commands that ask a daemon: the way to it, and what its refusals mean here.

mod account;
mod audit;
mod backfills;
mod backup;
mod confirm;
mod dead_letters;
mod events;
mod execution;
mod explain;
mod follow;
mod history;
mod identity;
mod job;
mod keys;
mod notify;
mod pages;
mod password;
mod preview;
mod progress;
mod quiet_hours;
mod rest;
mod scheduler;
mod spec;
mod spec_flags;
mod subscriptions;
mod target;
mod time;
mod told;
mod users;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::Error;
use crate::proto::scheduler_client::SchedulerClient;

use identity::{Bearer, Logins, Token};
use rest::Rest;

pub(super) use account::{Login, Logout, Whoami, login, logout, whoami};
pub(super) use audit::{Audit, audit};
pub(super) use backfills::{Backfill, Backfills, backfill, backfills};
pub(super) use backup::{BackupArgs, backup};
pub(super) use dead_letters::{DeadLetters, dead_letters};
pub(super) use events::{Events, events};
pub(super) use execution::{Executions, executions};
pub(super) use explain::{Explain, explain};
pub(super) use history::{History, history};
pub(super) use job::{Jobs, jobs};
pub(super) use keys::{Keys, keys};
pub(super) use preview::{Preview, preview};
pub(super) use quiet_hours::{QuietHours, quiet_hours};
pub(super) use scheduler::{Scheduler, scheduler};
pub(super) use subscriptions::{Subscriptions, subscriptions};
pub(super) use users::{Users, users};

/// A daemon that accepts a connection answers sooner than this, or not at all.
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);
/// A stream that may be silent for hours notices within twice this that its daemon is gone.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A page of jobs with long bodies is larger than what tonic takes by itself.
const LARGEST_ANSWER: usize = 256 << 20;

/// What every command that asks a daemon takes.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Ask {
    /// The daemon to ask
    #[arg(
        long,
        value_name = "URL",
        env = "CHRONOS_SERVER",
        default_value = "http://127.0.0.1:8080",
        global = true,
        value_parser = address
    )]
    server: String,
    /// The token to show: an API key, or that of a login [default: the login that is kept]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "CHRONOS_TOKEN",
        hide_env_values = true,
        global = true
    )]
    token: Option<Token>,
    /// Where the daemon on this machine keeps its files, and the token for whoever can read them
    #[arg(
        long,
        value_name = "DIR",
        env = "CHRONOS_DATA_DIR",
        hide_env_values = true,
        global = true
    )]
    data_dir: Option<PathBuf>,
    /// Print JSON, with instants in UTC
    #[arg(long, global = true)]
    json: bool,
}

/// What scripts can rely on, for the help of every command that asks a daemon.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0   done, and a run that was followed succeeded
  1   the daemon or this machine failed
  2   the command line or a value is not accepted
  3   the run or the backfill that was followed did not succeed
  4   there is no such job, execution, backfill, policy, subscription, user or key
  5   refused as things stand: the name is taken, a run is under way, the version changed,
      a quota is used up, jobs observe the policy, the backfill is over
  69  no daemon answers
  77  the daemon does not know who you are, or you may not do this";

/// What to do about not being known.
const ADVICE: &str = "run chronos login, or give a token with --token or CHRONOS_TOKEN";

/// `http://HOST:PORT`, or what a person means by `HOST:PORT`.
fn address(text: &str) -> Result<String, String> {
    let address = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let accepted = address.starts_with("http://")
        && address.parse::<tonic::transport::Uri>().is_ok_and(|uri| {
            uri.host().is_some_and(|host| !host.is_empty()) && matches!(uri.path(), "" | "/")
        });
    accepted
        .then_some(address)
        .ok_or_else(|| format!("\"{text}\" is not accepted; use http://HOST:PORT"))
}

/// A connection to a daemon, which speaks gRPC and REST over it.
struct Daemon {
    address: String,
    rest: Rest,
    client: SchedulerClient<InterceptedService<Channel, Bearer>>,
}

impl Ask {
    /// Connects, and does `work` with the connection.
    fn daemon<T, Work>(&self, work: impl FnOnce(Daemon) -> Work) -> Result<T, Error>
    where
        Work: Future<Output = Result<T, Error>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let daemon = self.connect().await?;
            work(daemon).await
        })
    }

    /// Connects, and does `work` by the REST API.
    fn rest<T, Work>(&self, work: impl FnOnce(Rest) -> Work) -> Result<T, Error>
    where
        Work: Future<Output = Result<T, Error>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut rest = self.open().await?;
            rest.bearer = self.bearer(&rest).await?;
            work(rest).await
        })
    }

    /// The same, as nobody.
    fn anonymous<T, Work>(&self, work: impl FnOnce(Rest) -> Work) -> Result<T, Error>
    where
        Work: Future<Output = Result<T, Error>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { work(self.open().await?).await })
    }

    /// The address of the daemon.
    fn server(&self) -> &str {
        self.server.trim_end_matches('/')
    }

    async fn connect(&self) -> Result<Daemon, Error> {
        let mut rest = self.open().await?;
        rest.bearer = self.bearer(&rest).await?;
        let client = SchedulerClient::with_interceptor(rest.channel.clone(), rest.bearer.clone())
            .max_decoding_message_size(LARGEST_ANSWER);
        Ok(Daemon { address: rest.address.clone(), rest, client })
    }

    async fn open(&self) -> Result<Rest, Error> {
        let address = self.server().to_owned();
        let unreachable = |error| unreachable(&address, &error);
        let endpoint = Endpoint::from_shared(address.clone()).map_err(unreachable)?;
        let channel = endpoint
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .connect()
            .await
            .map_err(unreachable)?;
        Ok(Rest { address, channel, bearer: Bearer::default() })
    }

    /// Who asks: whose token is given, who has logged in, or whoever can read the daemon's files.
    async fn bearer(&self, rest: &Rest) -> Result<Bearer, Error> {
        if self.token.is_some() {
            return Ok(Bearer(self.token.clone()));
        }
        let kept = Logins::open()?.token(rest).await?;
        Ok(Bearer(kept.or_else(|| identity::local(self.server(), self.data_dir.as_deref()))))
    }
}

impl Daemon {
    /// What a refusal means to whoever typed the command.
    fn refusal(&self, status: &Status) -> Error {
        let said = status.message().to_owned();
        match status.code() {
            Code::InvalidArgument | Code::OutOfRange => Error::Rejected(said),
            Code::NotFound => Error::NotFound(said),
            Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::ResourceExhausted => Error::Refused(said),
            Code::Unauthenticated => Error::Denied(format!("{said}; {ADVICE}")),
            Code::PermissionDenied => Error::Denied(said),
            Code::DeadlineExceeded | Code::Cancelled => {
                Error::Daemon(format!("{} does not answer in time: {said}", self.address))
            }
            Code::Unimplemented if !said.is_empty() => Error::Daemon(said),
            Code::Unimplemented => Error::Daemon(format!(
                "{} does not know this command; is it a chronos daemon of this version?",
                self.address
            )),
            _ => match std::error::Error::source(status) {
                // Nothing that speaks gRPC said this: the connection broke, or never was one.
                Some(broken) => unreachable(&self.address, broken),
                None => Error::Daemon(format!("the daemon failed: {said}")),
            },
        }
    }
}

/// The innermost cause says most: "Connection refused" rather than "transport error".
fn unreachable(address: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    Error::Unreachable { address: address.into(), cause: innermost.to_string() }
}
