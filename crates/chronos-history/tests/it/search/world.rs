//! Stores in which things happened, and what is found of it.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{Failure, Report, Response};
use chronos_core::message::Template;
use chronos_core::plan::Ending;
use chronos_core::schedule::Zone;
use chronos_core::store::{Finish, Terms};
use chronos_core::{Http, JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_history::search::{Found, Hit, Index, Indexer, Request};
use chronos_history::{Archive, Extractive, Level, Projector, RollupJob, Shelf};
use chronos_store::{EmbeddedStore, Retention};

use crate::world::at;

pub(super) fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory(Retention::default()).unwrap())
}

/// The instant this many seconds after the beginning.
pub(super) fn after(seconds: u64) -> Timestamp {
    at("2026-11-15T02:00:00Z").after(Duration::from_secs(seconds))
}

/// When jobs are made: their first slot is at the beginning.
fn made() -> Timestamp {
    after(0).before(Duration::from_mins(1))
}

fn spec(number: u8, name: &str, owner: &str) -> JobSpec {
    let (id, every) = (JobId::new(made(), [number; 10]), Duration::from_mins(10));
    let schedule = Schedule::interval(every, after(0).before(every)).unwrap();
    JobSpec { owner: owner.into(), ..JobSpec::new(id, name, schedule, made()) }
}

pub(super) async fn create(store: &dyn Store, number: u8, name: &str, owner: &str) -> JobId {
    let spec = spec(number, name, owner);
    let spec = spec.with_target(Http::new("https://billing.internal/sync").unwrap());
    store.create_job(spec, made()).await.unwrap().spec.id
}

/// A job that says something whenever it fires.
pub(super) async fn create_message(
    store: &dyn Store,
    number: u8,
    name: &str,
    owner: &str,
) -> JobId {
    let template = Template::new(Some("the {{job_name}} is served"), None).unwrap();
    let spec = spec(number, name, owner).with_target(template);
    store.create_job(spec, made()).await.unwrap().spec.id
}

/// How a run ends, and what it leaves behind.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) error: Option<String>,
    pub(super) log: Option<String>,
    pub(super) body: Option<(u16, Vec<u8>)>,
}

impl End {
    pub(super) fn failed(error: &str) -> Self {
        Self { error: Some(error.into()), log: None, body: None }
    }

    pub(super) fn success() -> Self {
        Self { error: None, log: None, body: None }
    }
}

/// Fires what is due at a second, and ends each run as it is told to.
pub(super) async fn work(store: &dyn Store, second: u64, node: &str, end: impl Fn(JobId) -> End) {
    let now = after(second);
    store.fire_due(now, 100, None).await.unwrap();
    end_all(store, now, node, end).await;
}

/// Runs a job by hand at a second, whatever its schedule, and has it fail.
pub(super) async fn run_by_hand(store: &dyn Store, job: JobId, second: u64, error: &str) {
    store.run_now(job, None, after(second)).await.unwrap();
    end_all(store, after(second), "n", |_| End::failed(error)).await;
}

/// Claims what waits, and ends it as it is told to.
async fn end_all(store: &dyn Store, now: Timestamp, node: &str, end: impl Fn(JobId) -> End) {
    let terms = Terms { now, lease: Duration::from_secs(30) };
    let claims = store.claim(&WorkerId::new(node), terms, 100.into()).await.unwrap().claims;
    let mut ends = Vec::new();
    for claim in claims {
        let End { error, log, body } = end(claim.spec.id);
        let ending = match error {
            Some(error) => Ending::Failed(Failure::permanent(&error)),
            None => Ending::Success,
        };
        let response = body.map(|(status, body)| {
            let took = Duration::from_millis(5);
            Arc::new(Response { status, took, body: body.into(), truncated: false })
        });
        let at = now.after(Duration::from_millis(10));
        let report = Report { log: log.map(Into::into), response, ..Report::at(at) };
        ends.push(Finish { hold: claim.hold, ending, report });
    }
    store.finish(ends, now.after(Duration::from_secs(1))).await.unwrap();
}

/// Brings the archive and its table of contents up to date, as of long after.
pub(super) async fn tell(archive: &Archive) {
    let job =
        RollupJob::new(archive.clone(), Arc::new(Extractive), Level::Day, RollupJob::DAY_MIN_AGE);
    job.run(at("2027-02-01T00:00:00Z"), || false).await.unwrap();
}

/// Everything that is made from a store: up to date, rolled up and indexed.
pub(super) async fn read_all(store: &Arc<dyn Store>, path: &std::path::Path) -> Indexer {
    let projector = Projector::open(store.clone(), path).await.unwrap();
    projector.catch_up(|| false).await.unwrap();
    tell(projector.archive()).await;
    let indexer = Indexer::open(store.clone(), projector.archive().clone()).await.unwrap();
    indexer.catch_up(|| false).await.unwrap();
    indexer
}

pub(super) fn request<'a>(query: &'a str, shelf: Shelf<'a>) -> Request<'a> {
    Request { query, shelf, zone: Zone::UTC, cursor: None, limit: 100 }
}

/// All that everybody finds, on as many pages as it takes.
pub(super) fn all(index: &Index, query: &str, shelf: Shelf<'_>, limit: usize) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let cursor_now = cursor.clone();
        let request = Request { cursor: cursor_now.as_deref(), limit, ..request(query, shelf) };
        let found: Found = index.search(&request).unwrap();
        assert!(found.hits.len() <= limit);
        hits.extend(found.hits);
        match found.next {
            Some(next) => cursor = Some(next),
            None => return hits,
        }
    }
}

/// How many everybody finds.
pub(super) fn count(index: &Index, query: &str) -> usize {
    all(index, query, Shelf::Everyone, 100).len()
}
