//! The embedded store: its logic once, over any engine behind the key-value seam.

mod accounts;
mod ahead;
mod apply;
mod audit;
mod compaction;
mod desk;
mod executions;
mod find;
mod index;
mod jobs;
mod keys;
mod past;
mod ready;
pub(crate) mod record;
mod requests;
mod retention;
mod roll;
mod state;
mod step;
mod syncer;
mod volumes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use chronos_core::audit::AuditEvent;
use chronos_core::execution::CancelCause;
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::store::{
    Claimed, Compacted, CompactionHook, Done, Error, Finish, Fired, Hold, JobCounts, JobFilter,
    JobPage, Reaped, Renewal, Request, Result, Stats, Store, Taker, Terms, WakeHook, Worker,
};
use chronos_core::{
    Execution, ExecutionId, Job, JobId, JobSpec, PolicyId, Timestamp, TraceId, WorkerId,
};

use crate::kv::{Kv, MemoryKv};
use keys::{Key, Table};
pub use retention::Retention;
use state::{State, engine};
use step::{Step, Stepped};
use syncer::{Syncer, Ticket};
use volumes::Volumes;

/// Orphans that one step ends.
const ORPHANS_PER_STEP: usize = 256;

/// A store inside the process, over an engine of one's choice.
pub struct EmbeddedStore {
    /// The state's engine, for what takes long and must not hold up the verbs.
    kv: Arc<dyn Kv>,
    state: Mutex<State>,
    hooks: RwLock<Vec<WakeHook>>,
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
        let state = State::open(kv.clone(), retention, volumes)?;
        let syncer = Syncer::start(&kv)?;
        let (state, failed) = (Mutex::new(state), AtomicBool::new(false));
        let (hooks, workers) = (RwLock::default(), Mutex::default());
        Ok(Self { kv, state, hooks, syncer, failed, workers })
    }

    pub(crate) fn kv(&self) -> &dyn Kv {
        self.kv.as_ref()
    }

    /// An empty store in memory.
    pub fn memory(retention: Retention) -> Result<Self> {
        Self::open(MemoryKv::new(), retention)
    }

    /// Ends every running execution as lost and queues what follows; gives back what it ended.
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
        let (value, ticket) = self.commit(now, verb).inspect_err(|error| {
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
        let Stepped { value, wakes, wrote } = state.step(now, verb)?;
        let syncer = self.syncer.as_ref().filter(|_| wrote);
        let ticket = syncer.map(Syncer::committed);
        drop(state);
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        for wake in wakes.iter() {
            for hook in hooks.iter() {
                hook(wake);
            }
        }
        Ok((value, ticket))
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job> {
        self.step(now, |step| step.create_job(spec)).await
    }

    async fn create_job_once(
        &self,
        spec: JobSpec,
        request: Request,
        now: Timestamp,
    ) -> Result<Done<JobId>> {
        self.step(now, |step| step.create_job_once(spec, request)).await
    }

    async fn amend_job(
        &self,
        job: JobId,
        change: Change,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Job> {
        self.step(now, |step| step.amend_job(job, change, expected)).await
    }

    async fn delete_job(&self, job: JobId, now: Timestamp) -> Result<()> {
        self.step(now, |step| step.delete_job(job)).await
    }

    async fn job(&self, job: JobId) -> Result<Job> {
        self.read(|state| state.load(job))
    }

    async fn job_named(&self, owner: &str, name: &str) -> Result<Option<Job>> {
        self.read(|state| state.job_named(owner, name))
    }

    async fn jobs(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        self.read(|state| state.jobs(after, limit))
    }

    async fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage> {
        self.read(|state| state.find_jobs(filter, after, limit))
    }

    async fn fire_due(&self, now: Timestamp, limit: usize, taker: Option<&Taker>) -> Result<Fired> {
        self.step(now, |step| step.fire_due(limit, taker)).await
    }

    async fn run_now(
        &self,
        job: JobId,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Execution> {
        self.step(now, |step| step.run_now(job, trace)).await
    }

    async fn run_now_once(
        &self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Done<ExecutionId>> {
        self.step(now, |step| step.run_now_once(job, request, trace)).await
    }

    async fn redrive(&self, execution: ExecutionId, now: Timestamp) -> Result<Execution> {
        self.step(now, |step| step.redrive(execution)).await
    }

    async fn claim(&self, worker: &WorkerId, terms: Terms, limit: usize) -> Result<Claimed> {
        self.step(terms.now, |step| step.claim(worker, terms, limit)).await
    }

    async fn renew(&self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>> {
        self.step(terms.now, |step| step.renew(holds, terms)).await
    }

    async fn finish(
        &self,
        finishes: Vec<Finish>,
        now: Timestamp,
    ) -> Result<Vec<Result<Execution>>> {
        // Where everything is in memory there is nothing to read.
        let mut ahead = if self.syncer.is_some() { finishes.len() } else { 0 };
        let answers = self.step(now, |step| step.finish(finishes)).await?;
        // As many as are over will begin: at a steady rate all of them are read by then.
        while ahead > 0 {
            ahead = self.lock().read_ahead(ahead, now);
        }
        Ok(answers)
    }

    async fn release(&self, holds: &[Hold], now: Timestamp) -> Result<()> {
        self.step(now, |step| step.release(holds)).await
    }

    async fn reap(&self, now: Timestamp, limit: usize) -> Result<Reaped> {
        self.step(now, |step| step.reap(limit)).await
    }

    async fn cancel(
        &self,
        execution: ExecutionId,
        cause: CancelCause,
        now: Timestamp,
    ) -> Result<()> {
        self.step(now, |step| step.cancel_execution(execution, cause)).await
    }

    async fn execution(&self, execution: ExecutionId) -> Result<Execution> {
        self.read(|state| state.execution(execution))
    }

    async fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.read(|state| state.executions(job, before, limit))
    }

    async fn live(&self, jobs: &[JobId]) -> Result<Vec<Execution>> {
        self.read(|state| {
            let live = jobs.iter().flat_map(|job| state.index.live_of(*job));
            let mut live: Vec<Execution> = live.cloned().collect();
            live.sort_by_key(|execution| execution.id);
            Ok(live)
        })
    }

    async fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.read(|state| state.dead_letters(before, limit))
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEvent>> {
        self.read(|state| audit::after(state.kv.as_ref(), after, limit))
    }

    async fn put_policy(&self, policy: QuietHours) -> Result<()> {
        self.step(Timestamp::EPOCH, |step| {
            step.put(&Key::Policy(policy.id), &policy)?;
            step.state.index.policies.insert(policy.id, policy);
            Ok(())
        })
        .await
    }

    async fn policies(&self) -> Result<Vec<QuietHours>> {
        self.read(|state| Ok(state.index.policies.values().cloned().collect()))
    }

    async fn delete_policy(&self, policy: PolicyId) -> Result<()> {
        self.step(Timestamp::EPOCH, |step| {
            if !step.state.index.policies.contains_key(&policy) {
                return Err(Error::NoSuchPolicy(policy));
            }
            let mut users = Vec::new();
            step.state.each(Table::Spec, |_, value| {
                let spec: JobSpec = record::decode(value)?;
                if spec.quiet_hours == Some(policy) {
                    users.push(spec.name.to_string());
                }
                Ok(())
            })?;
            if !users.is_empty() {
                return Err(Error::PolicyInUse(users));
            }
            step.state.index.policies.remove(&policy);
            step.delete(&Key::Policy(policy));
            Ok(())
        })
        .await
    }

    async fn save_checkpoint(&self, hold: &Hold, checkpoint: Vec<u8>) -> Result<()> {
        self.step(Timestamp::EPOCH, |step| step.save_checkpoint(hold, &checkpoint)).await
    }

    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        self.read(|state| state.read(&Key::Checkpoint(job)))
    }

    async fn put_worker(&self, worker: Worker) -> Result<()> {
        self.workers().insert(worker.id.clone(), worker);
        Ok(())
    }

    async fn workers(&self, since: Timestamp) -> Result<Vec<Worker>> {
        let workers = self.workers();
        Ok(workers.values().filter(|worker| worker.seen_at >= since).cloned().collect())
    }

    async fn stats(&self) -> Result<Stats> {
        self.read(|state| {
            let (queued, running) = state.index.queued_and_running();
            let (jobs, paused) = (state.index.jobs, state.index.paused());
            Ok(Stats { jobs, paused, queued, running, bytes: state.kv.size() })
        })
    }

    async fn count_jobs(&self) -> Result<JobCounts> {
        self.read(|state| Ok(state.count_jobs()))
    }

    async fn ready(&self) -> Result<()> {
        self.read(|_| Ok(()))?;
        if !self.failed.load(Ordering::SeqCst) {
            return Ok(());
        }
        match self.write_again().await {
            Ok(()) => Ok(()),
            // An engine that failed is opened again by a write, and takes the next.
            Err(_) => self.write_again().await,
        }
    }

    async fn flush(&self) -> Result<()> {
        match &self.syncer {
            Some(syncer) => syncer.synced(syncer.newest()).await,
            None => self.read(|state| engine(state.kv.sync())),
        }
    }

    async fn compact(&self, hook: CompactionHook) -> Result<Compacted> {
        compaction::compact(self.kv.clone(), hook).await
    }

    fn watch(&self, hook: WakeHook) {
        self.hooks.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }
}
