//! The lab: one or two engines on virtual time, for claims that a single history shows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::job::Target;
use chronos_core::{Execution, Job, JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_engine::run::{Engine, EngineConfig, Handlers};
use chronos_engine::{CancellationToken, Clock, Handler, IntoHandler, JobContext, VirtualClock};
use chronos_store::{EmbeddedStore, Retention};

use super::actors::Witness;
use super::faults::{Link, Weather};
use super::ledger::Ledger;
use super::script::ORIGIN;

/// The lease of every engine in the lab, unless a claim says otherwise.
pub(super) const LEASE: Duration = Duration::from_secs(30);

pub(super) struct Lab {
    pub(super) clock: Arc<VirtualClock>,
    pub(super) store: Arc<EmbeddedStore>,
    pub(super) ledger: Arc<Ledger>,
    weather: Arc<Weather>,
    handlers: Arc<Mutex<BTreeMap<String, Arc<dyn Handler>>>>,
}

/// The handlers that the lab's engines share.
struct Shelf(Arc<Mutex<BTreeMap<String, Arc<dyn Handler>>>>);

impl Handlers for Shelf {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        let Target::Handler { name } = target else {
            return None;
        };
        self.0.lock().unwrap().get(&**name).cloned()
    }
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl Lab {
    pub(super) fn new() -> Self {
        let origin = Timestamp::parse(ORIGIN).unwrap();
        Self {
            clock: Arc::new(VirtualClock::starting_at(origin)),
            store: Arc::new(EmbeddedStore::memory(Retention::default()).unwrap()),
            ledger: Arc::default(),
            weather: Arc::new(Weather {
                fault_rate: AtomicU64::new(0),
                outage: AtomicBool::new(false),
            }),
            handlers: Arc::default(),
        }
    }

    pub(super) fn engine(&self, name: &str) -> (Engine, Arc<Link>) {
        self.engine_with(EngineConfig { lease: LEASE, ..EngineConfig::new(WorkerId::new(name)) })
    }

    pub(super) fn engine_with(&self, config: EngineConfig) -> (Engine, Arc<Link>) {
        let link = Arc::new(Link::new(
            config.worker.clone(),
            self.store.clone(),
            self.ledger.clone(),
            self.clock.clone(),
            self.weather.clone(),
            0,
        ));
        let engine = Engine::start(
            config,
            link.clone(),
            self.clock.clone(),
            Arc::new(Shelf(self.handlers.clone())),
            Arc::new(Witness { link: link.clone() }),
            CancellationToken::new(),
        );
        (engine, link)
    }

    /// Makes every call of every engine fail, or ends that.
    pub(super) fn outage(&self, outage: bool) {
        self.weather.outage.store(outage, SeqCst);
    }

    /// Adds a job that calls the handler of its name.
    pub(super) async fn job<Shape>(
        &self,
        name: &str,
        schedule: Schedule,
        tweak: impl FnOnce(&mut JobSpec),
        handler: impl IntoHandler<Shape>,
    ) -> Job {
        let id = self.shelve(name, handler.into_handler());
        let mut spec = JobSpec::new(id, name, schedule, self.now());
        tweak(&mut spec);
        self.store.create_job(spec, self.now()).await.unwrap()
    }

    /// Adds so many jobs that call one handler, each made what it is by its number.
    pub(super) async fn herd<Shape>(
        &self,
        size: u16,
        make: impl Fn(u16, &mut JobSpec),
        handler: impl IntoHandler<Shape>,
    ) -> Vec<Job> {
        self.shelve("herd", handler.into_handler());
        let mut jobs = Vec::new();
        for number in 0..size {
            let mut chance = [0; 10];
            chance[..2].copy_from_slice(&number.to_be_bytes());
            let (id, name) = (JobId::new(self.now(), chance), format!("herd {number}"));
            let mut spec = JobSpec::new(id, &name, self.every(60), self.now());
            spec.target = Target::Handler { name: "herd".into() };
            make(number, &mut spec);
            jobs.push(self.store.create_job(spec, self.now()).await.unwrap());
        }
        jobs
    }

    fn shelve(&self, name: &str, handler: Arc<dyn Handler>) -> JobId {
        let mut handlers = self.handlers.lock().unwrap();
        let number = u8::try_from(handlers.len()).unwrap();
        handlers.insert(name.into(), handler);
        JobId::new(Timestamp::EPOCH, [number; 10])
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One slot, so many seconds from now.
    pub(super) fn once(&self, after: u64) -> Schedule {
        Schedule::one_shot(self.now().after(seconds(after)))
    }

    pub(super) fn every(&self, period: u64) -> Schedule {
        Schedule::interval(seconds(period), self.now()).unwrap()
    }

    /// Waits until so much time has passed since the lab was opened.
    pub(super) async fn until(&self, at: Duration) {
        tokio::time::sleep(at.saturating_sub(self.clock.monotonic())).await;
    }

    /// The job's executions, oldest first.
    pub(super) async fn executions(&self, job: &Job) -> Vec<Execution> {
        let id = job.spec.id;
        let mut executions = self.store.executions(id, None, 100_000).await.unwrap();
        executions.sort_by_key(|execution| (execution.slot, execution.attempt));
        executions
    }

    /// The states of the job's executions, oldest first.
    pub(super) async fn statuses(&self, job: &Job) -> Vec<&'static str> {
        let executions = self.executions(job).await;
        executions.iter().map(Execution::status).collect()
    }

    pub(super) fn counted(&self, what: &str) -> u64 {
        self.ledger.lock().counts.get(what).copied().unwrap_or(0)
    }
}

/// When a call began and when it ended.
pub(super) type Span = (Duration, Option<Duration>);

/// A diary of calls: when each began and ended, ended early when it was dropped.
#[derive(Clone)]
pub(super) struct Diary {
    clock: Arc<VirtualClock>,
    entries: Arc<Mutex<Vec<Span>>>,
}

/// A call being made; its end is written down when it is dropped.
pub(super) struct Page {
    diary: Diary,
    number: usize,
}

impl Diary {
    pub(super) fn of(lab: &Lab) -> Self {
        Self { clock: lab.clock.clone(), entries: Arc::default() }
    }

    pub(super) fn begin(&self) -> Page {
        let mut entries = self.entries.lock().unwrap();
        entries.push((self.clock.monotonic(), None));
        Page { diary: self.clone(), number: entries.len() - 1 }
    }

    pub(super) fn entries(&self) -> Vec<Span> {
        self.entries.lock().unwrap().clone()
    }

    /// A handler that works for so long, deaf to its token.
    pub(super) fn work(&self, length: Duration) -> impl IntoHandler<(JobContext,)> + use<> {
        let diary = self.clone();
        move |_: JobContext| {
            let page = diary.begin();
            async move {
                tokio::time::sleep(length).await;
                drop(page);
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let now = self.diary.clock.monotonic();
        self.diary.entries.lock().unwrap()[self.number].1 = Some(now);
    }
}
