//! The store on PostgreSQL, which the nodes of a cluster share.
//!
//! Each verb is one transaction: it locks the jobs it is about, asks the domain what to do, and writes the
//! answer in a few statements, however many jobs that are. `docs/adr/0011-postgres-layout.md` says why the
//! tables are as they are.

mod accounts;
mod apply;
mod audit;
mod backfills;
mod columns;
mod compaction;
mod config;
mod due;
mod executions;
mod fault;
mod find;
mod finishing;
mod held;
mod horizon;
mod jobs;
mod journal;
mod messages;
mod migrate;
mod overdue;
mod partitions;
mod policies;
mod prune;
mod reads;
mod ready;
mod requests;
mod rows;
mod session;
mod shared;
mod specs;
mod statements;
mod step;
mod subscriptions;
mod syncer;
mod tasks;
mod values;
mod wake;
mod workers;
mod write;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::account::Act;
use chronos_core::audit::{AuditEvent, Reconciliation};
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

pub use config::PostgresConfig;
pub use migrate::SCHEMA_VERSION;
use shared::Shared;
use tasks::Tasks;

use crate::OpenError;

/// A store in a PostgreSQL database, shared by any number of nodes.
pub struct PostgresStore {
    shared: Arc<Shared>,
    /// Kept for as long as there is a handle to the store.
    tasks: Arc<Tasks>,
    /// The user who asks for its steps.
    by: Option<UserId>,
}

impl PostgresStore {
    /// Opens the store, after bringing its schema up to date. To be called on a tokio runtime, which also
    /// runs the store's tasks for as long as the store is there.
    pub async fn open(config: PostgresConfig) -> std::result::Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(config)?);
        migrate::migrate(&shared.options, &shared.config.schema).await?;
        let tasks = Arc::new(Tasks::start(&shared));
        Ok(Self { shared, tasks, by: None })
    }

    /// Writes digests of the audit that are missing, as the store does by itself every now and then; says how
    /// many.
    #[doc(hidden)]
    pub async fn digest_audit(&self) -> Result<usize> {
        self.shared.digest_audit().await
    }

    fn act(&self, at: Timestamp) -> Act {
        Act { at, by: self.by, from: None }
    }

    /// What the database's clock shows, so that a node may know how far its own is off.
    pub async fn database_time(&self) -> Result<Timestamp> {
        self.shared.database_time().await
    }
}

/// Brings the schema up to date, as opening the store does; says how many migrations that took.
pub async fn migrate(config: &PostgresConfig) -> std::result::Result<usize, OpenError> {
    config.check()?;
    migrate::migrate(&shared::connect_options(config)?, &config.schema).await
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job> {
        self.shared.create_job(spec, self.act(now)).await
    }

    async fn create_jobs(
        &self,
        creations: Vec<Creation>,
        now: Timestamp,
    ) -> Result<Vec<Result<Done<JobId>>>> {
        self.shared.create_jobs(creations, self.act(now)).await
    }

    async fn amend_job(
        &self,
        job: JobId,
        change: Change,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Job> {
        self.shared.amend_job(job, change, expected, self.act(now)).await
    }

    async fn delete_job(&self, job: JobId, now: Timestamp) -> Result<()> {
        self.shared.delete_job(job, self.act(now)).await
    }

    async fn job(&self, job: JobId) -> Result<Job> {
        self.shared.job(job).await
    }

    async fn job_named(&self, owner: &str, name: &str) -> Result<Option<Job>> {
        self.shared.job_named(owner, name).await
    }

    async fn jobs(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        self.shared.jobs(after, limit).await
    }

    async fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage> {
        self.shared.find_jobs(filter, after, limit).await
    }

    async fn fire_due(&self, now: Timestamp, limit: usize, taker: Option<&Taker>) -> Result<Fired> {
        self.shared.fire_due(now, limit, taker).await
    }

    async fn run_now(
        &self,
        job: JobId,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Execution> {
        self.shared.run_now(job, trace, self.act(now)).await
    }

    async fn run_now_once(
        &self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Done<ExecutionId>> {
        self.shared.run_now_once(job, request, trace, self.act(now)).await
    }

    async fn redrive(&self, execution: ExecutionId, now: Timestamp) -> Result<Execution> {
        self.shared.redrive(execution, self.act(now)).await
    }

    async fn claim(&self, worker: &WorkerId, terms: Terms, openings: Openings) -> Result<Claimed> {
        self.shared.claim(worker, terms, openings).await
    }

    async fn renew(&self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>> {
        self.shared.renew(holds, terms).await
    }

    async fn finish(
        &self,
        finishes: Vec<Finish>,
        now: Timestamp,
    ) -> Result<Vec<Result<Execution>>> {
        self.shared.finish(finishes, now).await
    }

    async fn release(&self, holds: &[Hold], now: Timestamp) -> Result<()> {
        self.shared.release(holds, now).await
    }

    async fn reap(&self, now: Timestamp, limit: usize) -> Result<Reaped> {
        self.shared.reap(now, limit).await
    }

    async fn cancel(
        &self,
        execution: ExecutionId,
        cause: CancelCause,
        now: Timestamp,
    ) -> Result<()> {
        self.shared.cancel(execution, cause, self.act(now)).await
    }

    async fn execution(&self, execution: ExecutionId) -> Result<Execution> {
        self.shared.execution(execution).await
    }

    async fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.shared.executions(job, before, limit).await
    }

    async fn live(&self, jobs: &[JobId]) -> Result<Vec<Execution>> {
        self.shared.live(jobs).await
    }

    async fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        self.shared.dead_letters(before, limit).await
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEvent>> {
        self.shared.audit(after, limit).await
    }

    async fn find_audit(
        &self,
        filter: &AuditFilter,
        walk: AuditWalk,
        limit: usize,
    ) -> Result<AuditPage> {
        self.shared.find_audit(filter, walk, limit).await
    }

    async fn note_reconciliation(&self, done: Reconciliation, now: Timestamp) -> Result<()> {
        self.shared.note_reconciliation(done, now).await
    }

    fn on_behalf_of(&self, user: UserId) -> Arc<dyn Store> {
        let (shared, tasks) = (self.shared.clone(), self.tasks.clone());
        Arc::new(Self { shared, tasks, by: Some(user) })
    }

    async fn journal(&self, after: u64, limit: usize) -> Result<JournalPage> {
        self.shared.journal(after, limit).await
    }

    async fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage> {
        self.shared.message_events(filter, after, limit).await
    }

    async fn newest_message(&self) -> Result<u64> {
        self.shared.newest_message().await
    }

    async fn prune_messages(&self, before: Timestamp, limit: usize) -> Result<usize> {
        self.shared.prune_messages(before, limit).await
    }

    async fn prune(&self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        self.shared.prune(prune, from).await
    }

    async fn create_policy(&self, policy: QuietHours) -> Result<()> {
        self.shared.create_policy(&policy, self.act(policy.created_at)).await
    }

    async fn edit_policy(
        &self,
        edit: QuietHours,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<QuietHours> {
        self.shared.edit_policy(edit, expected, self.act(now)).await
    }

    async fn policy(&self, policy: PolicyId) -> Result<QuietHours> {
        self.shared.policy(policy).await
    }

    async fn policies(&self, after: Option<PolicyId>, limit: usize) -> Result<Vec<QuietHours>> {
        self.shared.policies(after, limit).await
    }

    async fn delete_policy(&self, policy: PolicyId, now: Timestamp) -> Result<()> {
        self.shared.delete_policy(policy, self.act(now)).await
    }

    async fn save_checkpoint(&self, hold: &Hold, checkpoint: Vec<u8>) -> Result<()> {
        self.shared.save_checkpoint(hold, &checkpoint).await
    }

    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        self.shared.checkpoint(job).await
    }

    async fn put_worker(&self, worker: Worker) -> Result<()> {
        self.shared.put_worker(&worker).await
    }

    async fn workers(&self, since: Timestamp) -> Result<Vec<Worker>> {
        self.shared.workers(since).await
    }

    async fn time(&self) -> Result<Option<Timestamp>> {
        self.shared.database_time().await.map(Some)
    }

    async fn stats(&self) -> Result<Stats> {
        self.shared.stats().await
    }

    async fn count_jobs(&self) -> Result<JobCounts> {
        self.shared.count_jobs().await
    }

    async fn ready(&self) -> Result<()> {
        self.shared.ready().await
    }

    fn pressure(&self) -> Option<String> {
        let pool = &self.shared.pool;
        let queue = pool.num_idle() == 0 && pool.size() >= self.shared.config.connections;
        queue.then(|| "every connection to the database is in use".into())
    }

    async fn flush(&self) -> Result<()> {
        self.shared.flush().await
    }

    async fn compact(&self, hook: CompactionHook) -> Result<Compacted> {
        self.shared.compact(hook).await
    }

    fn notify_on(&self, usual: Option<Occasions>) {
        self.shared.notify_on(usual);
    }

    fn watch(&self, hook: WakeHook) {
        self.shared.wakes.watch(hook);
    }
}
