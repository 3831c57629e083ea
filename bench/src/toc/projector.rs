//! How quickly the journal becomes segments, and how late runs begin while it does.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use chronos_core::Store;
use chronos_engine::CancellationToken;
use chronos_history::Projector;
use chronos_store::Retention;

use crate::disk::{directory, open, open_unsynced};
use crate::live;
use crate::process::{begin, cpu_seconds};
use crate::report::{Figure, Goal};
use crate::workload::{at, create, every_second, run};

/// Jobs that fire in every second, and for how many; all of it is in one hour.
const JOBS: usize = 1_000;
const SECONDS: u64 = 400;
const BULK: usize = 1_000;
/// Times that the journal is read; the best counts, because noise only ever adds.
const TRIES: usize = 3;
/// Rounds with and without a projector by turns, and how long each is, after a second that is left out.
const ROUNDS: usize = 5;
const ROUND: u64 = 10;
/// How often the daemon looks at the journal.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let (wall, cpu) = read_journal().await?;
    let (alone, beside) = serve().await?;
    Ok(vec![
        Figure::new("projector: executions into segments", wall, "runs/s", Goal::None),
        Figure::new("projector: on one core", cpu, "runs/s", Goal::AtLeast(50_000.0)),
        Figure::new("start lag p99, without a projector", alone, "ms", Goal::None),
        Figure::new("start lag p99, beside a projector", beside, "ms", Goal::None),
        Figure::new("beside ÷ without: start lag p99", beside / alone, "×", Goal::AtMost(1.1)),
    ])
}

/// Executions that become part of segments in a second, and in a second of one core.
async fn read_journal() -> anyhow::Result<(f64, f64)> {
    let place = directory()?;
    let store = open_unsynced(place.path(), Retention::default())?;
    create(&*store, every_second(JOBS)?).await?;
    run(&store, JOBS, 1..SECONDS + 1, BULK).await?;
    let runs = JOBS as f64 * SECONDS as f64;
    let (mut wall, mut cpu) = (0.0_f64, 0.0_f64);
    for number in 1..=TRIES {
        let projector = Projector::anew(store.clone(), &place.path().join("history")).await?;
        let (begun, before) = (begin(), cpu_seconds()?);
        let read = projector.catch_up(|| false).await?;
        let (took, used) = (begun.elapsed().as_secs_f64(), cpu_seconds()? - before);
        ensure!(read.read as f64 > runs, "only {} entries were read", read.read);
        eprintln!("{number} of {TRIES}: {took:.2} s, {used:.2} CPU s for {runs} executions");
        wall = wall.max(runs / took);
        cpu = cpu.max(runs / used);
    }
    Ok((wall, cpu))
}

/// How late runs begin at the 99th percentile, in milliseconds: without a projector, and beside one.
async fn serve() -> anyhow::Result<(f64, f64)> {
    let place = directory()?;
    let store = open(place.path(), Retention::default())?;
    create(&*store, every_second(JOBS)?).await?;
    let projector = Projector::anew(store.clone(), &place.path().join("history")).await?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let mut second = 1;
    for _ in 0..ROUNDS {
        alone.push(p99(&store, &mut second).await?);
        let stop = CancellationToken::new();
        let following = tokio::spawn(follow(projector.clone(), stop.clone()));
        beside.push(p99(&store, &mut second).await?);
        stop.cancel();
        following.await??;
    }
    eprintln!("without {alone:.2?} ms, beside {beside:.2?} ms");
    // The best of each: what else this machine does only ever adds.
    let best = |lags: Vec<f64>| lags.into_iter().min_by(f64::total_cmp).context("no rounds");
    Ok((best(alone)?, best(beside)?))
}

async fn p99(store: &Arc<dyn Store>, second: &mut u64) -> anyhow::Result<f64> {
    let from = at(*second);
    *second += ROUND + 10;
    let lags = live::lags(store.clone(), from, (2, ROUND), live::nothing).await?;
    ensure!(!lags.is_empty(), "nothing ran");
    Ok(lags[lags.len() * 99 / 100])
}

/// Follows the journal as the daemon does.
async fn follow(projector: Projector, stop: CancellationToken) -> anyhow::Result<()> {
    while !stop.is_cancelled() {
        projector.catch_up(|| stop.is_cancelled()).await?;
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(())
}
