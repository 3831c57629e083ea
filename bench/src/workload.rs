//! What is put through a store: jobs, and their runs by the store's verbs alone.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use chronos_core::execution::Report;
use chronos_core::plan::Ending;
use chronos_core::schedule::{Schedule, Zone};
use chronos_core::store::{Claim, Finish, Store, Taker};
use chronos_core::{JobId, JobSpec, Timestamp, WorkerId};
use chronos_engine::run::EngineConfig;
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;

/// Executions that go through one step, as in an engine.
pub(crate) const BATCH: usize = EngineConfig::BATCH;
/// Callers that create jobs at once.
const CREATORS: usize = 1_024;
/// Batches of runs that may be begun and not yet ended.
const UNDER_WAY: usize = 4;

/// This many seconds after the beginning, which is a midnight.
pub(crate) fn at(second: u64) -> Timestamp {
    Timestamp::EPOCH.after(Duration::from_hours(24 * 20_000) + Duration::from_secs(second))
}

/// The job of a number; ids lie in no order.
pub(crate) fn spec(number: usize, schedule: Schedule) -> JobSpec {
    let mut chance = [0; 10];
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    chance[2..].copy_from_slice(&mixed.to_be_bytes());
    JobSpec::new(JobId::new(at(0), chance), &format!("job-{number:07}"), schedule, at(0))
}

/// Jobs that fire in every second from the first on.
pub(crate) fn every_second(jobs: usize) -> anyhow::Result<Vec<JobSpec>> {
    let schedule = Schedule::cron("* * * * * *", Zone::UTC)?;
    Ok((0..jobs).map(|number| spec(number, schedule.clone())).collect())
}

/// Creates jobs, many at once.
pub(crate) async fn create(
    store: &dyn Store,
    specs: impl IntoIterator<Item = JobSpec>,
) -> anyhow::Result<()> {
    let created = futures::stream::iter(specs).map(|spec| store.create_job(spec, at(0)));
    Ok(created.buffer_unordered(CREATORS).try_for_each(|_| async { Ok(()) }).await?)
}

pub(crate) fn taker(room: usize) -> Taker {
    Taker {
        worker: WorkerId::new("measured"),
        lease: Duration::from_secs(30),
        openings: room.into(),
    }
}

pub(crate) fn ends(claims: &[Claim], now: Timestamp) -> Vec<Finish> {
    let end = |claim: &Claim| Finish {
        hold: claim.hold,
        ending: Ending::Success,
        report: Report::at(now),
    };
    claims.iter().map(end).collect()
}

/// Fires every second's runs and ends them, by two callers that overlap as an engine's planner and
/// finisher do. Fails unless all of `jobs` run in every second.
pub(crate) async fn run(
    store: &Arc<dyn Store>,
    jobs: usize,
    seconds: Range<u64>,
    batch: usize,
) -> anyhow::Result<()> {
    let expected = jobs as u64 * (seconds.end - seconds.start);
    let (sender, begun) = mpsc::channel(UNDER_WAY);
    let finisher = tokio::spawn(finish(store.clone(), begun));
    let taker = taker(batch);
    for second in seconds {
        let now = at(second);
        loop {
            let fired = store.fire_due(now, batch, Some(&taker)).await?;
            if sender.send((now, fired.claims)).await.is_err() {
                break;
            }
            if fired.next.is_none_or(|next| next > now) {
                break;
            }
        }
    }
    drop(sender);
    let ended = finisher.await??;
    ensure!(ended == expected, "{ended} of {expected} runs ended");
    Ok(())
}

async fn finish(
    store: Arc<dyn Store>,
    mut begun: mpsc::Receiver<(Timestamp, Vec<Claim>)>,
) -> anyhow::Result<u64> {
    let mut ended = 0;
    while let Some((now, claims)) = begun.recv().await {
        for answer in store.finish(ends(&claims, now), now).await? {
            answer?;
            ended += 1;
        }
    }
    Ok(ended)
}
