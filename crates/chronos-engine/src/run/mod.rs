//! The engine: loops that plan, dispatch, keep leases, report ends and reap, over one store.
//!
//! Each loop is a `tick` and a wait. Tests may turn the ticks by hand; [`Engine::start`] turns them
//! until it is told to stop.

mod backfiller;
mod brake;
mod dispatcher;
mod finisher;
mod herald;
mod keeper;
mod places;
mod planner;
mod pruner;
mod reaper;
mod roster;
mod starter;
mod telling;
mod timekeeper;
pub(crate) mod turn;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::job::Target;
use chronos_core::store::{Claim, Planned, Roles, Store, Wake};
use chronos_core::{Execution, Http, JobSpec, Timestamp, WorkerId};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::clock::Clock;
use crate::handler::Handler;
pub use backfiller::Backfiller;
pub use brake::Brake;
pub use dispatcher::Dispatcher;
use finisher::Ended;
pub use finisher::Finisher;
pub use herald::Herald;
pub use keeper::Keeper;
pub use planner::Planner;
pub use pruner::Pruner;
pub use reaper::Reaper;
pub(crate) use roster::Task;
use roster::{Room, Roster};
use starter::Starter;
pub use timekeeper::Timekeeper;
pub use turn::Tick;

/// How an engine works.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// What this engine's worker is called; must be unique among engines on one store.
    pub worker: WorkerId,
    /// The machine that it runs on, as people call it.
    pub host: Box<str>,
    /// Which of the loops it turns.
    pub roles: Roles,
    /// Keeps it from planning and claiming while it is pulled.
    pub brake: Arc<Brake>,
    /// Executions that may run at once.
    pub max_concurrency: usize,
    /// How long a claim holds without renewal.
    pub lease: Duration,
    /// How often leases are renewed.
    pub heartbeat: Duration,
    /// How long before its lease ends a worker that could not renew it stops by itself.
    pub lease_margin: Duration,
    /// How long a run that was asked to stop may take to do so.
    pub cancel_grace: Duration,
    /// Jobs planned and executions claimed or finished in one step.
    pub batch: usize,
    /// Where notices about jobs without a webhook of their own go.
    pub webhook: Option<Arc<Http>>,
    /// How long message events are kept; `None` leaves them to the store.
    pub keep_messages: Option<Duration>,
}

impl EngineConfig {
    /// Jobs and executions in one step, where nothing else is said.
    pub const BATCH: usize = 512;

    /// The usual figures: 30 s leases renewed every 5 s.
    #[must_use]
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            host: "".into(),
            roles: Roles::default(),
            brake: Arc::default(),
            max_concurrency: 16_384,
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
            lease_margin: Duration::from_secs(2),
            cancel_grace: Duration::from_secs(10),
            batch: Self::BATCH,
            webhook: None,
            keep_messages: None,
        }
    }
}

/// Finds the code that a job runs.
pub trait Handlers: Send + Sync + 'static {
    /// The handler for this target, if there is one here.
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>>;
}

/// Sees what an engine does with the runs of jobs, and with what is told about them; must return at once.
pub trait Observer: Send + Sync + 'static {
    /// Plans were applied.
    fn planned(&self, planned: &[Planned]);
    /// Runs are about to begin.
    fn started(&self, claims: &[Claim]);
    /// Runs came to their ends.
    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]);
    /// A run was given up because its lease is no longer ours.
    fn lost(&self, spec: &JobSpec);
    /// Attempts to tell something came to their ends, whether they were taken or not.
    fn told(&self, _ended: &[(Arc<JobSpec>, Execution)]) {}
    /// Executions were taken from workers that were lost or did not stop them in time.
    fn reaped(&self, _ended: &[Execution]) {}
    /// The planner has looked for due jobs once, which took this long.
    fn scanned(&self, _took: Duration) {}
}

/// What every loop of an engine shares.
pub(crate) struct Shared {
    pub(crate) config: EngineConfig,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) handlers: Arc<dyn Handlers>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) roster: Arc<Roster>,
    /// Runs that are about to begin, away from the loops that found them.
    pub(crate) beginnings: TaskTracker,
    pub(crate) ended: Mutex<VecDeque<Ended>>,
    pub(crate) bells: Bells,
    /// The parent of every run's token.
    pub(crate) runs: CancellationToken,
}

impl Shared {
    /// The age at which a lease that was not renewed counts as lost.
    fn fence(&self) -> Duration {
        self.config.lease.saturating_sub(self.config.lease_margin)
    }

    /// When to look again whether the brake is released, if it is pulled.
    fn braked(&self) -> Option<Timestamp> {
        self.config.brake.reason().map(|_| self.clock.now().after(BRAKED))
    }

    /// Room for a batch of runs, or for as many as may still begin.
    fn room(&self) -> Room {
        self.roster.room(self.config.batch, self.config.max_concurrency, &self.bells.claim)
    }
}

/// An engine whose brake is pulled looks again this soon.
const BRAKED: Duration = Duration::from_secs(1);

/// What wakes each loop.
#[derive(Default)]
pub(crate) struct Bells {
    pub(crate) plan: Arc<Notify>,
    pub(crate) backfill: Arc<Notify>,
    pub(crate) claim: Arc<Notify>,
    pub(crate) keep: Arc<Notify>,
    pub(crate) finish: Arc<Notify>,
    pub(crate) reap: Arc<Notify>,
    pub(crate) announce: Arc<Notify>,
    pub(crate) planning: Beginnings,
    pub(crate) claiming: Beginnings,
    /// Set when someone asked a run to stop: the keeper must not wait for its next heartbeat.
    pub(crate) stop_asked: Arc<AtomicBool>,
}

/// What a loop knows of slots to fire or executions to claim: beginnings go before ends.
#[derive(Default)]
pub(crate) struct Beginnings {
    /// Whether there are more.
    more: AtomicBool,
    /// Whether the store takes its time over some.
    asked: AtomicBool,
}

impl Beginnings {
    /// Asks a store for beginnings; lets ends know when there is time for them.
    async fn ask<T>(&self, asked: impl Future<Output = T>, ends: &Notify) -> T {
        let mut asked = pin!(asked);
        poll_fn(|context| {
            let answer = asked.as_mut().poll(context);
            let pending = answer.is_pending();
            if self.asked.swap(pending, Ordering::Relaxed) != pending && pending {
                ends.notify_one();
            }
            answer
        })
        .await
    }

    fn go_on(&self, more: bool, ends: &Notify) {
        if self.more.swap(more, Ordering::Relaxed) && !more {
            ends.notify_one();
        }
    }

    fn are_more(&self) -> bool {
        self.more.load(Ordering::Relaxed)
    }

    fn are_asked_for(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// A running engine.
pub struct Engine {
    shared: Arc<Shared>,
    /// Stops planning and claiming.
    intake: CancellationToken,
    /// Stops the rest.
    upkeep: CancellationToken,
    intake_loops: JoinSet<()>,
    upkeep_loops: JoinSet<()>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("worker", &self.shared.config.worker).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the loops. Every run's token is a child of `runs`.
    #[must_use]
    pub fn start(
        config: EngineConfig,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        handlers: Arc<dyn Handlers>,
        observer: Arc<dyn Observer>,
        runs: CancellationToken,
    ) -> Self {
        let bells = Bells::default();
        ring_on_wake(store.as_ref(), &bells);
        let (roster, ended) = (Arc::default(), Mutex::default());
        let beginnings = TaskTracker::new();
        let shared = Arc::new(Shared {
            config,
            store,
            clock,
            handlers,
            observer,
            roster,
            beginnings,
            ended,
            bells,
            runs,
        });
        let (intake, upkeep) = (CancellationToken::new(), CancellationToken::new());
        let (mut intake_loops, mut upkeep_loops) = (JoinSet::new(), JoinSet::new());
        let bells = &shared.bells;
        let looped = |tick, bell: &Arc<Notify>, stop: &CancellationToken| {
            turn::run(tick, shared.clock.clone(), bell.clone(), stop.clone())
        };
        let starter = || Starter::new(shared.clone(), intake.clone());
        if shared.config.roles.scheduler {
            let planner: Box<dyn Tick> = Box::new(Planner::new(starter()));
            let reaper: Box<dyn Tick> = Box::new(Reaper::new(shared.clone()));
            let backfiller: Box<dyn Tick> = Box::new(Backfiller::new(shared.clone()));
            intake_loops.spawn(looped(planner, &bells.plan, &intake));
            intake_loops.spawn(looped(backfiller, &bells.backfill, &intake));
            upkeep_loops.spawn(looped(reaper, &bells.reap, &upkeep));
            if let Some(keep) = shared.config.keep_messages {
                let pruner: Box<dyn Tick> = Box::new(Pruner::new(shared.clone(), keep));
                upkeep_loops.spawn(looped(pruner, &Arc::default(), &upkeep));
            }
        }
        if shared.config.roles.worker {
            let dispatcher: Box<dyn Tick> = Box::new(Dispatcher::new(starter()));
            let keeper: Box<dyn Tick> = Box::new(Keeper::new(shared.clone()));
            let finisher: Box<dyn Tick> = Box::new(Finisher::new(shared.clone()));
            intake_loops.spawn(looped(dispatcher, &bells.claim, &intake));
            upkeep_loops.spawn(looped(keeper, &bells.keep, &upkeep));
            upkeep_loops.spawn(looped(finisher, &bells.finish, &upkeep));
        }
        let herald: Box<dyn Tick> = Box::new(Herald::new(shared.clone()));
        upkeep_loops.spawn(looped(herald, &bells.announce, &upkeep));
        Self { shared, intake, upkeep, intake_loops, upkeep_loops }
    }

    /// How many executions this engine runs now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.roster.len()
    }

    /// Stops: no more planning and claiming, every run's token cancelled, runs awaited for up to
    /// `grace` (not at all when there are none), stragglers aborted and handed back.
    ///
    /// Gives back how many had to be aborted.
    pub async fn stop(mut self, grace: Duration) -> usize {
        self.intake.cancel();
        join(&mut self.intake_loops).await;
        // What was claimed last is on the roster, or handed back, before anyone looks whether it is empty.
        self.shared.beginnings.close();
        let begun = tokio::time::timeout(LAST_TURN, self.shared.beginnings.wait());
        if begun.await.is_err() {
            warn!("Claims are left to their leases: the store does not answer");
        }
        self.shared.runs.cancel();
        let idle = self.shared.roster.idle();
        let aborted = match tokio::time::timeout(grace, idle).await {
            Ok(()) => 0,
            Err(_) => keeper::interrupt_all(&self.shared),
        };
        self.upkeep.cancel();
        join(&mut self.upkeep_loops).await;
        aborted
    }

    /// Drops dead, as a killed process would: nothing is finished, handed back or flushed.
    pub fn kill(mut self) {
        self.intake_loops.abort_all();
        self.upkeep_loops.abort_all();
        self.shared.roster.abort_all();
    }
}

/// A loop that is stopped may wait for the store this long; then its turn is cut short.
const LAST_TURN: Duration = Duration::from_secs(10);

/// Waits for stopped loops to end. A store that does not answer must not keep a node from stopping:
/// what a turn cut short leaves behind is found again like what a crash leaves.
async fn join(loops: &mut JoinSet<()>) {
    let joined = async { while loops.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_TURN, joined).await.is_err() {
        warn!("Loops did not end in time: the store does not answer");
        loops.shutdown().await;
    }
}

fn ring_on_wake(store: &dyn Store, bells: &Bells) {
    let (plan, backfill) = (Arc::downgrade(&bells.plan), Arc::downgrade(&bells.backfill));
    let (claim, keep) = (Arc::downgrade(&bells.claim), Arc::downgrade(&bells.keep));
    let stop_asked = bells.stop_asked.clone();
    store.watch(Arc::new(move |wake| {
        if wake == Wake::Cancel {
            stop_asked.store(true, Ordering::SeqCst);
        }
        let bell = match wake {
            Wake::Job => &plan,
            Wake::Execution => &claim,
            Wake::Cancel => &keep,
            Wake::Backfill => &backfill,
            // Whoever follows messages hears of them by itself.
            Wake::Message => return,
        };
        if let Some(bell) = bell.upgrade() {
            bell.notify_one();
        }
    }));
}
