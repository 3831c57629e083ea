//! Random histories of every store: read bit by bit, replayed or made again, the archive is the same, and its figures
//! are those of the raw executions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{CancelCause, Failure, Report};
use chronos_core::plan::{Change, Ending};
use chronos_core::store::{Finish, Terms};
use chronos_core::{JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_history::{Archive, Endings, Extractive, Figures, Level, Period, Projector, RollupJob};
use chronos_store::{Engine, Retention, StoreUrl, Tuning};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tempfile::tempdir;

use crate::projecting::{memory, postgres};
use crate::world::at;

/// What happens next: after some minutes, to one of the jobs; and whether it is read and rolled up then.
#[derive(Clone, Debug)]
struct Happening {
    minutes: u64,
    job: usize,
    what: What,
    reads: bool,
    rolls_up: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// What is due runs, and ends in different ways.
    Work,
    /// It runs, and its worker is lost.
    Lose,
    Pause,
    Resume,
    RunAndCancel,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let what = prop_oneof![
        6 => Just(What::Work),
        1 => Just(What::Lose),
        1 => Just(What::Pause),
        1 => Just(What::Resume),
        1 => Just(What::RunAndCancel),
    ];
    // Some of them days apart, over the end of a year with 53 weeks.
    let minutes = prop_oneof![4 => 1_u64..90, 1 => 1_000_u64..8_000];
    let one = (minutes, 0_usize..6, what, any::<bool>(), prop::bool::weighted(0.3));
    let one = one.prop_map(|(minutes, job, what, reads, rolls_up)| Happening {
        minutes,
        job,
        what,
        reads,
        rolls_up,
    });
    proptest::collection::vec(one, 5..40)
}

async fn create(store: &dyn Store, number: u8, now: Timestamp) -> JobId {
    let id = JobId::new(now, [number; 10]);
    let every = Duration::from_mins(20 + u64::from(number) * 10);
    let spec = JobSpec {
        owner: if number.is_multiple_of(2) { "ann" } else { "bob" }.into(),
        ..JobSpec::new(id, &format!("job-{number}"), Schedule::interval(every, now).unwrap(), now)
    };
    store.create_job(spec, now).await.unwrap().spec.id
}

async fn work(store: &dyn Store, now: Timestamp, loses: bool) {
    store.fire_due(now, 1_000, None).await.unwrap();
    let terms = Terms { now, lease: Duration::from_secs(30) };
    let claims = store.claim(&WorkerId::new("w"), terms, 1_000.into()).await.unwrap().claims;
    if loses {
        store.reap(now.after(Duration::from_secs(31)), 1_000).await.unwrap();
        return;
    }
    let end = |(number, claim): (u64, chronos_core::store::Claim)| {
        let ending = match (number + now.as_secs().unsigned_abs() / 60) % 5 {
            0 => Ending::Failed(Failure::permanent("no connection")),
            1 => Ending::TimedOut,
            2 => Ending::Skipped("nothing to do".into()),
            _ => Ending::Success,
        };
        let report = Report::at(now.after(Duration::from_millis(7 * number)));
        Finish { hold: claim.hold, ending, report }
    };
    let ends = (0..).zip(claims).map(end).collect();
    store.finish(ends, now.after(Duration::from_secs(1))).await.unwrap();
}

async fn happen(store: &dyn Store, jobs: &[JobId], one: &Happening, now: Timestamp) {
    let job = jobs[one.job % jobs.len()];
    // What is asked of a job that is gone, or overlaps, is refused; that is no matter here.
    match one.what {
        What::Work => work(store, now, false).await,
        What::Lose => work(store, now, true).await,
        What::Pause => {
            let pause = Change::Pause { note: None, resume_at: None };
            drop(store.amend_job(job, pause, None, now).await);
        }
        What::Resume => drop(store.amend_job(job, Change::Resume, None, now).await),
        What::RunAndCancel => {
            if let Ok(run) = store.run_now(job, None, now).await {
                store.cancel(run.id, CancelCause::User, now).await.unwrap();
            }
        }
    }
}

async fn roll_up(archive: &Archive, now: Timestamp) {
    let age = RollupJob::DAY_MIN_AGE;
    let job = RollupJob::new(archive.clone(), Arc::new(Extractive), Level::Day, age);
    job.run(now, || false).await.unwrap();
    assert!(!job.is_due(now).await.unwrap(), "a run leaves nothing to tell");
}

async fn made_at_once(store: &Arc<dyn Store>, path: &Path, end: Timestamp) -> u64 {
    let projector = Projector::anew(store.clone(), path).await.unwrap();
    projector.catch_up(|| false).await.unwrap();
    roll_up(projector.archive(), end).await;
    projector.archive().fingerprint().unwrap()
}

/// How the raw executions ended.
async fn raw(store: &dyn Store, jobs: &[JobId]) -> Endings {
    let mut endings = Endings::default();
    for job in jobs {
        for run in store.executions(*job, None, 100_000).await.unwrap() {
            match run.status() {
                "SUCCESS" => endings.success += 1,
                "FAILED" => endings.failed += 1,
                "TIMED_OUT" => endings.timed_out += 1,
                "STUCK" => endings.stuck += 1,
                "CANCELLED" => endings.cancelled += 1,
                _ => {}
            }
        }
    }
    endings
}

/// Lets it all happen, and compares every way to tell of it.
async fn compare(store: Arc<dyn Store>, all: &[Happening]) {
    let directory = tempdir().unwrap();
    let [bit_by_bit, again] = ["one", "two"].map(|name| directory.path().join(name));
    let projector = Projector::open(store.clone(), &bit_by_bit).await.unwrap();
    let mut now = at("2020-12-28T00:00:00Z");
    let mut jobs = Vec::new();
    for number in 0..4 {
        jobs.push(create(store.as_ref(), number, now).await);
    }
    for one in all {
        now = now.after(Duration::from_mins(one.minutes));
        happen(store.as_ref(), &jobs, one, now).await;
        if one.reads {
            projector.tick().await.unwrap();
        }
        if one.rolls_up {
            roll_up(projector.archive(), now).await;
        }
    }
    let end = now.after(Duration::from_hours(24 * 800));
    projector.catch_up(|| false).await.unwrap();
    roll_up(projector.archive(), end).await;
    let incremental = projector.archive().fingerprint().unwrap();
    assert_eq!(made_at_once(&store, &again, end).await, incremental);
    let years = Period::containing(Level::Year, at("2019-01-01T00:00:00Z"))
        ..=Period::containing(Level::Year, end);
    let shelf = chronos_history::Shelf::Everyone;
    let mut figures = Figures::default();
    for year in projector.archive().nodes(shelf, &years, 100).unwrap() {
        figures.merge(&year.figures);
    }
    assert_eq!(figures.endings, raw(store.as_ref(), &jobs).await);
    // From nothing, in the place of the one that was there.
    drop(projector);
    assert_eq!(made_at_once(&store, &bit_by_bit, end).await, incremental);
}

/// Some random histories, each on a store of its own.
fn histories(count: usize) -> Vec<Vec<Happening>> {
    let mut dice = TestRunner::default();
    let one = |_| happenings().new_tree(&mut dice).unwrap().current();
    (0..count).map(one).collect()
}

#[tokio::test]
async fn a_job_that_is_gone_is_still_told_to_its_owner_when_all_is_made_again() {
    let (store, directory) = (memory(), tempdir().unwrap());
    let begin = at("2020-12-28T00:00:00Z");
    let job = create(store.as_ref(), 1, begin).await;
    work(store.as_ref(), begin.after(Duration::from_hours(1)), false).await;
    store.delete_job(job, begin.after(Duration::from_hours(2))).await.unwrap();
    let end = begin.after(Duration::from_hours(24 * 800));
    made_at_once(&store, directory.path(), end).await;
    let projector = Projector::open(store, directory.path()).await.unwrap();
    let day = "toc:day:2020-12-28".parse().unwrap();
    for (owner, is_told) in [("bob", true), ("ann", false), ("", false)] {
        let node = projector.archive().node(chronos_history::Shelf::Owner(owner), day).unwrap();
        assert_eq!(node.is_some(), is_told, "{owner:?}");
    }
}

#[tokio::test]
async fn rebuild_equals_replay_equals_incremental_in_memory() {
    for all in histories(24) {
        compare(memory(), &all).await;
    }
}

#[tokio::test]
async fn rebuild_equals_replay_equals_incremental_on_fjall() {
    for all in histories(6) {
        let directory = tempdir().unwrap();
        let url = StoreUrl::Directory(Engine::Fjall, directory.path().join("data"));
        let store = chronos_store::open(&url, Retention::default(), Tuning::default()).unwrap();
        compare(Arc::new(store), &all).await;
    }
}

#[tokio::test]
async fn rebuild_equals_replay_equals_incremental_on_postgres() {
    for all in histories(4) {
        compare(postgres().await, &all).await;
    }
}
