//! A million stored jobs: how long a start takes, what they hold in memory, and how late runs begin.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use chronos_core::schedule::Schedule;

use super::{directory, listing, open, retention};
use crate::live;
use crate::process::{begin, resident_bytes};
use crate::report::{Figure, Goal, percentile, read};
use crate::workload::{at, create, spec};

const JOBS: usize = 1_000_000;
/// Jobs that are due in each second, all at its beginning and none of them seen before.
const DUE: usize = 1_000;
/// When the first of them are.
const FIRST_DUE: u64 = 3_600;
/// Seconds in which starts are measured: of fewer than a hundred, the slowest one alone would decide.
const SECONDS: u64 = 120;

/// Loads the jobs in one process and opens the store in another, which has nothing else in memory.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let directory = directory()?;
    let mut figures = Vec::new();
    for part in ["million-load", "million-run"] {
        let mut child = Command::new(std::env::current_exe()?);
        let output = child.arg(part).arg(directory.path()).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{part} failed");
        figures.extend(read(&String::from_utf8_lossy(&output.stdout))?);
    }
    Ok(figures)
}

pub(crate) async fn load(path: &Path) -> anyhow::Result<Vec<Figure>> {
    let store = open(path, retention())?;
    let begun = begin();
    let every = Duration::from_secs((JOBS / DUE) as u64);
    let mut made = 0;
    while made < JOBS {
        let part = (made..made + JOBS / 10).map(|number| {
            // The first slot is an interval later.
            let from = at(FIRST_DUE + (number % (JOBS / DUE)) as u64).before(every);
            Ok(listing::filed(number, spec(number, Schedule::interval(every, from)?)))
        });
        create(&*store, part.collect::<anyhow::Result<Vec<_>>>()?).await?;
        made += JOBS / 10;
        eprintln!("{made} jobs created in {:.0} s", begun.elapsed().as_secs_f64());
    }
    let rate = JOBS as f64 / begun.elapsed().as_secs_f64();
    Ok(vec![Figure::new("a million jobs: creation", rate, "jobs/s", Goal::None)])
}

pub(crate) async fn run(path: &Path) -> anyhow::Result<Vec<Figure>> {
    let (memory, begun) = (resident_bytes()?, begin());
    let store = open(path, retention())?;
    let start = begun.elapsed().as_secs_f64();
    let each = (resident_bytes()? - memory) / JOBS as f64;
    eprintln!("opened in {start:.2} s, {each:.0} bytes a job");
    let pages = listing::measure(&*store).await?;
    let first = store.fire_due(at(0), 0, None).await?.next.context("no job is due")?;
    let from = first.before(Duration::from_millis(500));
    let lags = live::lags(store, from, (1, SECONDS), live::nothing).await?;
    let (begun, expected) = (lags.len() as u64, (SECONDS - 1) * DUE as u64);
    ensure!(begun >= expected, "{begun} of {expected} runs began");
    let share = |share| percentile(&lags, share);
    let mut figures = vec![
        Figure::new("a million jobs: start-up", start, "s", Goal::AtMost(5.0)),
        Figure::new("a million jobs: memory a job", each, "bytes", Goal::AtMost(400.0)),
        Figure::new("a million jobs: runs begun", lags.len() as f64, "runs", Goal::None),
        Figure::new("a million jobs: start lag p50", share(0.5), "ms", Goal::None),
        Figure::new("a million jobs: start lag p99", share(0.99), "ms", Goal::AtMost(20.0)),
        Figure::new("a million jobs: start lag max", share(1.0), "ms", Goal::None),
    ];
    figures.extend(pages);
    Ok(figures)
}
