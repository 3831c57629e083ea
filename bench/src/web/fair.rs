//! Whether one owner's runs, that never end or are very many, make another owner's late.

use std::time::Duration;

use anyhow::ensure;
use chronos_core::JobSpec;
use chronos_core::schedule::Schedule;

use super::target::Endpoint;
use super::{caller, calling, once};
use crate::disk;
use crate::live;
use crate::report::{Figure, Goal, percentile};
use crate::workload::{at, create};

/// Runs that hang.
const HANGING: usize = 1_000;
/// Runs that come due at one instant and hang.
const CROWD: usize = 100_000;
/// Runs of the other owner in every second.
const PROMPT: usize = 60;
/// Seconds of each measurement, and those before it that are not counted.
const SECONDS: u64 = 10;
const LEFT_OUT: u64 = 3;
/// Measurements of either kind, in turn: whatever else the machine does in a second makes all of that
/// second's runs late, and must not decide.
const ROUNDS: usize = 7;
/// Measurements beside the crowd.
const CROWDS: usize = 3;

pub(super) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let (prompt, hanging) = (Endpoint::prompt()?, Endpoint::hanging()?);
    let (mut alone, mut beside, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let one = percentile(&lags(&prompt, None).await?, 0.99);
        let hanging = Others { count: HANGING, endpoint: &hanging, ahead: Duration::from_secs(2) };
        let other = percentile(&lags(&prompt, Some(hanging)).await?, 0.99);
        alone.push(one);
        beside.push(other);
        ratios.push(other / one);
    }
    let [alone, beside, ratio] = [alone, beside, ratios].map(median);
    let mut crowded = Vec::new();
    for _ in 0..CROWDS {
        // They are all due a moment before the first runs that count.
        let crowd = Others { count: CROWD, endpoint: &hanging, ahead: Duration::from_millis(1) };
        crowded.push(percentile(&lags(&prompt, Some(crowd)).await?, 0.99));
    }
    Ok(vec![
        Figure::new("one owner alone: start lag p99", alone, "ms", Goal::None),
        Figure::new("beside 1,000 that hang: start lag p99", beside, "ms", Goal::None),
        Figure::new("beside those ÷ alone", ratio, "×", Goal::AtMost(1.2)),
        Figure::new(
            "beside 100,000 due at once that hang: start lag p99",
            median(crowded),
            "ms",
            Goal::AtMost(100.0),
        ),
    ])
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    percentile(&figures, 0.5)
}

/// Runs of another owner that come due together.
struct Others<'a> {
    count: usize,
    endpoint: &'a Endpoint,
    /// How long before the first runs that count.
    ahead: Duration,
}

/// How late runs of one owner begin, beside those of another that hang.
async fn lags(prompt: &Endpoint, others: Option<Others<'_>>) -> anyhow::Result<Vec<f64>> {
    let directory = disk::directory()?;
    let store = disk::open(directory.path(), disk::retention())?;
    // In the first seconds the engine begins.
    let (from, counted) = (at(10), at(10 + LEFT_OUT));
    let mut specs = Vec::new();
    for number in 0..PROMPT {
        let schedule = Schedule::interval(Duration::from_secs(1), at(0))?;
        specs.push(JobSpec { owner: "prompt".into(), ..calling(number, prompt, schedule)? });
    }
    if let Some(Others { count, endpoint, ahead }) = others {
        for number in 0..count {
            let job = calling(PROMPT + number, endpoint, once(counted.before(ahead)))?;
            specs.push(JobSpec { owner: "hanging".into(), ..job });
        }
    }
    create(&*store, specs).await?;
    let lags = live::lags(store, from, (LEFT_OUT, SECONDS), caller).await?;
    let least = PROMPT * usize::try_from(SECONDS - 1)?;
    ensure!(lags.len() >= least, "{} of {least} runs began", lags.len());
    Ok(lags)
}
