//! The store port: the verbs that every store must offer, each one atomic step.
//!
//! The port lives here because its words are the domain's: what a step decides comes from
//! [`mod@crate::plan`], and a store only makes it so. `now` is always an argument, because a store does
//! not know whose clock decides. One conformance suite, in `chronos-store`, says what each verb means.

mod audit;
mod compaction;
mod creation;
mod error;
mod events;
mod find;
mod journal;
mod once;
mod prune;
mod stats;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::audit::{AuditEvent, Reconciliation};
use crate::backfill::Backfills;
use crate::execution::{CancelCause, Execution, Report, Token};
use crate::job::{Job, JobSpec};
use crate::notice::Occasions;
use crate::plan::{Change, Ending, Plan};
use crate::policy::{QuietHours, Rank};
use crate::{ExecutionId, JobId, PolicyId, Timestamp, TraceId, UserId, WorkerId};
pub use audit::{AuditFilter, AuditPage, AuditWalk, group, is_of};
pub use compaction::{Compacted, CompactionHook, CompactionProgress};
pub use creation::Creation;
pub use error::{Error, Observer, Observers};
pub use events::{EventFilter, EventPage};
pub use find::{JobCounts, JobFilter, JobPage};
pub use journal::{JournalEntry, JournalPage};
pub use once::{Done, Request};
pub use prune::{Prune, Pruned, Records, midnight};
pub use stats::Stats;
pub use worker::{Roles, Worker};

/// What a verb gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// A durable memory for jobs and executions.
#[async_trait]
pub trait Store: Backfills {
    /// Adds a job at its first slot.
    async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job>;

    /// Adds jobs, each on its terms and by itself: one that is refused keeps no other from being added. One
    /// whose request is known is not made again; one whose owner has too many jobs is refused. They are made
    /// in their order, a few in each step: when the store fails, some may have been made.
    async fn create_jobs(
        &self,
        creations: Vec<Creation>,
        now: Timestamp,
    ) -> Result<Vec<Result<Done<JobId>>>>;

    /// Adds one job on its terms, as [`create_jobs`](Self::create_jobs) does.
    async fn create_job_on(&self, creation: Creation, now: Timestamp) -> Result<Done<JobId>> {
        let answers = self.create_jobs(vec![creation], now).await?;
        let nothing = || Err(Error::Unavailable("the store did not answer".into()));
        answers.into_iter().next().unwrap_or_else(nothing)
    }

    /// Edits, pauses, resumes or switches a job; settles its due slots first. `expected` refuses the change
    /// when the job has another version by now.
    async fn amend_job(
        &self,
        job: JobId,
        change: Change,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Job>;

    /// Removes a job. What waits is cancelled, what runs is asked to stop, history stays.
    async fn delete_job(&self, job: JobId, now: Timestamp) -> Result<()>;

    /// The job of this id.
    async fn job(&self, job: JobId) -> Result<Job>;

    /// The owner's job of this name, if there is one.
    async fn job_named(&self, owner: &str, name: &str) -> Result<Option<Job>>;

    /// Jobs in the order of their ids, from after a given one.
    async fn jobs(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Job>>;

    /// Jobs that a filter asks for, in the order of their ids, from after a given one. A page holds at
    /// most `limit` jobs; it may hold fewer, or none, and still say where to go on, because no page
    /// takes long.
    async fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage>;

    /// Plans up to `limit` due jobs, oldest first, of the crowd and of the others by turns, and applies each
    /// plan. What may begin at once is handed to the `taker` in the same step, as long as it has openings
    /// and nothing before it has waited longer; the rest waits to be claimed.
    async fn fire_due(&self, now: Timestamp, limit: usize, taker: Option<&Taker>) -> Result<Fired>;

    /// Queues a run now, beside the schedule, as a part of this trace if there is one.
    async fn run_now(
        &self,
        job: JobId,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Execution>;

    /// Queues a run now, unless the same request has queued one within [`Request::KEPT`]; gives back
    /// its id, also when it is gone by now.
    async fn run_now_once(
        &self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Done<ExecutionId>>;

    /// Takes an execution off the dead letters and queues the next attempt at its slot.
    async fn redrive(&self, execution: ExecutionId, now: Timestamp) -> Result<Execution>;

    /// Hands executions whose time has come to a worker that has these openings: the most urgent first, and
    /// of equals the one that has waited longest. The crowd comes after all others, but now and then before
    /// them, so that it has its turn whatever there is.
    async fn claim(&self, worker: &WorkerId, terms: Terms, openings: Openings) -> Result<Claimed>;

    /// Extends the worker's hold on these executions; answers for each, in order.
    async fn renew(&self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>>;

    /// Ends executions; answers for each, in order. One that ends nothing changes nothing.
    async fn finish(&self, finishes: Vec<Finish>, now: Timestamp)
    -> Result<Vec<Result<Execution>>>;

    /// Hands executions back that were claimed and not begun; they are queued as before.
    async fn release(&self, holds: &[Hold], now: Timestamp) -> Result<()>;

    /// Ends up to `limit` executions whose lease has run out, or which ran over their time and their
    /// worker did not stop them, and queues what follows; tells of as many that have not begun in time.
    async fn reap(&self, now: Timestamp, limit: usize) -> Result<Reaped>;

    /// Cancels an execution: at once while it waits, by request while it runs. One that is over
    /// stays as it is.
    async fn cancel(
        &self,
        execution: ExecutionId,
        cause: CancelCause,
        now: Timestamp,
    ) -> Result<()>;

    /// The execution of this id.
    async fn execution(&self, execution: ExecutionId) -> Result<Execution>;

    /// A job's executions, newest first, from before a given one.
    async fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>>;

    /// What waits and runs of these jobs, in the order of the executions' ids.
    async fn live(&self, jobs: &[JobId]) -> Result<Vec<Execution>>;

    /// Executions whose slot failed for good, newest first, from before a given one.
    async fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>>;

    /// Decisions in the order they were made, from after a given sequence.
    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEvent>>;

    /// Decisions that a filter asks for. A page holds at most `limit` of them; it may hold fewer, or none, and
    /// still say where to go on, because no page takes long, however many decisions there are.
    async fn find_audit(
        &self,
        filter: &AuditFilter,
        walk: AuditWalk,
        limit: usize,
    ) -> Result<AuditPage>;

    /// Files what a node put in order when it started.
    async fn note_reconciliation(&self, done: Reconciliation, now: Timestamp) -> Result<()>;

    /// The same store, whose verbs say that this user asked for them.
    fn on_behalf_of(&self, user: UserId) -> Arc<dyn Store>;

    /// What was decided, in the order of its commits, with the executions that came to their end by it, from
    /// after a cursor: durable entries alone, and none is ever added before the cursor of a page that was
    /// read. A page holds at most `limit` entries; it may hold fewer and still say that there are more,
    /// because no page takes long.
    async fn journal(&self, after: u64, limit: usize) -> Result<JournalPage>;

    /// Message events that a filter asks for, in order, from after a cursor: durable ones alone, and none
    /// is ever added before the cursor of a page that was read. A page holds at most `limit` events; it may
    /// hold fewer, or none, and still say where to go on, because no page takes long.
    async fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage>;

    /// The sequence of the newest message event that can be read; zero while there is none.
    async fn newest_message(&self) -> Result<u64>;

    /// Forgets those of the `limit` oldest message events that were emitted before then; says how many. The
    /// newest of all stays, because the next is numbered from it.
    async fn prune_messages(&self, before: Timestamp, limit: usize) -> Result<usize>;

    /// Forgets records from before a day, or counts those that would go; goes on where a step before it ended. The
    /// newest decisions stay, whatever their age, because the next ones are numbered from them.
    async fn prune(&self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned>;

    /// Adds a quiet-hours policy for jobs to refer to, at the time it was made at. Its name must be free, and there must be room:
    /// [`QuietHours::MOST`].
    async fn create_policy(&self, policy: QuietHours) -> Result<()>;

    /// Edits the policy of the same id, as [`QuietHours::edited`] has it: its jobs are planned by it from then
    /// on. `expected` refuses the edit when the policy has another version by now.
    async fn edit_policy(
        &self,
        edit: QuietHours,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<QuietHours>;

    /// The policy of this id.
    async fn policy(&self, policy: PolicyId) -> Result<QuietHours>;

    /// Policies in the order of their ids, from after a given one.
    async fn policies(&self, after: Option<PolicyId>, limit: usize) -> Result<Vec<QuietHours>>;

    /// Removes a policy that no job refers to.
    async fn delete_policy(&self, policy: PolicyId, now: Timestamp) -> Result<()>;

    /// Keeps what a running execution wants to find again, replacing what its job kept before.
    async fn save_checkpoint(&self, hold: &Hold, checkpoint: Vec<u8>) -> Result<()>;

    /// What an execution of the job kept last.
    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>>;

    /// Says that a worker is there and how it is. For display alone: nothing is decided by it.
    async fn put_worker(&self, worker: Worker) -> Result<()>;

    /// Workers that were seen since then, in the order of their ids.
    async fn workers(&self, since: Timestamp) -> Result<Vec<Worker>>;

    /// The time by the store's own clock, if it has one that its nodes share.
    async fn time(&self) -> Result<Option<Timestamp>> {
        Ok(None)
    }

    /// Figures about what is stored.
    async fn stats(&self) -> Result<Stats>;

    /// How many jobs have each status.
    async fn count_jobs(&self) -> Result<JobCounts>;

    /// Whether what is asked for now can be kept. A store whose last write failed tries one.
    async fn ready(&self) -> Result<()> {
        self.stats().await.map(drop)
    }

    /// What there is too much of, in a few words, while what can wait should wait: writes that are held up, or
    /// callers that queue. Answers at once, from what is known.
    fn pressure(&self) -> Option<String> {
        None
    }

    /// Makes everything acknowledged durable.
    async fn flush(&self) -> Result<()>;

    /// Gives back space that deleted records hold, in units between which it can be stopped: `hook`
    /// is told before each. Blocks no asynchronous thread.
    async fn compact(&self, hook: CompactionHook) -> Result<Compacted>;

    /// Says what is told about jobs that do not say; `None`, as at first, where there is nobody to tell.
    /// It holds for steps that are taken here, from now on.
    fn notify_on(&self, usual: Option<Occasions>);

    /// Calls `hook` whenever something may have come due earlier than last said.
    fn watch(&self, hook: WakeHook);
}

/// Told that something may be due; must return at once.
pub type WakeHook = Arc<dyn Fn(Wake) + Send + Sync>;

/// What may have come due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A job's slot: plan.
    Job,
    /// An execution's time: claim.
    Execution,
    /// A running execution was asked to stop: renew.
    Cancel,
    /// A message event can be read that could not before: deliver.
    Message,
    /// A backfill was made or goes on, or one of its runs is over: advance.
    Backfill,
}

/// When a lease is given and how long it holds.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The time of the step.
    pub now: Timestamp,
    /// How long the lease holds from then.
    pub lease: Duration,
}

/// A worker that takes what it fires.
#[derive(Clone, Debug)]
pub struct Taker {
    /// Who takes it.
    pub worker: WorkerId,
    /// How long its leases hold from the time of the step.
    pub lease: Duration,
    /// How many it takes at most.
    pub openings: Openings,
}

/// How many executions a worker takes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Openings {
    /// Of whatever rank.
    pub any: usize,
    /// Of the crowd among them.
    pub crowd: usize,
}

impl Openings {
    /// None at all.
    pub const NONE: Self = Self { any: 0, crowd: 0 };

    /// Whether one more execution of this rank is taken beside so many others.
    #[must_use]
    pub fn admit(self, rank: Rank, taken: usize, taken_of_crowd: usize) -> bool {
        taken < self.any && (!rank.is_crowd() || taken_of_crowd < self.crowd)
    }
}

impl From<usize> for Openings {
    /// As many of the crowd as of all.
    fn from(any: usize) -> Self {
        Self { any, crowd: any }
    }
}

/// What planning did, and when there is something to plan again.
#[derive(Clone, Debug, Default)]
pub struct Fired {
    /// The plans that were applied, in order.
    pub planned: Vec<Planned>,
    /// What the taker must run.
    pub claims: Vec<Claim>,
    /// Jobs whose records cannot be read: set aside until the next start, so that one of them never
    /// stops the others.
    pub unreadable: Vec<(JobId, Error)>,
    /// When the next job is due; may be past when `limit` cut the step short.
    pub next: Option<Timestamp>,
}

/// A plan that was applied.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The job.
    pub spec: Arc<JobSpec>,
    /// What was done.
    pub plan: Plan,
}

/// What was handed out, and when there is something to claim again.
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// What the worker must run.
    pub claims: Vec<Claim>,
    /// When the next waiting execution may begin for which there was an opening, or the first of all if there
    /// was none; may be past when the openings cut the step short.
    pub next: Option<Timestamp>,
}

/// An execution handed to a worker.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The job it belongs to.
    pub spec: Arc<JobSpec>,
    /// The execution, running.
    pub execution: Execution,
    /// The right to it.
    pub hold: Hold,
}

/// A worker's right to an execution, as it names it in every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The execution.
    pub execution: ExecutionId,
    /// The token of its lease.
    pub token: Token,
}

/// How the renewal of one hold went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Go on.
    Held,
    /// Go on, but stop soon: someone asked for it.
    CancelRequested(CancelCause),
    /// Stop at once: the execution is no longer the worker's.
    Lost,
}

/// The end of an execution, as its worker reports it.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The right to report it.
    pub hold: Hold,
    /// How it ended.
    pub ending: Ending,
    /// What else is known of it; it ended before it is reported.
    pub report: Report,
}

/// What reaping did, and when there is something to reap again.
#[derive(Clone, Debug, Default)]
pub struct Reaped {
    /// Executions that were ended.
    pub ended: Vec<Execution>,
    /// Executions that did not begin in time, and of which that was told.
    pub overdue: Vec<Execution>,
    /// When the next lease or time limit runs out, or the next execution is overdue.
    pub next: Option<Timestamp>,
}
