//! A real engine over a store: as many runs as it can make, or what comes due at its time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::ensure;
use async_trait::async_trait;
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Planned, Roles, Store};
use chronos_core::{Execution, JobSpec, Timestamp, WorkerId};
use chronos_engine::run::{Engine, EngineConfig, Handlers, Observer};
use chronos_engine::{CancellationToken, Clock, Handler, IntoHandler, JobContext};
use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::process::begin;
use crate::workload::at;

/// A clock that can be told to go on to the next second.
#[derive(Debug)]
struct Hurried {
    started: Instant,
    origin: Timestamp,
    skipped: AtomicI64,
    skips: Notify,
}

impl Hurried {
    fn starting_at(origin: Timestamp) -> Arc<Self> {
        let skipped = AtomicI64::new(0);
        Arc::new(Self { started: begin(), origin, skipped, skips: Notify::new() })
    }

    fn skip_to_next_second(&self) {
        let rest = 1_000_000 - self.now().as_micros().rem_euclid(1_000_000);
        self.skipped.fetch_add(rest, Ordering::SeqCst);
        self.skips.notify_waiters();
    }
}

#[async_trait]
impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        let shown = self.origin.after(self.monotonic()).as_micros();
        Timestamp::from_micros(shown + self.skipped.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let skips = self.skips.notified();
        tokio::select! {
            () = tokio::time::sleep(at.since(self.now())) => {}
            () = skips => {}
        }
    }
}

/// One handler for every job.
struct Everyone(Arc<dyn Handler>);

impl Handlers for Everyone {
    fn handler(&self, _: &Target) -> Option<Arc<dyn Handler>> {
        Some(self.0.clone())
    }
}

fn start(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    handler: Arc<dyn Handler>,
    observer: Arc<dyn Observer>,
    roles: Roles,
) -> Engine {
    start_with(EngineConfig { roles, ..config() }, store, clock, handler, observer)
}

fn config() -> EngineConfig {
    EngineConfig::new(WorkerId::new("measured"))
}

fn start_with(
    config: EngineConfig,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    handler: Arc<dyn Handler>,
    observer: Arc<dyn Observer>,
) -> Engine {
    let handlers = Arc::new(Everyone(handler));
    Engine::start(config, store, clock, handlers, observer, CancellationToken::new())
}

/// Lets each second begin when nearly all runs of the one before are over.
struct Hurry {
    clock: Arc<Hurried>,
    jobs: u64,
    seconds: u64,
    planned: AtomicU64,
    ended: AtomicU64,
    second: AtomicU64,
    over: Notify,
}

impl Hurry {
    fn go_on(&self) {
        let (planned, ended) =
            (self.planned.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst));
        let second = self.second.load(Ordering::SeqCst);
        let all = self.jobs * second;
        if ended >= self.jobs * self.seconds {
            self.over.notify_one();
        } else if second < self.seconds && planned >= all && ended + self.jobs / 4 >= all {
            let next = second + 1;
            let mine = Ordering::SeqCst;
            if self.second.compare_exchange(second, next, mine, mine).is_ok() {
                self.clock.skip_to_next_second();
            }
        }
    }
}

impl Observer for Hurry {
    fn planned(&self, planned: &[Planned]) {
        self.planned.fetch_add(planned.len() as u64, Ordering::SeqCst);
        self.go_on();
    }

    fn started(&self, _: &[Claim]) {}

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.ended.fetch_add(ended.len() as u64, Ordering::SeqCst);
        self.go_on();
    }

    fn lost(&self, _: &JobSpec) {}
}

/// Seconds that an engine takes for the runs of jobs that fire in every second.
pub(crate) async fn herd(store: Arc<dyn Store>, jobs: usize, seconds: u64) -> anyhow::Result<f64> {
    let clock = Hurried::starting_at(at(0).after(Duration::from_millis(1)));
    let hurry = Arc::new(Hurry {
        clock: clock.clone(),
        jobs: jobs as u64,
        seconds,
        planned: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        second: AtomicU64::new(0),
        over: Notify::new(),
    });
    let begun = begin();
    let handler = nothing(clock.clone());
    let engine = start(store, clock, handler, hurry.clone(), Roles::default());
    hurry.go_on();
    hurry.over.notified().await;
    let took = begun.elapsed().as_secs_f64();
    let most = hurry.planned.load(Ordering::SeqCst);
    engine.stop(Duration::from_secs(10)).await;
    // A slow machine may let a second pass by itself; a run that was skipped would never end.
    ensure!(most <= hurry.jobs * (seconds + 1), "{most} plans are too many");
    Ok(took)
}

/// Calls another handler, and notes how late it was called for slots from a time on.
struct Timed {
    called: Arc<dyn Handler>,
    clock: Arc<Hurried>,
    counted_from: Timestamp,
    lags: Mutex<Vec<(Timestamp, f64)>>,
}

impl Handler for Timed {
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending> {
        let slot = Timestamp::from(context.scheduled_for());
        if slot >= self.counted_from {
            let lag = self.clock.now().since(slot).as_secs_f64() * 1_000.0;
            self.lags.lock().unwrap_or_else(PoisonError::into_inner).push((slot, lag));
        }
        self.called.call(context)
    }
}

/// The start lags in milliseconds of what comes due from `from` on, sorted; those of the first seconds,
/// in which the engine begins, are left out.
pub(crate) async fn lags(
    store: Arc<dyn Store>,
    from: Timestamp,
    (left_out, seconds): (u64, u64),
    called: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn Handler>,
) -> anyhow::Result<Vec<f64>> {
    let clock = Hurried::starting_at(from);
    let handler = Arc::new(Timed {
        called: called(clock.clone()),
        clock: clock.clone(),
        counted_from: from.after(Duration::from_secs(left_out)),
        lags: Mutex::default(),
    });
    let engine = start(store, clock, handler.clone(), Arc::new(Silent), Roles::default());
    tokio::time::sleep(Duration::from_secs(left_out + seconds)).await;
    engine.stop(Duration::from_secs(1)).await;
    let lags = std::mem::take(&mut *handler.lags.lock().unwrap_or_else(PoisonError::into_inner));
    let mut latest = BTreeMap::new();
    for (slot, lag) in &lags {
        let latest = latest.entry(*slot).or_insert(0.0_f64);
        *latest = latest.max(*lag);
    }
    let latest = latest.values().map(|lag| format!("{lag:.0}")).collect::<Vec<_>>().join(" ");
    eprintln!("latest start of each second: {latest} ms");
    let mut lags: Vec<f64> = lags.into_iter().map(|(_, lag)| lag).collect();
    lags.sort_by(f64::total_cmp);
    Ok(lags)
}

/// What does nothing, at any time.
pub(crate) fn nothing(_: Arc<dyn Clock>) -> Arc<dyn Handler> {
    (|| async {}).into_handler()
}

/// Tells nobody anything.
struct Silent;

impl Observer for Silent {
    fn planned(&self, _: &[Planned]) {}
    fn started(&self, _: &[Claim]) {}
    fn ended(&self, _: &[(Arc<JobSpec>, Execution)]) {}
    fn lost(&self, _: &JobSpec) {}
}

/// Rings when this many runs are over.
struct Countdown {
    left: AtomicI64,
    over: Notify,
}

impl Observer for Countdown {
    fn planned(&self, _: &[Planned]) {}
    fn started(&self, _: &[Claim]) {}
    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        let count = i64::try_from(ended.len()).unwrap_or(i64::MAX);
        if self.left.fetch_sub(count, Ordering::SeqCst) <= count {
            self.over.notify_one();
        }
    }
    fn lost(&self, _: &JobSpec) {}
}

/// Seconds that a worker takes to claim and end this many runs, which all wait at that time.
pub(crate) async fn work_off(store: Arc<dyn Store>, now: Timestamp, runs: usize) -> f64 {
    work_off_together(&[store], now, runs).await
}

/// Seconds that workers, one on each of these stores, take together to claim and end this many runs.
pub(crate) async fn work_off_together(
    stores: &[Arc<dyn Store>],
    now: Timestamp,
    runs: usize,
) -> f64 {
    let roles = Roles { scheduler: false, ..Roles::default() };
    let configs = (0..stores.len()).map(|number| {
        let worker = WorkerId::new(&format!("measured-{number}"));
        EngineConfig { roles, ..EngineConfig::new(worker) }
    });
    let nodes = configs.zip(stores.iter().cloned()).collect();
    count_down(nodes, now, runs, nothing).await
}

/// Seconds that an engine takes to fire, claim and end this many runs, which are all due at that time.
pub(crate) async fn make_all(
    store: Arc<dyn Store>,
    now: Timestamp,
    runs: usize,
    called: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn Handler>,
) -> f64 {
    count_down(vec![(config(), store)], now, runs, called).await
}

async fn count_down(
    nodes: Vec<(EngineConfig, Arc<dyn Store>)>,
    now: Timestamp,
    runs: usize,
    called: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn Handler>,
) -> f64 {
    let left = AtomicI64::new(i64::try_from(runs).unwrap_or(i64::MAX));
    let countdown = Arc::new(Countdown { left, over: Notify::new() });
    let clock = Hurried::starting_at(now);
    let handler = called(clock.clone());
    let begun = begin();
    let start = |(config, store)| {
        start_with(config, store, clock.clone(), handler.clone(), countdown.clone())
    };
    let engines: Vec<Engine> = nodes.into_iter().map(start).collect();
    countdown.over.notified().await;
    let took = begun.elapsed().as_secs_f64();
    for engine in engines {
        engine.stop(Duration::from_secs(10)).await;
    }
    took
}

/// An engine that does at its time what is asked of it.
pub(crate) fn serve(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    handler: Arc<dyn Handler>,
) -> Engine {
    start(store, clock, handler, Arc::new(Silent), Roles::default())
}

/// An engine that finds nothing to do at that time.
pub(crate) fn idle(store: Arc<dyn Store>, now: Timestamp, roles: Roles) -> Engine {
    let clock = Hurried::starting_at(now);
    start(store, clock.clone(), nothing(clock), Arc::new(Silent), roles)
}
