//! Faults: a store that fails, answers late or hangs, as its history's seed says.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::audit::{AuditEvent, Reconciliation};
use chronos_core::backfill::{Advanced, Backfill, Backfills, Entry, Switch};
use chronos_core::execution::CancelCause;
use chronos_core::notice::Occasions;
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::store::{
    AuditFilter, AuditPage, AuditWalk, Claimed, Compacted, CompactionHook, Creation, Done, Error,
    EventFilter, EventPage, Finish, Fired, Hold, JobCounts, JobFilter, JobPage, JournalPage,
    Openings, Prune, Pruned, Reaped, Renewal, Request, Result, Stats, Taker, Terms, WakeHook,
    Worker,
};
use chronos_core::{
    BackfillId, Execution, ExecutionId, Job, JobId, JobSpec, PolicyId, Store, Timestamp, TraceId,
    UserId, WorkerId,
};
use chronos_engine::clock::Clock;
use fastrand::Rng;
use tokio::sync::Notify;

use super::ledger::Ledger;

/// One engine's way to the store.
pub(super) struct Link {
    pub(super) worker: WorkerId,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    inner: Arc<dyn Store>,
    weather: Arc<Weather>,
    frozen: AtomicBool,
    thaw: Notify,
    rng: Mutex<Rng>,
}

/// What is wrong with the store for everyone.
pub(super) struct Weather {
    /// Out of a thousand calls, how many go wrong.
    pub(super) fault_rate: AtomicU64,
    /// Whether every call fails.
    pub(super) outage: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// It fails and nothing happened.
    Before,
    /// It fails and yet it happened.
    After,
    /// It happens late.
    LateStep(Duration),
    /// It happens, and the answer is late.
    LateAnswer(Duration),
}

impl Link {
    pub(super) fn new(
        worker: WorkerId,
        inner: Arc<dyn Store>,
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
        weather: Arc<Weather>,
        seed: u64,
    ) -> Self {
        let (frozen, thaw) = (AtomicBool::new(false), Notify::new());
        let rng = Mutex::new(Rng::with_seed(seed));
        Self { worker, ledger, clock, inner, weather, frozen, thaw, rng }
    }

    /// Cuts the engine off, or lets it back: its calls hang meanwhile.
    pub(super) fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, SeqCst);
        self.thaw.notify_waiters();
    }

    /// Waits until the engine is not cut off. Waiters go on in the order they came, or a history
    /// would not replay.
    async fn thawed(&self) {
        while self.frozen.load(SeqCst) {
            self.thaw.notified().await;
        }
    }

    /// By how much the wall clock leads the time that has passed, in microseconds.
    fn lead(&self) -> i64 {
        let passed = Timestamp::EPOCH.after(self.clock.monotonic());
        self.clock.now().as_micros() - passed.as_micros()
    }

    fn draw(&self) -> Fault {
        if self.weather.outage.load(SeqCst) {
            return Fault::Before;
        }
        let rate = self.weather.fault_rate.load(SeqCst);
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if rate == 0 || rng.u64(..1_000) >= rate {
            return Fault::None;
        }
        let delay = Duration::from_millis(1 << rng.u32(0..=15));
        match rng.u8(..4) {
            0 => Fault::Before,
            1 => Fault::After,
            2 => Fault::LateStep(delay),
            _ => Fault::LateAnswer(delay),
        }
    }

    /// Makes a call under today's faults. `judge` sees what the step did when it did it.
    async fn call<T>(
        &self,
        verb: &'static str,
        step: impl Future<Output = Result<T>>,
        judge: impl FnOnce(&T),
    ) -> Result<T> {
        if !self.ledger.lock().called() {
            std::future::pending::<()>().await;
        }
        let lead = self.lead();
        self.thawed().await;
        let fault = self.draw();
        if !matches!(fault, Fault::None) {
            let mut ledger = self.ledger.lock();
            ledger.count(verb);
            let at = self.clock.monotonic();
            ledger.note(at, format_args!("{}: {verb} meets {fault:?}", self.worker));
        }
        let failed = || Error::Unavailable("planned fault".into());
        if let Fault::LateStep(delay) = fault {
            tokio::time::sleep(delay).await;
            self.thawed().await;
        }
        if matches!(fault, Fault::Before) {
            return Err(failed());
        }
        if self.lead() < lead {
            // The step speaks of a time that is still to come.
            self.ledger.lock().jumped = Some(self.clock.monotonic());
        }
        let done = step.await;
        if let Ok(done) = &done {
            judge(done);
        }
        match fault {
            Fault::After => return Err(failed()),
            Fault::LateAnswer(delay) => {
                tokio::time::sleep(delay).await;
                self.thawed().await;
            }
            Fault::None | Fault::Before | Fault::LateStep(_) => {}
        }
        done
    }
}

#[async_trait]
impl Backfills for Link {
    async fn advance_backfills(&self, now: Timestamp, limit: usize) -> Result<Advanced> {
        let step = self.inner.advance_backfills(now, limit);
        self.call("faults in advance_backfills", step, |advanced| {
            assert!(advanced.fired + advanced.passed_over <= limit.max(1), "{advanced:?}");
        })
        .await
    }

    async fn create_backfill(&self, new: Backfill, now: Timestamp) -> Result<Backfill> {
        self.inner.create_backfill(new, now).await
    }

    async fn backfill(&self, backfill: BackfillId) -> Result<Backfill> {
        self.inner.backfill(backfill).await
    }

    async fn backfills(
        &self,
        job: JobId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Backfill>> {
        self.inner.backfills(job, before, limit).await
    }

    async fn switch_backfill(
        &self,
        backfill: BackfillId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Backfill> {
        self.inner.switch_backfill(backfill, switch, now).await
    }

    async fn ledger(&self, job: JobId, slots: &[Timestamp]) -> Result<Vec<Entry>> {
        self.inner.ledger(job, slots).await
    }
}

#[async_trait]
impl Store for Link {
    async fn fire_due(&self, now: Timestamp, limit: usize, taker: Option<&Taker>) -> Result<Fired> {
        let step = self.inner.fire_due(now, limit, taker);
        self.call("faults in fire_due", step, |fired| {
            let mut ledger = self.ledger.lock();
            ledger.fired(fired, now, limit);
            if let Some(Taker { worker, openings, .. }) = taker {
                ledger.claimed(worker, &fired.claims, now, openings.any);
            }
        })
        .await
    }

    async fn claim(&self, worker: &WorkerId, terms: Terms, openings: Openings) -> Result<Claimed> {
        let step = self.inner.claim(worker, terms, openings);
        self.call("faults in claim", step, |claimed| {
            self.ledger.lock().claimed(worker, &claimed.claims, terms.now, openings.any);
        })
        .await
    }

    async fn renew(&self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>> {
        let step = self.inner.renew(holds, terms);
        self.call("faults in renew", step, |renewals| {
            for (hold, renewal) in holds.iter().zip(renewals) {
                let lost = *renewal == Renewal::Lost;
                self.ledger.lock().renewed(*hold, lost);
            }
        })
        .await
    }

    async fn finish(
        &self,
        finishes: Vec<Finish>,
        now: Timestamp,
    ) -> Result<Vec<Result<Execution>>> {
        let holds: Vec<Hold> = finishes.iter().map(|finish| finish.hold).collect();
        let step = self.inner.finish(finishes, now);
        self.call("faults in finish", step, |answers| {
            for (hold, answer) in holds.iter().zip(answers) {
                self.ledger.lock().finished(*hold, answer);
            }
        })
        .await
    }

    async fn release(&self, holds: &[Hold], now: Timestamp) -> Result<()> {
        let step = self.inner.release(holds, now);
        self.call("faults in release", step, |()| {
            let mut ledger = self.ledger.lock();
            ledger.count("claims released");
            ledger.released(holds);
        })
        .await
    }

    async fn reap(&self, now: Timestamp, limit: usize) -> Result<Reaped> {
        let judge = |reaped: &Reaped| self.ledger.lock().reaped(reaped, limit);
        self.call("faults in reap", self.inner.reap(now, limit), judge).await
    }

    // The rest is not an engine's business; the world calls it on the store itself.

    async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job> {
        self.inner.create_job(spec, now).await
    }

    async fn create_jobs(
        &self,
        creations: Vec<Creation>,
        now: Timestamp,
    ) -> Result<Vec<Result<Done<JobId>>>> {
        self.inner.create_jobs(creations, now).await
    }

    async fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage> {
        self.inner.find_jobs(filter, after, limit).await
    }

    async fn run_now_once(
        &self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Done<ExecutionId>> {
        self.inner.run_now_once(job, request, trace, now).await
    }

    async fn redrive(&self, execution: ExecutionId, now: Timestamp) -> Result<Execution> {
        self.inner.redrive(execution, now).await
    }

    async fn count_jobs(&self) -> Result<JobCounts> {
        self.inner.count_jobs().await
    }

    async fn amend_job(
        &self,
        job: JobId,
        change: Change,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Job> {
        self.inner.amend_job(job, change, expected, now).await
    }

    async fn delete_job(&self, job: JobId, now: Timestamp) -> Result<()> {
        self.inner.delete_job(job, now).await
    }

    async fn job(&self, job: JobId) -> Result<Job> {
        self.inner.job(job).await
    }

    async fn job_named(&self, owner: &str, name: &str) -> Result<Option<Job>> {
        self.inner.job_named(owner, name).await
    }

    async fn jobs(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        self.inner.jobs(after, limit).await
    }

    async fn run_now(
        &self,
        job: JobId,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Execution> {
        self.inner.run_now(job, trace, now).await
    }

    async fn cancel(
        &self,
        execution: ExecutionId,
        cause: CancelCause,
        now: Timestamp,
    ) -> Result<()> {
        self.inner.cancel(execution, cause, now).await
    }

    async fn execution(&self, execution: ExecutionId) -> Result<Execution> {
        self.inner.execution(execution).await
    }

    async fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.inner.executions(job, before, limit).await
    }

    async fn live(&self, jobs: &[JobId]) -> Result<Vec<Execution>> {
        self.inner.live(jobs).await
    }

    async fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.inner.dead_letters(before, limit).await
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEvent>> {
        self.inner.audit(after, limit).await
    }

    async fn find_audit(
        &self,
        filter: &AuditFilter,
        walk: AuditWalk,
        limit: usize,
    ) -> Result<AuditPage> {
        self.inner.find_audit(filter, walk, limit).await
    }

    async fn note_reconciliation(&self, done: Reconciliation, now: Timestamp) -> Result<()> {
        self.inner.note_reconciliation(done, now).await
    }

    fn on_behalf_of(&self, user: UserId) -> Arc<dyn Store> {
        self.inner.on_behalf_of(user)
    }

    async fn journal(&self, after: u64, limit: usize) -> Result<JournalPage> {
        self.inner.journal(after, limit).await
    }

    async fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage> {
        self.inner.message_events(filter, after, limit).await
    }

    async fn newest_message(&self) -> Result<u64> {
        self.inner.newest_message().await
    }

    async fn prune_messages(&self, before: Timestamp, limit: usize) -> Result<usize> {
        self.inner.prune_messages(before, limit).await
    }

    async fn prune(&self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        self.inner.prune(prune, from).await
    }

    async fn create_policy(&self, policy: QuietHours) -> Result<()> {
        self.inner.create_policy(policy).await
    }

    async fn edit_policy(
        &self,
        edit: QuietHours,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<QuietHours> {
        self.inner.edit_policy(edit, expected, now).await
    }

    async fn policy(&self, policy: PolicyId) -> Result<QuietHours> {
        self.inner.policy(policy).await
    }

    async fn policies(&self, after: Option<PolicyId>, limit: usize) -> Result<Vec<QuietHours>> {
        self.inner.policies(after, limit).await
    }

    async fn delete_policy(&self, policy: PolicyId, now: Timestamp) -> Result<()> {
        self.inner.delete_policy(policy, now).await
    }

    async fn save_checkpoint(&self, hold: &Hold, checkpoint: Vec<u8>) -> Result<()> {
        self.inner.save_checkpoint(hold, checkpoint).await
    }

    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        self.inner.checkpoint(job).await
    }

    async fn put_worker(&self, worker: Worker) -> Result<()> {
        self.inner.put_worker(worker).await
    }

    async fn workers(&self, since: Timestamp) -> Result<Vec<Worker>> {
        self.inner.workers(since).await
    }

    async fn stats(&self) -> Result<Stats> {
        self.inner.stats().await
    }

    async fn flush(&self) -> Result<()> {
        self.inner.flush().await
    }

    async fn compact(&self, hook: CompactionHook) -> Result<Compacted> {
        self.inner.compact(hook).await
    }

    fn notify_on(&self, usual: Option<Occasions>) {
        self.inner.notify_on(usual);
    }

    fn watch(&self, hook: WakeHook) {
        self.inner.watch(hook);
    }
}
