//! What a run costs when ten million are over, against an empty store.

use std::path::Path;

use chronos_store::Retention;

use super::throughput::{JOBS, Spent, spend};
use super::{directory, open, open_unsynced};
use crate::process::begin;
use crate::report::{Figure, Goal};
use crate::workload::{create, every_second, run};

/// Seconds of the past, in each of which all jobs ran.
const PAST: u64 = 1_000;
/// Seconds that are measured: enough runs that tables are merged a few times meanwhile. The best of
/// several shorter ones would be one without a merge, and tell nothing.
const SECONDS: u64 = 128;
/// Runs that go through one step while the past is made: few enough that no job comes round again
/// before its last run is over.
const BULK: usize = 1_024;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let runs = JOBS as f64 * SECONDS as f64;
    let empty = directory()?;
    let store = open(empty.path(), Retention::default())?;
    create(&*store, every_second(JOBS)?).await?;
    drop(store);
    let fresh = spend_from(empty.path(), 1).await?;
    drop(empty);
    let full = directory()?;
    let made = make_past(full.path()).await?;
    let aged = spend_from(full.path(), PAST + 1).await?;
    let each = |spent: f64| spent / runs * 1e6;
    Ok(vec![
        Figure::new("10,000,000 past runs: made in", made, "s", Goal::None),
        Figure::new("a run, nothing past: wall", each(fresh.wall), "µs", Goal::None),
        Figure::new("a run, nothing past: CPU", each(fresh.cpu), "µs", Goal::None),
        Figure::new("a run, 10,000,000 past: wall", each(aged.wall), "µs", Goal::None),
        Figure::new("a run, 10,000,000 past: CPU", each(aged.cpu), "µs", Goal::None),
        Figure::new("past ÷ nothing past: wall", aged.wall / fresh.wall, "×", Goal::AtMost(1.3)),
        Figure::new("past ÷ nothing past: CPU", aged.cpu / fresh.cpu, "×", Goal::AtMost(1.3)),
    ])
}

/// Makes the past by the store's own verbs, without syncs; says in how many seconds.
async fn make_past(path: &Path) -> anyhow::Result<f64> {
    let begun = begin();
    let store = open_unsynced(path, Retention::default())?;
    create(&*store, every_second(JOBS)?).await?;
    for part in 0..10 {
        let (from, to) = (part * PAST / 10, (part + 1) * PAST / 10);
        run(&store, JOBS, from + 1..to + 1, BULK).await?;
        let made = to * JOBS as u64;
        eprintln!("{made} runs made in {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// What the runs of `SECONDS` from the given second on take.
async fn spend_from(path: &Path, from: u64) -> anyhow::Result<Spent> {
    let store = open(path, Retention::default())?;
    let spent = spend(&store, from..from + SECONDS).await?;
    let past = (from - 1) * JOBS as u64;
    eprintln!("after {past} runs: {:.2} s, {:.2} CPU s", spent.wall, spent.cpu);
    Ok(spent)
}
