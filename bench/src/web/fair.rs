//! Whether endpoints of one owner that never answer make another owner's runs late.

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
/// Runs of the other owner in every second.
const PROMPT: usize = 100;
/// Seconds of each measurement.
const SECONDS: u64 = 10;
/// Measurements of either kind, in turn: whatever else the machine does in a second makes all of that
/// second's runs late, and must not decide.
const ROUNDS: usize = 7;

pub(super) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let (prompt, hanging) = (Endpoint::prompt()?, Endpoint::hanging()?);
    let (mut alone, mut beside, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let one = percentile(&lags(&prompt, None).await?, 0.99);
        let other = percentile(&lags(&prompt, Some(&hanging)).await?, 0.99);
        alone.push(one);
        beside.push(other);
        ratios.push(other / one);
    }
    let [alone, beside, ratio] = [alone, beside, ratios].map(median);
    Ok(vec![
        Figure::new("one owner alone: start lag p99", alone, "ms", Goal::None),
        Figure::new("beside 1,000 that hang: start lag p99", beside, "ms", Goal::None),
        Figure::new("beside those ÷ alone", ratio, "×", Goal::AtMost(1.2)),
    ])
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    percentile(&figures, 0.5)
}

/// How late runs of one owner begin, beside those of another that hang.
async fn lags(prompt: &Endpoint, hanging: Option<&Endpoint>) -> anyhow::Result<Vec<f64>> {
    let directory = disk::directory()?;
    let store = disk::open(directory.path(), disk::retention())?;
    let first = at(0).after(Duration::from_secs(10));
    let mut specs = Vec::new();
    for number in 0..PROMPT {
        let schedule = Schedule::interval(Duration::from_secs(1), at(0))?;
        specs.push(JobSpec { owner: "prompt".into(), ..calling(number, prompt, schedule)? });
    }
    if let Some(hanging) = hanging {
        for number in 0..HANGING {
            let job = calling(PROMPT + number, hanging, once(first))?;
            specs.push(JobSpec { owner: "hanging".into(), ..job });
        }
    }
    create(&*store, specs).await?;
    // The first seconds, in which all that hang begin, are not counted.
    let from = first.before(Duration::from_millis(500));
    let lags = live::lags(store, from, (3, SECONDS), caller).await?;
    let least = PROMPT * usize::try_from(SECONDS - 1)?;
    ensure!(lags.len() >= least, "{} of {least} runs began", lags.len());
    Ok(lags)
}
