//! The bench: a store to try out, the ability to close and open it again, and short words for both.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::account::Accounts;
use chronos_core::execution::Report;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Finish, Fired, Hold, Result, Terms};
use chronos_core::subscription::Subscriptions;
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Schedule, Store};
use chronos_core::{Timestamp, WorkerId};
use chronos_store::kv::MemoryKv;
use chronos_store::{EmbeddedStore, Retention};

use crate::answers::Answers;
use crate::conformance::accounts::Place;
use crate::conformance::subscriptions::Shelf;
use crate::shared_kv::SharedKv;

/// What one line per engine gives to the suite: an empty place where a store keeps its records.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// Opens the store; the one opened before is closed by then.
    async fn open(&self) -> Arc<dyn Store>;

    /// A second store over the records of the open one, only to be read from.
    async fn twin(&self) -> Arc<dyn Store>;
}

/// The memory engine, with a map that outlives the store.
pub(crate) async fn memory() -> impl Engine {
    SharedKv::new(MemoryKv::new())
}

/// The memory engine, whose store begins a new volume of the past after every other execution.
pub(crate) async fn tiny_volumes() -> impl Engine {
    TinyVolumes(SharedKv::new(MemoryKv::new()))
}

struct TinyVolumes(SharedKv<MemoryKv>);

#[async_trait]
impl Engine for TinyVolumes {
    async fn open(&self) -> Arc<dyn Store> {
        let (kv, retention) = (self.0.clone(), Retention::default());
        Arc::new(EmbeddedStore::with_volumes_of(2, kv, retention).unwrap())
    }

    async fn twin(&self) -> Arc<dyn Store> {
        self.0.open().await
    }
}

#[async_trait]
impl Engine for SharedKv<MemoryKv> {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::open(self.clone(), Retention::default()).unwrap())
    }

    async fn twin(&self) -> Arc<dyn Store> {
        self.open().await
    }
}

/// The memory engine, for accounts and subscriptions.
#[expect(clippy::unused_async, reason = "other places take a while to make")]
pub(crate) async fn shared_memory() -> impl Place + Shelf {
    SharedKv::new(MemoryKv::new())
}

#[async_trait]
impl Place for SharedKv<MemoryKv> {
    async fn accounts(&self) -> Arc<dyn Accounts> {
        Arc::new(EmbeddedStore::open(self.clone(), Retention::default()).unwrap())
    }
}

#[async_trait]
impl Shelf for SharedKv<MemoryKv> {
    async fn subscriptions(&self) -> Arc<dyn Subscriptions> {
        Arc::new(EmbeddedStore::open(self.clone(), Retention::default()).unwrap())
    }
}

/// A store on an engine.
pub(crate) struct Bench {
    engine: Box<dyn Engine>,
    store: Option<Arc<dyn Store>>,
}

impl Deref for Bench {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        self.store.as_deref().unwrap()
    }
}

impl Bench {
    pub(crate) async fn new(engine: impl Engine + 'static) -> Self {
        let store = Some(engine.open().await);
        let engine = Box::new(engine);
        Self { engine, store }
    }

    /// Closes the store and opens it again; what it answers must not change by that.
    pub(crate) async fn reopen(&mut self) {
        let before = self.answers().await;
        self.restart().await;
        before.assert_same(&self.answers().await);
    }

    /// Closes the store and opens it again.
    pub(crate) async fn restart(&mut self) {
        self.store = None;
        self.store = Some(self.engine.open().await);
    }

    /// A store that was opened just now over the same records must answer like this one.
    pub(crate) async fn compare_with_twin(&self) -> Answers {
        let answers = self.answers().await;
        answers.assert_same(&Answers::of(&*self.engine.twin().await).await);
        answers
    }

    /// The store, to be shared between tasks.
    pub(crate) fn handle(&self) -> Arc<dyn Store> {
        self.store.clone().unwrap()
    }

    pub(crate) async fn answers(&self) -> Answers {
        Answers::of(&**self).await
    }

    pub(crate) async fn create(&self, spec: JobSpec) -> Job {
        self.create_job(spec, at(0)).await.unwrap()
    }

    pub(crate) async fn fire(&self, second: i64) -> Fired {
        self.fire_due(at(second), 100, None).await.unwrap()
    }

    /// What a worker gets that takes everything.
    pub(crate) async fn take(&self, second: i64) -> Vec<Claim> {
        let claimed = self.claim(&worker("w1"), terms(second), 100.into()).await.unwrap();
        claimed.claims
    }

    /// Fires what is due and takes the only execution that is ready then.
    pub(crate) async fn start(&self, second: i64) -> Claim {
        self.fire(second).await;
        let mut claims = self.take(second).await;
        assert_eq!(claims.len(), 1, "one execution is ready at {second} s");
        claims.remove(0)
    }

    pub(crate) async fn try_end(
        &self,
        hold: Hold,
        ending: Ending,
        second: i64,
    ) -> Result<Execution> {
        let mut answers =
            self.finish(vec![finish(hold, ending, second)], at(second)).await.unwrap();
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    pub(crate) async fn end(&self, claim: &Claim, ending: Ending, second: i64) -> Execution {
        self.try_end(claim.hold, ending, second).await.unwrap()
    }

    /// All executions of a job, newest first.
    pub(crate) async fn rows(&self, job: JobId) -> Vec<Execution> {
        self.executions(job, None, 10_000).await.unwrap()
    }

    /// The only execution of a job.
    pub(crate) async fn row(&self, job: JobId) -> Execution {
        let mut rows = self.rows(job).await;
        assert_eq!(rows.len(), 1, "the job has one execution");
        rows.remove(0)
    }

    pub(crate) async fn status(&self, execution: ExecutionId) -> &'static str {
        self.execution(execution).await.unwrap().status()
    }

    /// The kinds of all decisions so far, in order.
    pub(crate) async fn decisions(&self) -> Vec<&'static str> {
        let events = self.audit(0, 100_000).await.unwrap();
        events.iter().map(|event| event.decision.kind()).collect()
    }
}

/// Leases on the bench hold this long.
pub(crate) const LEASE: i64 = 30;

/// The instant this many seconds after the beginning, which is midnight before a Monday.
pub(crate) fn at(second: i64) -> Timestamp {
    let beginning = Timestamp::parse("2026-11-16T00:00:00Z").unwrap();
    Timestamp::from_secs(beginning.as_secs() + second)
}

pub(crate) fn terms(second: i64) -> Terms {
    let lease = Duration::from_secs(LEASE.unsigned_abs());
    let now = at(second);
    Terms { now, lease }
}

pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId::new(name)
}

/// The id of the job with a name of up to seven letters; ids sort as names do.
pub(crate) fn job_id(name: &str) -> JobId {
    let mut chance = [0; 10];
    chance[3..3 + name.len()].copy_from_slice(name.as_bytes());
    JobId::new(at(0), chance)
}

/// A job with a slot every so many seconds, counted from the beginning.
pub(crate) fn every(name: &str, seconds: u64) -> JobSpec {
    let schedule = Schedule::interval(Duration::from_secs(seconds), at(0)).unwrap();
    JobSpec::new(job_id(name), name, schedule, at(0))
}

/// A job with a slot so many seconds after the end of the run before.
pub(crate) fn after_end(name: &str, seconds: u64) -> JobSpec {
    let schedule = Schedule::fixed_delay(Duration::from_secs(seconds), at(0)).unwrap();
    JobSpec::new(job_id(name), name, schedule, at(0))
}

/// A job with one slot.
pub(crate) fn once(name: &str, second: i64) -> JobSpec {
    JobSpec::new(job_id(name), name, Schedule::one_shot(at(second)), at(0))
}

pub(crate) fn finish(hold: Hold, ending: Ending, second: i64) -> Finish {
    Finish { hold, ending, report: Report::at(at(second)) }
}
