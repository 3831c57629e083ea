//! What it costs to roll up a day with ten years before it, against one with nothing, and to read a month.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use chronos_core::audit::EndingKind;
use chronos_core::execution::Trigger;
use chronos_core::{ExecutionId, JobId, Timestamp};
use chronos_history::{
    Archive, Card, Cursor, Ended, Entry, Event, Extractive, Level, Node, Period, RollupJob, Shelf,
};

use crate::disk::directory;
use crate::process::begin;
use crate::report::{Figure, Goal};
use crate::workload::at;

const DAY: Duration = Duration::from_hours(24);
/// Days of the past, each with some jobs in some of its hours.
const PAST_DAYS: u32 = 3_652;
const PAST_JOBS: u8 = 10;
const PAST_HOURS: [u32; 3] = [2, 9, 17];
/// Jobs of a day that is measured, in all of its hours.
const JOBS: u8 = 200;
/// Days that are measured, one after the other.
const DAYS: u32 = 12;
/// Entries that are filed together.
const PAGE: usize = 1_024;
const READS: usize = 2_000;

/// An archive, and how far its journal goes.
struct Filled {
    archive: Archive,
    sequence: u64,
}

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let (empty, full) = (directory()?, directory()?);
    let mut fresh = Filled::open(empty.path())?;
    let mut aged = Filled::open(full.path())?;
    let begun = begin();
    aged.fill().await?;
    let made = begun.elapsed().as_secs_f64();
    let (mut fresh_days, mut aged_days) = (Vec::new(), Vec::new());
    for day in 0..DAYS {
        let first = at(0).after(DAY * (PAST_DAYS + day));
        fresh_days.push(fresh.roll_up_day(first).await?);
        aged_days.push(aged.roll_up_day(first).await?);
    }
    eprintln!("nothing before {fresh_days:.1?} ms, ten years before {aged_days:.1?} ms");
    let (fresh_day, aged_day) = (median(fresh_days)?, median(aged_days)?);
    let month = read_months(&aged.archive)?;
    Ok(vec![
        Figure::new("ten years of history: made in", made, "s", Goal::None),
        Figure::new("a day rolled up, nothing before", fresh_day, "ms", Goal::None),
        Figure::new("a day rolled up, ten years before", aged_day, "ms", Goal::None),
        Figure::new("ten years ÷ nothing: a day", aged_day / fresh_day, "×", Goal::AtMost(1.2)),
        Figure::new("a month's node, read: p99", month, "ms", Goal::AtMost(5.0)),
    ])
}

fn median(mut of: Vec<f64>) -> anyhow::Result<f64> {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().context("nothing was measured")
}

impl Filled {
    fn open(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { archive: Archive::open(&path.join("history"))?, sequence: 0 })
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        for day in 0..PAST_DAYS {
            let first = at(0).after(DAY * day);
            let hours = PAST_HOURS.map(|hour| first.after(Duration::from_hours(hour.into())));
            self.file(&hours, PAST_JOBS)?;
            if day % 500 == 499 {
                self.roll_up(first.after(DAY)).await?;
                eprintln!("{} days made", day + 1);
            }
        }
        self.roll_up(at(0).after(DAY * PAST_DAYS)).await?;
        Ok(())
    }

    /// Files a run of each job in each of these hours.
    fn file(&mut self, hours: &[Timestamp], jobs: u8) -> anyhow::Result<()> {
        let mut entries = Vec::new();
        let mut cards = Vec::new();
        for number in 0..jobs {
            let job = JobId::new(at(0), [number; 10]);
            let (owner, name) = (format!("owner-{}", number % 4), format!("job-{number}"));
            cards.push((job, Card { owner: owner.into(), name: name.into(), host: None }));
            for hour in hours {
                self.sequence += 1;
                entries.push(entry(self.sequence, job, *hour));
            }
        }
        let last = self.sequence;
        for page in entries.chunks(PAGE) {
            let sequence = page.last().map_or(last, |entry| entry.sequence);
            self.archive.project(page, &cards, Cursor { sequence, anchor: 0 })?;
        }
        Ok(())
    }

    /// Files a day, and says how many milliseconds it takes to roll it up once it is over.
    async fn roll_up_day(&mut self, first: Timestamp) -> anyhow::Result<f64> {
        let hours: Vec<_> = (0..24).map(|hour| first.after(Duration::from_hours(hour))).collect();
        self.file(&hours, JOBS)?;
        let begun = begin();
        let nodes = self.roll_up(first.after(DAY + Duration::from_hours(2))).await?;
        ensure!(nodes > 24, "{nodes} nodes are too few");
        Ok(begun.elapsed().as_secs_f64() * 1_000.0)
    }

    async fn roll_up(&self, now: Timestamp) -> anyhow::Result<u64> {
        let age = RollupJob::DAY_MIN_AGE;
        let job = RollupJob::new(self.archive.clone(), Arc::new(Extractive), Level::Day, age);
        Ok(job.run(now, || false).await?.nodes)
    }
}

fn entry(sequence: u64, job: JobId, at: Timestamp) -> Entry {
    let took = Duration::from_micros(sequence.wrapping_mul(0x9e37_79b9) % 2_000_000);
    let failed = sequence.is_multiple_of(50);
    let ended = Ended {
        id: ExecutionId::of(job, at, &Trigger::Manual { number: sequence }, 1),
        ending: if failed { EndingKind::Failed } else { EndingKind::Success },
        is_retry: false,
        took: Some(took),
        lag: Some(took / 100),
        response: None,
        error: failed.then(|| "connection reset by peer".into()),
    };
    Entry { sequence, job, at, event: Event::Ended(ended) }
}

/// How long it takes to read a month's node with its neighbours and its weeks: the 99th percentile, in milliseconds.
fn read_months(archive: &Archive) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for number in 0..READS {
        let day = DAY * u32::try_from(number * 30 % PAST_DAYS as usize)?;
        let month = Period::containing(Level::Month, at(0).after(day));
        let begun = begin();
        let node = archive.node(Shelf::Everyone, month)?.context("no such month")?;
        archive.neighbours(Shelf::Everyone, month)?;
        let weeks: Result<Vec<Option<Node>>, _> =
            node.children.iter().map(|week| archive.node(Shelf::Everyone, *week)).collect();
        ensure!(weeks?.len() >= 3, "{month} has too few weeks");
        took.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok(took[took.len() * 99 / 100])
}
