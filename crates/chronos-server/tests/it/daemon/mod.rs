//! A real daemon on a free port, met by generated clients and by bare sockets.

mod creating;
mod dashboard;
mod executing;
mod flooding;
mod guarding;
pub(crate) mod house;
mod listing;
mod probing;
mod process;
mod refusing;
mod starting;
mod stopping;
mod watching;

use std::time::Duration;

use chronos_server::proto;
use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::target::Kind;

/// Nothing that is awaited here takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The answer, within bounds.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it is answered in time")
}

/// A job that calls a handler of the house every hour.
pub(crate) fn hourly(name: &str, handler: &str) -> proto::JobSpec {
    proto::JobSpec {
        name: name.into(),
        schedule: Some(every(3_600)),
        target: Some(handler_target(handler)),
        ..proto::JobSpec::default()
    }
}

fn every(seconds: u64) -> proto::Schedule {
    let interval = proto::Interval { seconds, fixed_delay: false };
    proto::Schedule { cadence: Some(Cadence::Interval(interval)), ..proto::Schedule::default() }
}

fn handler_target(name: &str) -> proto::Target {
    proto::Target { kind: Some(Kind::Handler(proto::Handler { name: name.into() })) }
}
