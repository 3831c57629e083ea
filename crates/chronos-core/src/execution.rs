//! Executions: one attempt at one slot, from queued to its end, as a state machine of types.

mod run;
mod told;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::notice::{self, Notice};
use crate::policy::{Rank, retry};
use crate::{ExecutionId, JobId, Timestamp, TraceId, WorkerId};
pub use run::{Report, Response, Run};
pub(crate) use told::{LOST, TIMED_OUT};

/// One attempt at one slot of a job, or the record that the slot was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Identifies this attempt.
    pub id: ExecutionId,
    /// The job it belongs to.
    pub job: JobId,
    /// The nominal time it is for.
    pub slot: Timestamp,
    /// What asked for it.
    pub trigger: Trigger,
    /// When it may begin: the slot, later by jitter or by the delay of a retry.
    pub run_at: Timestamp,
    /// Which attempt at the slot this is, from 1; never used twice for a slot.
    pub attempt: u32,
    /// How many retries came before it.
    pub retry: u32,
    /// How many attempts at the slot were lost with the worker that made them.
    pub lost: u32,
    /// Whether it goes before others when they wait for a worker.
    pub rank: Rank,
    /// The trace of whoever asked for it, if there is one.
    pub trace: Option<TraceId>,
    /// When it is overdue unless it has begun; `None` once that was told, or where nobody wants to know.
    pub overdue_at: Option<Timestamp>,
    /// How far it has come.
    pub state: State,
}

/// What asked for an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// The slot came due.
    Schedule,
    /// The slot was missed and caught up.
    CatchUp,
    /// Someone asked for a run now.
    Manual {
        /// Counts the manual runs of the job, so that two at one instant stay two.
        number: u64,
    },
    /// Something about another execution of the job is to be told.
    Notice(Arc<Notice>),
    /// A backfill asked for the slot.
    Backfill {
        /// Which of the job's backfills.
        number: u64,
        /// Whether the slot had run before, and is done again.
        again: bool,
    },
}

impl Trigger {
    /// Whether the run belongs to the schedule rather than to a person.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        match self {
            Self::Schedule | Self::CatchUp => true,
            Self::Manual { .. } | Self::Notice(_) | Self::Backfill { .. } => false,
        }
    }

    /// The number of the backfill that asked for it, if one did.
    #[must_use]
    pub fn backfill(&self) -> Option<u64> {
        match self {
            Self::Backfill { number, .. } => Some(*number),
            Self::Schedule | Self::CatchUp | Self::Manual { .. } | Self::Notice(_) => None,
        }
    }

    /// Whether a pause of its job keeps the run from beginning.
    #[must_use]
    pub fn waits_out_pauses(&self) -> bool {
        self.is_scheduled() || self.backfill().is_some()
    }

    /// The trigger's name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catch_up",
            Self::Manual { .. } => "manual",
            Self::Notice(_) => "notice",
            Self::Backfill { .. } => "backfill",
        }
    }
}

/// How far an execution has come, with exactly the data of that state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Waiting for its time and for a worker; a held one also waits for an earlier run to end.
    Queued {
        /// Whether an earlier run, or a pause, keeps it from being claimed.
        held: bool,
    },
    /// A worker has it.
    Running(Running),
    /// It reached its end by itself.
    Success(Run),
    /// The job said no, panicked, or the target refused.
    Failed(Run, Failure),
    /// It ran longer than it may.
    TimedOut(Run),
    /// Its worker died, froze or was cut off.
    Stuck(Run),
    /// It was stopped, or never begun, on request.
    Cancelled {
        /// The run that was stopped, if it had begun.
        run: Option<Run>,
        /// Who asked.
        cause: CancelCause,
        /// When it ended.
        at: Timestamp,
    },
    /// The slot was passed over.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// When that was decided.
        at: Timestamp,
    },
}

/// A worker's hold on an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The right to it.
    pub lease: Lease,
    /// When the worker took it.
    pub started_at: Timestamp,
    /// When the worker last said that it is alive.
    pub heartbeat_at: Timestamp,
    /// Who asked for it to stop, if anyone did.
    pub cancel: Option<CancelCause>,
    /// When it has run as long as it may.
    pub deadline: Option<Timestamp>,
}

/// A worker's right to an execution until a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who holds it.
    pub worker: WorkerId,
    /// Grows with every claim; a write that names an older one is refused.
    pub token: Token,
    /// When others may take it.
    pub expires_at: Timestamp,
}

/// A fencing token: larger than every one handed out before it by the same store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u64);

/// Why a run failed and whether trying again could help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whether a retry is worth it.
    pub class: retry::Class,
    /// What went wrong, for people.
    pub message: Arc<str>,
    /// How long the target asked us to wait.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that may pass by itself.
    #[must_use]
    pub fn transient(message: &str) -> Self {
        Self { class: retry::Class::Transient, message: message.into(), retry_after: None }
    }

    /// A failure that will repeat itself.
    #[must_use]
    pub fn permanent(message: &str) -> Self {
        Self { class: retry::Class::Permanent, message: message.into(), retry_after: None }
    }
}

/// Who asked for an execution to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CancelCause {
    /// A person.
    User,
    /// A newer slot of a job whose runs replace each other.
    Replaced,
    /// The job was deleted.
    JobDeleted,
    /// The node stopped and the run did not end within its grace.
    Shutdown,
}

impl CancelCause {
    /// The cause in a word or two.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "by a user",
            Self::Replaced => "replaced by the next run",
            Self::JobDeleted => "job deleted",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Why a slot was passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkipReason {
    /// An earlier run of the job was still alive.
    Overlap,
    /// The job was paused, and why, if its pause says so.
    Paused(Option<Arc<str>>),
    /// The job's quiet hours held.
    QuietHours,
    /// Nobody was there to fire it in time and its policy does not catch up.
    Missed,
    /// The next slot came due while this one waited for a retry.
    Superseded,
    /// The job itself found nothing to do.
    ByJob(Arc<str>),
}

impl SkipReason {
    /// What a job says that did not run because the store or its node had too much to do.
    pub const BACKPRESSURE: &'static str = "backpressure";

    /// The reason as it is stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Overlap => "overlap",
            Self::Paused(_) => "paused",
            Self::QuietHours => "quiet_hours",
            Self::Missed => "missed",
            Self::Superseded => "superseded",
            Self::ByJob(reason) => reason,
        }
    }

    /// What somebody wrote about it.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Paused(note) => note.as_deref(),
            Self::Overlap | Self::QuietHours | Self::Missed | Self::Superseded | Self::ByJob(_) => {
                None
            }
        }
    }
}

impl Execution {
    /// The first attempt at a slot, waiting to be claimed.
    #[must_use]
    pub fn queued(job: JobId, slot: Timestamp, trigger: Trigger, run_at: Timestamp) -> Self {
        let state = State::Queued { held: false };
        Self::first(job, slot, trigger, run_at, state)
    }

    /// The same execution as another attempt at its slot.
    pub(crate) fn nth(self, attempt: u32) -> Self {
        let id = ExecutionId::of(self.job, self.slot, &self.trigger, attempt);
        Self { id, attempt, ..self }
    }

    /// The record that a slot was passed over.
    #[must_use]
    pub fn skipped(job: JobId, slot: Timestamp, reason: SkipReason, at: Timestamp) -> Self {
        Self::first(job, slot, Trigger::Schedule, slot, State::Skipped { reason, at })
    }

    fn first(
        job: JobId,
        slot: Timestamp,
        trigger: Trigger,
        run_at: Timestamp,
        state: State,
    ) -> Self {
        let id = ExecutionId::of(job, slot, &trigger, 1);
        let (attempt, retry, lost, trace) = (1, 0, 0, None);
        Self {
            id,
            job,
            slot,
            trigger,
            run_at,
            attempt,
            retry,
            lost,
            rank: Rank::default(),
            trace,
            overdue_at: None,
            state,
        }
    }

    /// The trace that it belongs to: that of whoever asked for it, else one of its own, which all
    /// attempts at the slot share.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        let first = ExecutionId::of(self.job, self.slot, &self.trigger, 1);
        self.trace.unwrap_or_else(|| first.into())
    }

    /// The trace that it belongs to, where its job and its slot do not tell it.
    #[must_use]
    pub fn told_trace(&self) -> Option<TraceId> {
        let told = self.trace.is_some() || !self.trigger.is_scheduled();
        told.then(|| self.trace_id())
    }

    /// The next attempt at the same slot, waiting to be claimed from `run_at` on.
    #[must_use]
    pub fn again(&self, run_at: Timestamp) -> Self {
        let attempt = self.attempt.saturating_add(1);
        Self {
            id: ExecutionId::of(self.job, self.slot, &self.trigger, attempt),
            attempt,
            run_at,
            // Its slot has begun.
            overdue_at: None,
            state: State::Queued { held: false },
            ..self.clone()
        }
    }

    /// What it tells about another execution, if it is a notice and no run of its job.
    #[must_use]
    pub fn notice(&self) -> Option<&Notice> {
        match &self.trigger {
            Trigger::Notice(notice) => Some(notice),
            Trigger::Schedule
            | Trigger::CatchUp
            | Trigger::Manual { .. }
            | Trigger::Backfill { .. } => None,
        }
    }

    /// How long it may take, as an execution of this job.
    #[must_use]
    pub fn limit(&self, spec: &JobSpec) -> Option<Duration> {
        if self.notice().is_some() { Some(notice::LIMIT) } else { spec.max_execution_time }
    }

    /// Whether it still waits or runs.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self.state {
            State::Queued { .. } | State::Running(_) => true,
            State::Success(_)
            | State::Failed(..)
            | State::TimedOut(_)
            | State::Stuck(_)
            | State::Cancelled { .. }
            | State::Skipped { .. } => false,
        }
    }

    /// Whether it waits, held or not.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        matches!(self.state, State::Queued { .. })
    }

    /// Whether it waits for an earlier run to end.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Queued { held: true })
    }

    /// Whether it is a retry that nobody has begun yet.
    #[must_use]
    pub fn is_waiting_retry(&self) -> bool {
        self.retry > 0 && self.is_queued()
    }

    /// The worker's hold on it, while it runs.
    #[must_use]
    pub fn running(&self) -> Option<&Running> {
        match &self.state {
            State::Running(running) => Some(running),
            _ => None,
        }
    }

    /// The finished run, if one was begun and is over.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &self.state {
            State::Success(run)
            | State::Failed(run, _)
            | State::TimedOut(run)
            | State::Stuck(run)
            | State::Cancelled { run: Some(run), .. } => Some(run),
            State::Queued { .. }
            | State::Running(_)
            | State::Cancelled { run: None, .. }
            | State::Skipped { .. } => None,
        }
    }
}

impl Running {
    /// The hold of a worker that takes an execution now.
    #[must_use]
    pub fn begin(lease: Lease, now: Timestamp) -> Self {
        Self { lease, started_at: now, heartbeat_at: now, cancel: None, deadline: None }
    }

    /// The same hold, renewed until `expires_at`.
    pub fn renew(&mut self, now: Timestamp, expires_at: Timestamp) {
        self.heartbeat_at = now;
        self.lease.expires_at = expires_at;
    }
}
