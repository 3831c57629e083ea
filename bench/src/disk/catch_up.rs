//! Ten years of backlog: jobs of every second that nobody looked after, caught up by each policy.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::policy::CatchUpPolicy;
use chronos_core::{JobSpec, Store};

use super::{directory, open, retention};
use crate::process::{begin, resident_bytes};
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, at, create, every_second};

const JOBS: usize = 10_000;
const TEN_YEARS: Duration = Duration::from_hours(24 * 3_653);
/// What a catch-up may hold in memory beyond what the jobs themselves do: a few steps, however long the backlog.
const MEMORY: f64 = 64.0 * 1_024.0 * 1_024.0;

/// The policies, by their names.
pub(crate) fn policies() -> anyhow::Result<[(&'static str, CatchUpPolicy); 3]> {
    Ok([
        ("skip", CatchUpPolicy::Skip),
        ("run_once", CatchUpPolicy::RunOnce),
        ("run_all_capped", CatchUpPolicy::run_all_capped(10)?),
    ])
}

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, policy) in policies()? {
        let directory = directory()?;
        let store = open(directory.path(), retention())?;
        figures.extend(catch_up("on disk", name, policy, &store).await?);
    }
    Ok(figures)
}

/// How long it takes until all jobs of a store stand at their next slot to come.
pub(crate) async fn catch_up(
    place: &str,
    name: &str,
    catch_up: CatchUpPolicy,
    store: &Arc<dyn Store>,
) -> anyhow::Result<Vec<Figure>> {
    let specs = every_second(JOBS)?.into_iter().map(|spec| JobSpec { catch_up, ..spec });
    create(&**store, specs).await?;
    let now = at(0).after(TEN_YEARS);
    let (before, mut most, mut planned) = (resident_bytes()?, 0.0_f64, 0);
    let begun = begin();
    loop {
        let fired = store.fire_due(now, BATCH, None).await?;
        planned += fired.planned.len();
        most = most.max(resident_bytes()? - before);
        if fired.next.is_none_or(|next| next > now) {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    anyhow::ensure!(planned == JOBS, "{planned} plans for {JOBS} jobs");
    eprintln!("{place}, {name}: {seconds:.2} s, {:.0} MiB", most / 1_048_576.0);
    let title = format!("ten years of 10,000 jobs, {place}, {name}");
    Ok(vec![
        Figure::new(title.clone(), seconds, "s", Goal::AtMost(5.0)),
        Figure::new(format!("{title}: memory"), most, "bytes", Goal::AtMost(MEMORY)),
    ])
}
