//! HTTP in both directions: requests that jobs make, and requests that make jobs.

mod api;
mod daemon;
mod fair;
mod outgoing;
mod streams;
mod target;

use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::job::Target;
use chronos_core::schedule::Schedule;
use chronos_core::{Http, JobSpec, Timestamp};
use chronos_engine::http::{Caller, Limits};
use chronos_engine::{Clock, Handler};

use crate::report::Figure;
use crate::workload::spec;
use target::Endpoint;

pub(crate) use api::measure as api;
pub(crate) use streams::measure as streams;

/// What jobs make of their requests: how fast, and how fairly.
pub(crate) async fn outgoing() -> anyhow::Result<Vec<Figure>> {
    let mut figures = outgoing::measure().await?;
    figures.extend(fair::measure().await?);
    Ok(figures)
}

/// A bare client with a pool of connections.
fn client() -> anyhow::Result<reqwest::Client> {
    // It asks who would encrypt even where nothing is encrypted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().no_proxy().build()?)
}

/// What makes the requests of jobs that go anywhere.
fn caller(clock: Arc<dyn Clock>) -> Arc<dyn Handler> {
    limited_caller(clock, Limits::default())
}

/// The same, as many at once as these limits say.
fn limited_caller(clock: Arc<dyn Clock>, limits: Limits) -> Arc<dyn Handler> {
    Arc::new(Caller::with_limits(clock, Reach::everything(), limits))
}

/// The job of a number, which calls an endpoint.
fn calling(number: usize, endpoint: &Endpoint, schedule: Schedule) -> anyhow::Result<JobSpec> {
    let http = Http::new(&endpoint.url())?.with_timeout(Duration::from_mins(5))?;
    Ok(JobSpec { target: Target::Http(Box::new(http)), ..spec(number, schedule) })
}

fn once(at: Timestamp) -> Schedule {
    Schedule::one_shot(at)
}
