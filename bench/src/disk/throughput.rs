//! Durable throughput: no-op runs a second, against fjall alone with the same batches in the same run.

use std::sync::Arc;

use chronos_core::Store;
use chronos_store::EmbeddedStore;

use super::seam::Recorder;
use super::{bare, directory, open, retention};
use crate::live;
use crate::process::{begin, cpu_seconds};
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, create, every_second, run};

/// Jobs that fire in every second.
pub(super) const JOBS: usize = 10_000;
/// Seconds of theirs, which pass as quickly as the runs are done.
pub(super) const SECONDS: u64 = 20;
/// Callers at once: one who fires and one who ends.
const CALLERS: usize = 2;
/// Times that everything is measured; the best counts, because noise only ever adds.
const TRIES: usize = 3;

/// What `TRIES` gave at best.
#[derive(Default)]
struct Best {
    bare: f64,
    verbs: f64,
    engine: f64,
}

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let runs = JOBS as f64 * SECONDS as f64;
    let mut best = Best::default();
    let (mut batches, mut cpu) = (0, f64::INFINITY);
    for number in 1..=TRIES {
        let (before, recorded) = record().await?;
        batches = recorded.len();
        let replayed = tokio::task::spawn_blocking(move || bare::replay(before, recorded, CALLERS));
        let bare = runs / replayed.await??;
        let spent = by_verbs().await?;
        let (verbs, engine) = (runs / spent.wall, runs / by_engine().await?);
        eprintln!(
            "{number} of {TRIES}: bare {bare:.0}, verbs {verbs:.0}, engine {engine:.0} runs/s"
        );
        cpu = cpu.min(spent.cpu / runs * 1e6);
        best.bare = best.bare.max(bare);
        best.verbs = best.verbs.max(verbs);
        best.engine = best.engine.max(engine);
    }
    let Best { bare, verbs, engine } = best;
    let size = runs / batches as f64 * 2.0;
    Ok(vec![
        Figure::new("on disk: runs in a batch", size, "runs", Goal::None),
        Figure::new("on disk: bare fjall, same batches", bare, "runs/s", Goal::None),
        Figure::new("on disk: fire and finish", verbs, "runs/s", Goal::AtLeast(37_000.0)),
        Figure::new("on disk: fire and finish ÷ bare", verbs / bare, "×", Goal::AtLeast(0.5)),
        Figure::new("on disk: CPU to fire and finish", cpu, "µs", Goal::None),
        Figure::new("on disk: through an engine", engine, "runs/s", Goal::AtLeast(37_000.0)),
        Figure::new("on disk: through an engine ÷ bare", engine / bare, "×", Goal::AtLeast(0.5)),
    ])
}

/// The batches that create the jobs, and those of their runs.
async fn record() -> anyhow::Result<(Vec<super::seam::Changes>, Vec<super::seam::Changes>)> {
    let recorder = Recorder::default();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(recorder.clone(), retention())?);
    create(&*store, every_second(JOBS)?).await?;
    let created = recorder.take();
    run(&store, JOBS, 1..SECONDS + 1, BATCH).await?;
    Ok((created, recorder.take()))
}

/// What something took, in seconds.
pub(super) struct Spent {
    pub(super) wall: f64,
    pub(super) cpu: f64,
}

async fn by_verbs() -> anyhow::Result<Spent> {
    let directory = directory()?;
    let store = open(directory.path(), retention())?;
    create(&*store, every_second(JOBS)?).await?;
    spend(&store, 1..SECONDS + 1).await
}

/// What the runs of these seconds take.
pub(super) async fn spend(
    store: &Arc<dyn Store>,
    seconds: std::ops::Range<u64>,
) -> anyhow::Result<Spent> {
    let (begun, cpu) = (begin(), cpu_seconds()?);
    run(store, JOBS, seconds, BATCH).await?;
    Ok(Spent { wall: begun.elapsed().as_secs_f64(), cpu: cpu_seconds()? - cpu })
}

/// Seconds that an engine takes.
async fn by_engine() -> anyhow::Result<f64> {
    let directory = directory()?;
    let store = open(directory.path(), retention())?;
    create(&*store, every_second(JOBS)?).await?;
    live::herd(store, JOBS, SECONDS).await
}
