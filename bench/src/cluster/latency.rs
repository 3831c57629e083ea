//! From asking for a run to its first line, on an idle system, beside a peer on the same PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use chronos_core::schedule::Schedule;
use chronos_core::{JobId, JobSpec, Store, Timestamp};
use chronos_engine::{Clock, Handler, IntoHandler, SystemClock};
use tokio::sync::mpsc;

use super::DATABASE;
use super::bed::{Bed, node};
use super::rival::Kit;
use crate::live;
use crate::process::begin;
use crate::report::{Figure, Goal, percentile};
use crate::workload::spec;

/// Jobs that are asked for in turns, so that the last run of each is long over.
const JOBS: usize = 50;
const SAMPLES: usize = 500;
/// Runs that are left out while caches fill.
const WARM_UP: usize = 50;
/// Between two runs, so that the system is idle before each.
const PAUSE: Duration = Duration::from_millis(60);

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let npm = Kit::of_npm()?;
    let never = Schedule::one_shot(Timestamp::from_secs(221_845_392_000));
    let specs: Vec<JobSpec> = (0..JOBS).map(|number| spec(number, never.clone())).collect();
    let jobs: Vec<JobId> = specs.iter().map(|spec| spec.id).collect();
    let bed = Bed::of(specs, 1).await?;
    let other = node(&bed.cluster).await?;
    let (handler, mut starts) = noting();
    let engine = live::serve(bed.store.clone(), Arc::new(SystemClock::new()), handler);
    let own = lags(&*bed.store, &jobs, &mut starts).await?;
    let from_other = lags(&*other, &jobs, &mut starts).await?;
    engine.stop(Duration::from_secs(1)).await;
    let theirs = npm.map(|npm| graphile(&bed, &npm)).transpose()?;
    let mut figures = Vec::new();
    for (share, name) in [(0.5, "p50"), (0.99, "p99")] {
        let theirs = theirs.as_ref().map(|lags| percentile(lags, share));
        let goal = theirs.map_or(Goal::None, Goal::AtMost);
        for (who, lags) in [("its own node", &own), ("another node", &from_other)] {
            let name = format!("asked of {who}: start after {name}");
            figures.push(Figure::new(name, percentile(lags, share), "ms", goal));
        }
        if let Some(theirs) = theirs {
            let name = format!("graphile-worker: start after {name}");
            figures.push(Figure::new(name, theirs, "ms", Goal::None));
        }
    }
    Ok(figures)
}

/// A handler that does nothing but tell when it was called.
fn noting() -> (Arc<dyn Handler>, mpsc::UnboundedReceiver<Instant>) {
    let (sender, starts) = mpsc::unbounded_channel();
    let handler = move || {
        // Nobody listens once the last run was noted.
        let _ = sender.send(begin());
        async {}
    };
    (handler.into_handler(), starts)
}

/// How long after it was asked for each run began, in milliseconds, sorted.
async fn lags(
    store: &dyn Store,
    jobs: &[JobId],
    starts: &mut mpsc::UnboundedReceiver<Instant>,
) -> anyhow::Result<Vec<f64>> {
    let clock = SystemClock::new();
    let mut lags = Vec::new();
    for sample in 0..WARM_UP + SAMPLES {
        tokio::time::sleep(PAUSE).await;
        let asked = begin();
        store.run_now(jobs[sample % jobs.len()], None, clock.now()).await?;
        let begun = tokio::time::timeout(Duration::from_secs(10), starts.recv()).await;
        let begun = begun.context("a run did not begin within 10 s")?.context("no engine")?;
        if sample >= WARM_UP {
            lags.push(begun.duration_since(asked).as_secs_f64() * 1_000.0);
        }
    }
    lags.sort_by(f64::total_cmp);
    Ok(lags)
}

/// The same of graphile-worker, in a database of its own.
fn graphile(bed: &Bed, npm: &Kit) -> anyhow::Result<Vec<f64>> {
    bed.cluster.psql(DATABASE, "CREATE DATABASE graphile");
    let (url, samples) = (bed.cluster.url("graphile"), SAMPLES.to_string());
    let mut lags = npm.run(&["graphile.mjs", "latency", &url, &samples])?;
    lags.sort_by(f64::total_cmp);
    Ok(lags)
}
