//! The port as the embedded store answers it: each verb a step, or a read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use chronos_core::audit::{AuditEvent, Decision, Reconciliation};
use chronos_core::execution::CancelCause;
use chronos_core::notice::Occasions;
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::store::{
    AuditFilter, AuditPage, AuditWalk, Claimed, Compacted, CompactionHook, Creation, Done,
    EventFilter, EventPage, Finish, Fired, Hold, JobCounts, JobFilter, JobPage, JournalPage,
    Openings, Prune, Pruned, Reaped, Renewal, Request, Result, Stats, Store, Taker, Terms,
    WakeHook, Worker,
};
use chronos_core::{
    Execution, ExecutionId, Job, JobId, JobSpec, PolicyId, Timestamp, TraceId, UserId, WorkerId,
};

use super::keys::Key;
use super::state::engine;
use super::{EmbeddedStore, audit, compaction};

#[async_trait]
impl Store for EmbeddedStore {
    async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job> {
        self.step(now, |step| step.create_job(spec)).await
    }

    async fn create_jobs(
        &self,
        creations: Vec<Creation>,
        now: Timestamp,
    ) -> Result<Vec<Result<Done<JobId>>>> {
        let mut answers = Vec::with_capacity(creations.len());
        for part in Creation::apart(creations) {
            answers.extend(self.step(now, |step| step.create_jobs(part)).await?);
        }
        Ok(answers)
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

    async fn claim(&self, worker: &WorkerId, terms: Terms, openings: Openings) -> Result<Claimed> {
        self.step(terms.now, |step| step.claim(worker, terms, openings)).await
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
        if let Some(syncer) = self.syncer.as_ref().filter(|_| self.lock().is_quiet(now)) {
            syncer.tidy();
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

    async fn find_audit(
        &self,
        filter: &AuditFilter,
        walk: AuditWalk,
        limit: usize,
    ) -> Result<AuditPage> {
        audit::find(self.kv.as_ref(), filter, walk, limit)
    }

    async fn note_reconciliation(&self, done: Reconciliation, now: Timestamp) -> Result<()> {
        let decision = Decision::Reconciled(done);
        self.step(now, |step| {
            step.note(Arc::from(""), None, None, decision);
            Ok(())
        })
        .await
    }

    fn on_behalf_of(&self, user: UserId) -> Arc<dyn Store> {
        Arc::new(Self { shelf: self.shelf.clone(), by: Some(user) })
    }

    async fn journal(&self, after: u64, limit: usize) -> Result<JournalPage> {
        self.read_journal(after, limit)
    }

    async fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage> {
        self.read(|state| state.message_events(filter, after, limit))
    }

    async fn newest_message(&self) -> Result<u64> {
        Ok(self.outlet.readable().message)
    }

    async fn prune_messages(&self, before: Timestamp, limit: usize) -> Result<usize> {
        self.step(before, |step| step.prune_messages(limit)).await
    }

    async fn prune(&self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        self.step(prune.before, |step| step.prune(prune, from)).await
    }

    async fn create_policy(&self, policy: QuietHours) -> Result<()> {
        self.step(policy.created_at, |step| step.create_policy(policy)).await
    }

    async fn edit_policy(
        &self,
        edit: QuietHours,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<QuietHours> {
        self.step(now, |step| step.edit_policy(edit, expected)).await
    }

    async fn policy(&self, policy: PolicyId) -> Result<QuietHours> {
        self.read(|state| state.policy(policy))
    }

    async fn policies(&self, after: Option<PolicyId>, limit: usize) -> Result<Vec<QuietHours>> {
        self.read(|state| Ok(state.policies(after, limit)))
    }

    async fn delete_policy(&self, policy: PolicyId, now: Timestamp) -> Result<()> {
        self.step(now, |step| step.delete_policy(policy)).await
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

    fn pressure(&self) -> Option<String> {
        self.kv.pressure()
    }

    async fn flush(&self) -> Result<()> {
        // What was lost with a failed write must not be taken for durable.
        self.read(|_| Ok(()))?;
        match &self.syncer {
            Some(syncer) => syncer.synced(syncer.newest()).await,
            None => self.read(|state| engine(state.kv.sync())),
        }
    }

    async fn compact(&self, hook: CompactionHook) -> Result<Compacted> {
        compaction::compact(self.kv.clone(), hook).await
    }

    fn notify_on(&self, usual: Option<Occasions>) {
        self.lock().usual = usual;
    }

    fn watch(&self, hook: WakeHook) {
        self.outlet.watch(hook);
    }
}
