//! The embedded store: its logic once, over any engine behind the key-value seam.

mod account_events;
mod accounts;
mod ahead;
mod apply;
mod audit;
mod backfills;
mod compaction;
mod desk;
mod due;
mod executions;
mod find;
mod gate;
mod index;
mod jobs;
mod journal;
mod keys;
mod messages;
mod outlet;
mod past;
mod policies;
mod port;
mod prune;
mod ready;
pub(crate) mod record;
mod requests;
mod retention;
mod roll;
mod state;
mod step;
mod subscriptions;
mod syncer;
mod volumes;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chronos_core::store::{Error, Result, Worker};
use chronos_core::{Execution, Timestamp, UserId, WorkerId};

use crate::kv::{Kv, MemoryKv};
use gate::Gate;
use keys::Key;
use outlet::{Outlet, Reach};
pub use retention::Retention;
use state::State;
use step::{Step, Stepped};
use syncer::{Syncer, Ticket};
use volumes::Volumes;

/// Orphans that one step ends.
const ORPHANS_PER_STEP: usize = 256;

/// A store inside the process, over an engine of one's choice.
pub struct EmbeddedStore {
    shelf: Arc<Shelf>,
    /// The user who asks for its steps.
    by: Option<UserId>,
}

/// What every handle to the store shares.
pub struct Shelf {
    /// The state's engine, for what takes long and must not hold up the verbs.
    kv: Arc<dyn Kv>,
    /// Before the state: one step at a time, and threads that do not sleep through another's.
    gate: Gate,
    state: Mutex<State>,
    /// Whoever waits for something, and which message events can be read.
    outlet: Arc<Outlet>,
    /// Makes steps durable before they are acknowledged, if the engine keeps anything.
    syncer: Option<Syncer>,
    /// Whether the last step that wrote anything could not be kept.
    failed: AtomicBool,
    /// Workers of this process, which end with it.
    workers: Mutex<BTreeMap<WorkerId, Worker>>,
}

impl EmbeddedStore {
    /// The store that this engine holds.
    pub fn open(kv: impl Kv, retention: Retention) -> Result<Self> {
        Self::over(Arc::new(kv), retention)
    }

    /// As [`open`](Self::open), with volumes of another size: for tests, which never fill the usual
    /// ones. Any store can be opened with any size.
    #[doc(hidden)]
    pub fn with_volumes_of(executions: u64, kv: impl Kv, retention: Retention) -> Result<Self> {
        Self::start(Arc::new(kv), retention, Volumes::new(executions))
    }

    pub(crate) fn over(kv: Arc<dyn Kv>, retention: Retention) -> Result<Self> {
        Self::start(kv, retention, Volumes::new(volumes::SIZE))
    }

    fn start(kv: Arc<dyn Kv>, retention: Retention, volumes: Volumes) -> Result<Self> {
        let outlet = Arc::new(Outlet::default());
        let state = State::open(kv.clone(), retention, volumes, outlet.clone())?;
        let syncer = Syncer::start(&kv, &outlet)?;
        if outlet.committed() != Reach::default() && kv.sync().is_ok() {
            // What a process before this one had no time to sync is durable from here on.
            outlet.let_out(outlet.committed());
        }
        let (state, failed) = (Mutex::new(state), AtomicBool::new(false));
        let (gate, workers) = (Gate::default(), Mutex::default());
        let shelf = Arc::new(Shelf { kv, gate, state, outlet, syncer, failed, workers });
        Ok(Self { shelf, by: None })
    }

    pub(crate) fn kv(&self) -> &dyn Kv {
        self.kv.as_ref()
    }

    /// An empty store in memory.
    pub fn memory(retention: Retention) -> Result<Self> {
        Self::open(MemoryKv::new(), retention)
    }

    /// Ends every running execution as lost and queues what follows; gives back what it ended. Nobody holds a
    /// subscription any more.
    ///
    /// For whoever alone has the store and has handed out nothing of it yet: then every lease in it is
    /// that of a process that is gone, and need not be waited out.
    pub async fn reap_orphans(&self, now: Timestamp) -> Result<Vec<Execution>> {
        let mut orphans = Vec::new();
        loop {
            let ended = self.step(now, |step| step.reap_orphans(ORPHANS_PER_STEP)).await?;
            let more = ended.len() == ORPHANS_PER_STEP;
            orphans.extend(ended);
            if !more {
                self.release_subscriptions().await?;
                return Ok(orphans);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A panic may have left the index halfway between two steps; the records are whole.
            let mut state = poisoned.into_inner();
            state.stale = true;
            self.state.clear_poison();
            state
        })
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut state = self.lock();
        state.refresh()?;
        read(&mut state)
    }

    /// Runs a verb as one step, and gives back what it answers once that is durable.
    async fn step<T>(
        &self,
        now: Timestamp,
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<T> {
        let pass = self.gate.enter().await;
        let committed = self.commit(now, verb);
        drop(pass);
        let (value, ticket) = committed.inspect_err(|error| {
            if matches!(error, Error::Unavailable(_)) {
                self.failed.store(true, Ordering::SeqCst);
            }
        })?;
        if let (Some(syncer), Some(ticket)) = (&self.syncer, ticket) {
            let synced = syncer.synced(ticket).await;
            self.failed.store(synced.is_err(), Ordering::SeqCst);
            synced?;
        }
        Ok(value)
    }

    /// Writes what is there already, as a step of its own.
    async fn write_again(&self) -> Result<()> {
        let newest = |step: &mut Step<'_>| {
            let token = step.state.token.0;
            step.put(&Key::Token, &token)
        };
        self.step(Timestamp::EPOCH, newest).await
    }

    fn commit<T>(
        &self,
        now: Timestamp,
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<(T, Option<Ticket>)> {
        let mut state = self.lock();
        let Stepped { value, wakes, wrote } = state.step((now, self.by), verb)?;
        if wrote {
            self.outlet.commit(state.reach());
        }
        let syncer = self.syncer.as_ref().filter(|_| wrote);
        let ticket = syncer.map(Syncer::committed);
        drop(state);
        wakes.iter().for_each(|wake| self.outlet.call(wake));
        if wrote && self.syncer.is_none() {
            self.outlet.let_out(self.outlet.committed());
        }
        Ok((value, ticket))
    }
}

impl Deref for EmbeddedStore {
    type Target = Shelf;

    fn deref(&self) -> &Shelf {
        &self.shelf
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").finish_non_exhaustive()
    }
}
