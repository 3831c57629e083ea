//! Pruning: details go, rolled-up figures stay, and what is late never makes them less.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::audit::EndingKind;
use chronos_history::{Archive, Entry, Figures, KeepLevels, Level, Period, Shelf, prune_levels};
use tempfile::tempdir;

use super::{open, project, roll_up};
use crate::world::{at, ended, job};

const DAY: Duration = Duration::from_hours(24);

/// A run every three hours for four months, around a year's end.
fn journal() -> Vec<Entry> {
    let first = at("2025-11-01T00:30:00Z");
    let runs = 1..=(120 * 8);
    let entry = |sequence: u64| {
        let at = first.after(Duration::from_hours(3) * u32::try_from(sequence - 1).unwrap());
        let ending =
            if sequence.is_multiple_of(7) { EndingKind::Failed } else { EndingKind::Success };
        ended(
            sequence,
            job(u8::try_from(sequence % 3).unwrap()),
            at,
            ending,
            Duration::from_secs(1),
        )
    };
    runs.map(entry).collect()
}

fn nodes(archive: &Archive, level: Level) -> BTreeMap<Period, Figures> {
    let (first, last) = (at("2025-01-01T00:00:00Z"), at("2026-12-31T00:00:00Z"));
    let range = Period::containing(level, first)..=Period::containing(level, last);
    let nodes = archive.nodes(Shelf::Everyone, &range, 10_000).unwrap();
    nodes.into_iter().map(|node| (node.period, node.figures)).collect()
}

async fn prune(
    archive: &Archive,
    keep: KeepLevels,
    now: Timestamp,
    dry: bool,
) -> Vec<(Level, u64)> {
    prune_levels(archive.clone(), keep, now, dry, || false).await.unwrap()
}

#[tokio::test]
async fn hours_go_and_every_longer_period_says_the_same() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let entries = journal();
    project(&archive, &entries);
    let now = at("2026-03-01T00:00:00Z");
    roll_up(&archive, now).await;
    let before: Vec<_> = Level::ALL.map(|level| nodes(&archive, level)).into();
    let keep = KeepLevels { hours: Some(DAY * 30), days: Some(DAY * 60), ..KeepLevels::default() };
    let would = prune(&archive, keep, now, true).await;
    assert_eq!(
        Level::ALL.map(|level| nodes(&archive, level)).as_slice(),
        before,
        "it only counted"
    );
    assert_eq!(prune(&archive, keep, now, false).await, would);
    assert_eq!(prune(&archive, keep, now, false).await, [(Level::Hour, 0), (Level::Day, 0)]);
    let after: Vec<_> = Level::ALL.map(|level| nodes(&archive, level)).into();
    for ((before, after), level) in before.iter().zip(&after).zip(Level::ALL) {
        let gone: Vec<_> = before.keys().filter(|period| !after.contains_key(period)).collect();
        let kept = match level {
            Level::Hour => now.before(DAY * 30),
            // The days of a week go together.
            Level::Day => now.before(DAY * 60),
            Level::Week | Level::Month | Level::Year => Timestamp::EPOCH,
        };
        assert_eq!(gone.is_empty(), level > Level::Day, "{level}");
        assert!(gone.iter().all(|period| period.end() <= kept), "{level}: {gone:?}");
        for (period, figures) in after {
            assert_eq!(before.get(period), Some(figures), "{period}");
        }
    }
    assert_eq!(would[0].1, (before[0].len() - after[0].len()) as u64);
    let oldest = entries[0].at;
    let hour = Period::containing(Level::Hour, oldest);
    assert_eq!(archive.facts(entries[0].job, hour).unwrap(), None);
    assert_eq!(archive.node(Shelf::Owner("bob"), hour).unwrap(), None);

    // What comes for hours that are gone is told no more, and takes nothing from what is told.
    let late = ended(5_000, job(1), oldest, EndingKind::Failed, Duration::from_secs(9));
    project(&archive, &[late]);
    roll_up(&archive, now).await;
    assert_eq!(Level::ALL.map(|level| nodes(&archive, level)).as_slice(), after);
}

#[tokio::test]
async fn what_is_not_rolled_up_for_good_stays_however_old_it_is() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    project(&archive, &journal());
    // The day goes on, as far as anybody rolled it up.
    roll_up(&archive, at("2025-11-01T12:00:00Z")).await;
    let hours = nodes(&archive, Level::Hour);
    assert!(!hours.is_empty());
    let keep = KeepLevels { hours: Some(DAY), ..KeepLevels::default() };
    prune(&archive, keep, at("2026-03-01T00:00:00Z"), false).await;
    assert_eq!(nodes(&archive, Level::Hour), hours);
}

#[test]
fn a_level_is_kept_as_long_as_those_below_it() {
    let days = |days: u32| Some(DAY * days);
    let keep = KeepLevels {
        hours: days(30),
        days: days(10),
        weeks: days(400),
        months: None,
        years: days(9),
    };
    let kept: Vec<_> =
        keep.levels().into_iter().map(|(level, keep)| (level, keep.as_secs() / 86_400)).collect();
    assert_eq!(kept, [(Level::Hour, 30), (Level::Day, 30), (Level::Week, 400)]);
}
