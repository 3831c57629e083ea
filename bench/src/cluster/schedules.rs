//! A million schedules on one node: how late runs begin, and what they cost while none is due.

use std::time::Duration;

use anyhow::Context;
use chronos_core::schedule::Schedule;
use chronos_core::store::Roles;

use super::bed::Bed;
use super::server;
use crate::live;
use crate::report::{Figure, Goal, percentile};
use crate::workload::{at, spec};

const JOBS: usize = 1_000_000;
/// Jobs that are due in each second, all at its beginning.
const DUE: usize = 5_000;
/// When the first of them are.
const FIRST_DUE: u64 = 3_600;
/// Seconds that are left out while the node begins, and those in which starts are measured.
const SECONDS: (u64, u64) = (2, 20);
/// How long the idle database is watched.
const IDLE: Duration = Duration::from_secs(20);

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let every = Duration::from_secs((JOBS / DUE) as u64);
    let specs = (0..DUE).map(|number| {
        // The first slot is an interval later.
        let from = at(FIRST_DUE + (number % (JOBS / DUE)) as u64).before(every);
        Ok(spec(number, Schedule::interval(every, from)?))
    });
    let bed = Bed::of(specs.collect::<anyhow::Result<Vec<_>>>()?, JOBS / DUE).await?;
    let idle = idle(&bed).await?;
    let first = bed.store.fire_due(at(0), 0, None).await?.next.context("no job is due")?;
    let from = first.before(Duration::from_millis(500));
    let before = server::cpu_seconds(&bed.cluster)?;
    let lags = live::lags(bed.store.clone(), from, SECONDS, live::nothing).await?;
    let busy = (server::cpu_seconds(&bed.cluster)? - before) / (SECONDS.0 + SECONDS.1) as f64;
    let (begun, expected) = (lags.len(), (SECONDS.1 - 1) as f64 * DUE as f64);
    let share = |share| percentile(&lags, share);
    let name = |what: &str| format!("a million schedules: {what}");
    Ok(vec![
        Figure::new(name("idle, PostgreSQL's CPU"), idle, "%", Goal::AtMost(1.0)),
        Figure::new(name("runs begun"), begun as f64, "runs", Goal::AtLeast(expected)),
        Figure::new(name("start lag p50"), share(0.5), "ms", Goal::None),
        Figure::new(name("start lag p99"), share(0.99), "ms", Goal::AtMost(100.0)),
        Figure::new(name("start lag max"), share(1.0), "ms", Goal::None),
        Figure::new(name("busy, PostgreSQL's CPU"), busy * 100.0, "%", Goal::None),
    ])
}

/// PostgreSQL's CPU in percent of a core while nothing is due.
async fn idle(bed: &Bed) -> anyhow::Result<f64> {
    let engine = live::idle(bed.store.clone(), at(0), Roles::default());
    // It begins with a look at everything.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = server::cpu_seconds(&bed.cluster)?;
    tokio::time::sleep(IDLE).await;
    let spent = server::cpu_seconds(&bed.cluster)? - before;
    engine.stop(Duration::from_secs(1)).await;
    Ok(spent / IDLE.as_secs_f64() * 100.0)
}
