//! Commands that ask a daemon: the way to it, and what its refusals mean here.

mod backup;
mod execution;
mod follow;
mod job;
mod pages;
mod scheduler;
mod spec;
mod spec_flags;
mod target;
mod time;

use std::future::Future;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::Error;
use crate::proto::scheduler_client::SchedulerClient;

pub(super) use backup::{BackupArgs, backup};
pub(super) use execution::{Executions, executions};
pub(super) use job::{Jobs, jobs};
pub(super) use scheduler::{Scheduler, scheduler};

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
  3   the run that was followed did not succeed
  4   there is no such job or execution
  5   refused as things stand: the name is taken, a run is under way, the version changed
  69  no daemon answers";

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

/// A connection to a daemon.
struct Daemon {
    address: String,
    client: SchedulerClient<Channel>,
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

    async fn connect(&self) -> Result<Daemon, Error> {
        let address = self.server.clone();
        let unreachable = |error| unreachable(&self.server, &error);
        let endpoint = Endpoint::from_shared(address.clone()).map_err(unreachable)?;
        let channel = endpoint
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .connect()
            .await
            .map_err(unreachable)?;
        let client = SchedulerClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
        Ok(Daemon { address, client })
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
            | Code::PermissionDenied
            | Code::Unauthenticated => Error::Refused(said),
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
