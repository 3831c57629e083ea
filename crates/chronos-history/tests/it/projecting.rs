//! The journal of real stores becomes the archive, whatever happens on the way.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{CancelCause, Failure, Report};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::retry;
use chronos_core::store::{Finish, Terms};
use chronos_core::{Http, JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_history::{Archive, Endings, Extractive, Level, Period, Projector, RollupJob, Shelf};
use chronos_pgtest::Cluster;
use chronos_store::{EmbeddedStore, PostgresConfig, PostgresStore, Retention};
use tempfile::tempdir;

use crate::world::at;

/// The instant this many seconds after the beginning.
fn after(seconds: u64) -> Timestamp {
    at("2026-11-15T02:00:00Z").after(Duration::from_secs(seconds))
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory(Retention::default()).unwrap())
}

pub(crate) async fn postgres() -> Arc<dyn Store> {
    let cluster = Cluster::shared();
    let url = cluster.url("postgres");
    let (schema, poll) = (cluster.fresh_name(), Duration::from_hours(1));
    let config =
        PostgresConfig { schema, connections: 4, listen: false, poll, ..PostgresConfig::new(&url) };
    Arc::new(PostgresStore::open(config).await.unwrap())
}

async fn create(store: &dyn Store, number: u8, owner: &str) -> JobId {
    let id = JobId::new(after(0), [number; 10]);
    let schedule = Schedule::interval(Duration::from_mins(10), after(0)).unwrap();
    let base = Duration::from_secs(30);
    let spec = JobSpec {
        owner: owner.into(),
        retry: retry::Policy { max_retry: 1, base, max_delay: base },
        ..JobSpec::new(id, &format!("job-{number}"), schedule, after(0))
    };
    let spec = spec.with_target(Http::new("https://billing.internal/sync").unwrap());
    store.create_job(spec, after(0)).await.unwrap().spec.id
}

/// Fires and ends whatever is due, each run in a way that follows from its time and its job.
async fn work(store: &dyn Store, second: u64, jobs: &[JobId]) {
    let now = after(second);
    store.fire_due(now, 100, None).await.unwrap();
    let worker = WorkerId::new("w");
    let terms = Terms { now, lease: Duration::from_secs(30) };
    let claims = store.claim(&worker, terms, 100.into()).await.unwrap().claims;
    let mut ends = Vec::new();
    for claim in claims {
        let number = jobs.iter().position(|job| *job == claim.spec.id).unwrap() as u64;
        let ending = match (second / 600 + number) % 4 {
            0 => Ending::Failed(Failure::transient("no connection to db: refused")),
            1 => Ending::TimedOut,
            _ => Ending::Success,
        };
        let report = Report::at(now.after(Duration::from_millis(number * 100)));
        ends.push(Finish { hold: claim.hold, ending, report });
    }
    store.finish(ends, now.after(Duration::from_secs(1))).await.unwrap();
}

/// A history of four hours, in steps; each may be followed by a look at the journal.
async fn history(store: &dyn Store, between: impl AsyncFn(u64)) {
    let mut jobs = Vec::new();
    for number in 0..4 {
        jobs.push(create(store, number, if number < 2 { "ann" } else { "bob" }).await);
    }
    for step in 0..48 {
        let second = step * 300;
        work(store, second, &jobs).await;
        match step {
            10 => {
                let pause = Change::Pause { note: None, resume_at: None };
                store.amend_job(jobs[0], pause, None, after(second)).await.unwrap();
            }
            20 => {
                drop(store.amend_job(jobs[0], Change::Resume, None, after(second)).await.unwrap());
            }
            25 => {
                let run = store.run_now(jobs[1], None, after(second)).await.unwrap();
                store.cancel(run.id, CancelCause::User, after(second)).await.unwrap();
            }
            _ => {}
        }
        between(step).await;
    }
}

async fn roll_up(archive: &Archive) {
    let age = RollupJob::DAY_MIN_AGE;
    let job = RollupJob::new(archive.clone(), Arc::new(Extractive), Level::Day, age);
    job.run(at("2027-02-01T00:00:00Z"), || false).await.unwrap();
}

/// What the raw executions of the store say, by how they ended.
async fn counted(store: &dyn Store) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for job in store.jobs(None, 100).await.unwrap() {
        for execution in store.executions(job.spec.id, None, 10_000).await.unwrap() {
            if !execution.is_live() && execution.status() != "SKIPPED" {
                *counts.entry(execution.status()).or_default() += 1;
            }
        }
    }
    counts
}

async fn the_archive_tells_what_the_store_has(store: Arc<dyn Store>) {
    let directory = tempdir().unwrap();
    let path = directory.path().join("history");
    let projector = Projector::open(store.clone(), &path).await.unwrap();
    history(store.as_ref(), async |step: u64| {
        if step.is_multiple_of(3) {
            projector.tick().await.unwrap();
        }
        if step.is_multiple_of(7) {
            roll_up(projector.archive()).await;
        }
    })
    .await;
    assert!(!projector.catch_up(|| false).await.unwrap().more);
    roll_up(projector.archive()).await;
    let archive = projector.archive();

    let month: Period = "toc:month:2026-11".parse().unwrap();
    let node = archive.node(Shelf::Everyone, month).unwrap().unwrap();
    let counts = counted(store.as_ref()).await;
    let count = |status: &str| counts.get(status).copied().unwrap_or(0);
    let endings = Endings {
        success: count("SUCCESS"),
        failed: count("FAILED"),
        timed_out: count("TIMED_OUT"),
        stuck: count("STUCK"),
        cancelled: count("CANCELLED"),
    };
    assert_eq!(node.figures.endings, endings);
    assert!(endings.success > 20 && endings.failed > 5 && endings.cancelled == 1, "{endings:?}");
    assert!(node.figures.retries > 0 && node.figures.skips.contains_key("paused"), "{node:?}");
    let owned = |owner| archive.node(Shelf::Owner(owner), month).unwrap().unwrap();
    let total = owned("ann").figures.endings.total() + owned("bob").figures.endings.total();
    assert_eq!(total, endings.total());
    let notes = &node.summary.bullets;
    assert!(
        notes.iter().any(|note| note.text.contains("no connection to db: refused")),
        "{notes:?}"
    );

    // Deleted, it is made again with the same content.
    let incremental = archive.fingerprint().unwrap();
    drop(projector);
    std::fs::remove_dir_all(&path).unwrap();
    let projector = Projector::open(store, &path).await.unwrap();
    projector.catch_up(|| false).await.unwrap();
    roll_up(projector.archive()).await;
    assert_eq!(projector.archive().fingerprint().unwrap(), incremental);
}

#[tokio::test]
async fn the_archive_tells_what_the_embedded_store_has() {
    the_archive_tells_what_the_store_has(memory()).await;
}

#[tokio::test]
async fn the_archive_tells_what_postgres_has() {
    the_archive_tells_what_the_store_has(postgres().await).await;
}

#[tokio::test]
async fn the_archive_of_another_journal_is_made_again() {
    let directory = tempdir().unwrap();
    let (long, short) = (memory(), memory());
    history(long.as_ref(), async |_| {}).await;
    create(short.as_ref(), 7, "eve").await;
    let read = async |store: &Arc<dyn Store>| {
        let projector = Projector::open(store.clone(), directory.path()).await.unwrap();
        let read = projector.catch_up(|| false).await.unwrap().read;
        (read, projector.archive().cursor().unwrap().sequence)
    };
    let (all, end) = read(&long).await;
    assert_eq!((all, read(&long).await), (end, (0, end)), "nothing is read twice");
    // As after a backup that was put back: the journal ends before the cursor.
    assert_eq!(read(&short).await, (1, 1));
    // Another journal is longer, and has something else at the cursor.
    assert_eq!(read(&long).await, (end, end));
}

#[tokio::test]
async fn what_the_store_no_longer_keeps_is_counted_by_how_it_ended() {
    let retention = Retention { executions_per_job: Some(NonZeroU32::MIN), ..Retention::default() };
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(retention).unwrap());
    history(store.as_ref(), async |_| {}).await;
    let directory = tempdir().unwrap();
    let projector = Projector::open(store.clone(), directory.path()).await.unwrap();
    projector.catch_up(|| false).await.unwrap();
    roll_up(projector.archive()).await;
    let day = projector.archive().node(Shelf::Everyone, "toc:day:2026-11-15".parse().unwrap());
    let endings = day.unwrap().unwrap().figures.endings;
    let mut tallied = 0;
    for job in store.jobs(None, 10).await.unwrap() {
        tallied += job.standing.tally.succeeded;
    }
    assert_eq!(endings.success, tallied);
    assert!(endings.failed > 5);
}
