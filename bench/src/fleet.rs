//! The scheduler with many jobs: memory, registration, idleness, and a herd every second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chronos_engine::{NewJob, SchedulerConfig, SchedulerService};

use crate::process::{cpu_seconds, resident_bytes};
use crate::report::{Figure, Goal, percentile};

/// Seconds over which idleness is measured.
const IDLE: Duration = Duration::from_secs(10);

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) async fn registration() -> anyhow::Result<Vec<Figure>> {
    const JOBS: u32 = 100_000;
    let scheduler = SchedulerService::new(SchedulerConfig::default())?;
    scheduler.start().await?;
    let (memory, begun) = (resident_bytes()?, Instant::now());
    for number in 0..JOBS {
        let job = NewJob::named(format!("nightly-report-{number:06}")).cron("0 3 1 1 *");
        scheduler.register(job, || async {}).await?;
    }
    let rate = f64::from(JOBS) / begun.elapsed().as_secs_f64();
    let each = (resident_bytes()? - memory) / f64::from(JOBS);
    let cpu = cpu_seconds()?;
    tokio::time::sleep(IDLE).await;
    let idle = (cpu_seconds()? - cpu) / IDLE.as_secs_f64() * 100.0;
    scheduler.shutdown().await?;
    Ok(vec![
        Figure::new("100,000 jobs: registration", rate, "jobs/s", Goal::AtLeast(100_000.0)),
        Figure::new("100,000 jobs: memory a job", each, "bytes", Goal::AtMost(1_024.0)),
        Figure::new("100,000 jobs: CPU while none is due", idle, "%", Goal::AtMost(0.5)),
    ])
}

/// Jobs that fire in every second.
pub(crate) const HERD: usize = 10_000;
/// Seconds for which they do.
pub(crate) const SECONDS: u64 = 20;

/// When each run of each job began, as microseconds of the wall clock.
pub(crate) struct Starts {
    runs: Vec<Vec<AtomicU32>>,
    origin: u64,
}

impl Starts {
    pub(crate) fn new() -> Arc<Self> {
        let runs = (0..HERD).map(|_| (0..SECONDS * 2).map(|_| AtomicU32::new(0)).collect());
        Arc::new(Self { runs: runs.collect(), origin: wall_micros() / 1_000_000 * 1_000_000 })
    }

    /// Notes a run for the slot `slot_micros`; the lag is kept in microseconds, plus one.
    pub(crate) fn note(&self, job: usize, slot_micros: u64) {
        let lag = wall_micros().saturating_sub(slot_micros);
        let index = usize::try_from(slot_micros.saturating_sub(self.origin) / 1_000_000);
        let cell = index.ok().and_then(|index| self.runs[job].get(index));
        if let Some(cell) = cell {
            let lag = u32::try_from(lag + 1).unwrap_or(u32::MAX >> 1);
            // The top bit marks a slot that ran twice.
            let before = cell.swap(lag, Ordering::Relaxed);
            if before != 0 {
                cell.fetch_or(1 << 31, Ordering::Relaxed);
            }
        }
    }

    /// Every run that was made, judged or not.
    fn made(&self) -> usize {
        self.runs.iter().flatten().filter(|run| run.load(Ordering::Relaxed) != 0).count()
    }

    /// What became of the whole seconds after the first in which anyone ran.
    fn judge(&self, cpu: f64) -> Round {
        let slots = self.runs[0].len();
        let ran =
            |slot: &usize| self.runs.iter().any(|job| job[*slot].load(Ordering::Relaxed) != 0);
        let first = (0..slots).find(ran).map_or(slots, |first| first + 1);
        let end = (first..slots).rev().find(ran).unwrap_or(first);
        let (mut lags, mut missed, mut doubled) = (Vec::new(), 0, 0);
        // The first second may have been cut off by the start, and the last by the shutdown.
        for slot in first..end {
            for job in &self.runs {
                match job[slot].load(Ordering::Relaxed) {
                    0 => missed += 1,
                    lag => {
                        doubled += usize::from(lag >> 31 == 1);
                        lags.push(f64::from((lag & (u32::MAX >> 1)) - 1) / 1_000.0);
                    }
                }
            }
        }
        lags.sort_by(f64::total_cmp);
        Round { lags, missed, doubled, cpu, cpu_a_run: cpu * 1e9 / self.made() as f64 }
    }
}

/// What became of a herd.
pub(crate) struct Round {
    /// Of the runs that were made, in milliseconds, sorted.
    lags: Vec<f64>,
    missed: usize,
    doubled: usize,
    /// In seconds, for all of it.
    cpu: f64,
    cpu_a_run: f64,
}

impl Round {
    /// A part of all lags. A run that was missed has not begun a second later, and is at least so late.
    fn lag(&self, part: f64) -> f64 {
        let missed = std::iter::repeat_n(1_000.0, self.missed);
        let mut all: Vec<f64> = self.lags.iter().copied().chain(missed).collect();
        all.sort_by(f64::total_cmp);
        percentile(&all, part)
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn wall_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(0)
}

pub(crate) async fn herd() -> anyhow::Result<Vec<Figure>> {
    figures("herd", true, async |starts: &Arc<Starts>| {
        let scheduler = SchedulerService::new(SchedulerConfig::default())?;
        for number in 0..HERD {
            let starts = starts.clone();
            let job = NewJob::named(format!("herd-{number:05}")).cron("* * * * * *");
            let noted = move |context: chronos_engine::JobContext| {
                let slot = u64::try_from(context.scheduled_for().timestamp_micros()).unwrap_or(0);
                starts.note(number, slot);
                async {}
            };
            scheduler.register(job, noted).await?;
        }
        scheduler.start().await?;
        let cpu = cpu_over_the_herd().await?;
        scheduler.shutdown().await?;
        Ok(cpu)
    })
    .await
}

/// CPU seconds that the process takes while a herd runs.
pub(crate) async fn cpu_over_the_herd() -> anyhow::Result<f64> {
    let cpu = cpu_seconds()?;
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    Ok(cpu_seconds()? - cpu)
}

/// The figures of the middle one of some rounds, since one in which the machine was slow says little. What
/// was missed or doubled counts in each.
pub(crate) async fn figures(
    name: &str,
    ours: bool,
    round: impl AsyncFn(&Arc<Starts>) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<Figure>> {
    const ROUNDS: usize = 3;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for number in 1..=ROUNDS {
        let starts = Starts::new();
        let cpu = round(&starts).await?;
        let judged = starts.judge(cpu);
        eprintln!("{name}, {number} of {ROUNDS}: start lag p99 {:.1} ms", judged.lag(0.99));
        rounds.push(judged);
    }
    let missed: usize = rounds.iter().map(|round| round.missed).sum();
    let doubled: usize = rounds.iter().map(|round| round.doubled).sum();
    rounds.sort_by(|one, other| one.lag(0.99).total_cmp(&other.lag(0.99)));
    let middle = &rounds[ROUNDS / 2];
    let goal = |most| if ours { Goal::AtMost(most) } else { Goal::None };
    let figure =
        |what: &str, value, unit, goal| Figure::new(format!("{name}: {what}"), value, unit, goal);
    Ok(vec![
        figure("runs judged", middle.lags.len() as f64, "runs", Goal::None),
        figure("start lag p50", middle.lag(0.5), "ms", Goal::None),
        figure("start lag p99", middle.lag(0.99), "ms", goal(50.0)),
        figure("start lag max", middle.lag(1.0), "ms", Goal::None),
        figure("start lag p99 of what ran", percentile(&middle.lags, 0.99), "ms", Goal::None),
        figure("missed in all rounds", missed as f64, "runs", goal(0.0)),
        figure("doubled in all rounds", doubled as f64, "runs", goal(0.0)),
        figure("CPU for the herd", middle.cpu, "CPU s", Goal::None),
        figure("CPU a run", middle.cpu_a_run, "ns", Goal::None),
    ])
}
