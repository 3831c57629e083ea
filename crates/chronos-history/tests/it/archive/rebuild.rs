//! What is told at once, bit by bit, twice over or after a crash is the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chronos_core::{JobId, Timestamp};
use chronos_history::{
    Archive, Entry, Extractive, Figures, JobFacts, Level, Period, Phase, RollupJob, Shelf,
};
use proptest::prelude::*;
use tempfile::tempdir;

use super::{cursor, open, project, roll_up};
use crate::world::{at, cards, journals};

/// Everything told of is long over then.
fn end() -> Timestamp {
    at("2026-01-01T00:00:00Z")
}

/// The archive of a journal that was read at once, and rolled up once.
async fn at_once(entries: &[Entry]) -> u64 {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    project(&archive, entries);
    roll_up(&archive, end()).await;
    archive.fingerprint().unwrap()
}

/// The period of this level that tells of an instant: weeks belong to the month of their Thursday.
fn told_in(level: Level, instant: Timestamp) -> Period {
    let mut period = Period::containing(Level::Hour, instant);
    while period.level() < level {
        period = period.parent().unwrap();
    }
    period
}

/// Checks every node against the raw entries.
fn check(archive: &Archive, entries: &[Entry]) {
    for level in Level::ALL {
        let mut told: BTreeMap<Period, BTreeMap<JobId, Vec<&Entry>>> = BTreeMap::new();
        for entry in entries {
            let jobs = told.entry(told_in(level, entry.at)).or_default();
            jobs.entry(entry.job).or_default().push(entry);
        }
        for (period, jobs) in told {
            let node = archive.node(Shelf::Everyone, period).unwrap().unwrap();
            let mut figures = Figures::default();
            for (job, entries) in &jobs {
                let mut facts = JobFacts::default();
                for entry in entries {
                    facts.count(entry);
                }
                figures.merge(&facts.figures);
                let stored = archive.facts(*job, period).unwrap().unwrap();
                assert_eq!(stored.figures, facts.figures, "{period}");
            }
            assert_eq!(node.figures, figures, "{period}");
            assert_eq!(node.jobs, jobs.len() as u64);
            let newest = jobs.values().flatten().map(|entry| entry.sequence).max();
            assert_eq!(Some(node.version), newest, "{period}");
            assert_eq!(node.phase, Phase::Final);
            let all = jobs.values().flatten();
            let child = level.child();
            let mut children: Vec<Period> =
                all.filter_map(|entry| Some(told_in(child?, entry.at))).collect();
            children.sort_unstable();
            children.dedup();
            assert_eq!(node.children, children, "{period}");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rebuild_equals_replay_equals_incremental(
        entries in journals(60), pages in 1_usize..20, nows in proptest::collection::vec(0_u64..1_500, 20),
    ) {
        runtime().block_on(async {
            let directory = tempdir().unwrap();
            let archive = open(directory.path());
            // Bit by bit, rolled up in between at any time, also while periods go on.
            for (page, hours) in entries.chunks(pages).zip(&nows) {
                project(&archive, page);
                let now = at("2020-12-26T00:00:00Z").after(Duration::from_hours(hours * 20));
                roll_up(&archive, now).await;
            }
            project(&archive, &entries);
            roll_up(&archive, end()).await;
            check(&archive, &entries);
            let incremental = archive.fingerprint().unwrap();

            // The whole journal once more, as after a cursor that was lost.
            archive.project(&entries, &cards(), cursor_beyond(&entries)).unwrap();
            roll_up(&archive, end()).await;
            prop_assert_eq!(archive.fingerprint().unwrap(), incremental);

            prop_assert_eq!(at_once(&entries).await, incremental);
            Ok(())
        })?;
    }

    #[test]
    fn a_roll_up_that_is_stopped_anywhere_is_taken_up_again(
        entries in journals(40), stops in proptest::collection::vec(0_usize..6, 1..8),
    ) {
        runtime().block_on(async {
            let directory = tempdir().unwrap();
            let archive = open(directory.path());
            project(&archive, &entries);
            for periods in stops {
                let done = AtomicUsize::new(0);
                let stop = || done.fetch_add(1, Ordering::Relaxed) >= periods;
                let job = RollupJob::new(
                    archive.clone(), Arc::new(Extractive), Level::Day, RollupJob::DAY_MIN_AGE,
                );
                job.run(end(), stop).await.unwrap();
            }
            roll_up(&archive, end()).await;
            prop_assert_eq!(archive.fingerprint().unwrap(), at_once(&entries).await);
            Ok(())
        })?;
    }
}

fn cursor_beyond(entries: &[Entry]) -> chronos_history::Cursor {
    let mut cursor = cursor(entries);
    cursor.sequence += 1;
    cursor
}

#[tokio::test]
async fn a_roll_up_with_nothing_new_writes_nothing() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let entry = crate::world::ended(
        1,
        crate::world::job(1),
        at("2024-02-29T12:00:00Z"),
        chronos_core::audit::EndingKind::Success,
        Duration::from_secs(1),
    );
    project(&archive, &[entry]);
    let rolled = roll_up(&archive, end()).await;
    // Two shelves, five levels.
    assert_eq!(rolled.nodes, 10);
    assert_eq!(roll_up(&archive, end()).await.nodes, 0);
}
