//! Audit: what was decided, in the order in which it was decided. Nothing changes it afterwards.

mod kind;
mod words;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backfill::Counts;
use crate::execution::{CancelCause, SkipReason, Trigger};
use crate::notice::Kind;
use crate::{ExecutionId, JobId, PolicyId, Timestamp, TraceId, UserId, WorkerId};

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// Its place in the store's order of decisions, from 1, without gaps.
    pub sequence: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The user who asked for it; nobody where the scheduler decided by itself, or somebody asked who is no
    /// user.
    pub by: Option<UserId>,
    /// Whose the job or the policy is that it is about; empty where it is about neither.
    pub owner: Arc<str>,
    /// The job it is about, if it is about one.
    pub job: Option<JobId>,
    /// The trace that somebody else began, or that nothing else tells.
    pub trace: Option<TraceId>,
    /// What was decided.
    pub decision: Decision,
}

impl AuditEvent {
    /// The trace that it belongs to, if it is about a run: that of whoever asked for it, else the run's own.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        let own = || match &self.decision {
            Decision::Fired { execution, .. } => Some((*execution).into()),
            Decision::Ended { slot, .. } | Decision::Redriven { slot, .. } => {
                Some(ExecutionId::of(self.job?, *slot, &Trigger::Schedule, 1).into())
            }
            _ => None,
        };
        self.trace.or_else(own)
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// A slot fired.
    Fired {
        /// The slot.
        slot: Timestamp,
        /// The execution that it became.
        execution: ExecutionId,
        /// What asked for it.
        trigger: Trigger,
        /// Missed slots that this run stands for.
        instead_of: Option<Slots>,
    },
    /// Slots were passed over.
    Skipped {
        /// Which.
        slots: Slots,
        /// Why.
        reason: SkipReason,
    },
    /// A slot waits for the end of quiet hours.
    Deferred {
        /// The slot.
        slot: Timestamp,
        /// When it will fire.
        until: Timestamp,
    },
    /// The job was made.
    Created,
    /// The job was edited.
    Updated {
        /// Its new version.
        version: u64,
    },
    /// The job was paused, or what was said about its pause was changed.
    Paused {
        /// What the person wrote.
        note: Option<Arc<str>>,
        /// When it resumes by itself, if it does.
        resume_at: Option<Timestamp>,
    },
    /// The job was resumed.
    Resumed {
        /// Whether it did so by itself, because its time had come.
        by_itself: bool,
    },
    /// The quiet hours that the job observes are missing or cannot be read, so they held nothing back.
    PolicyMissing {
        /// The policy that it refers to.
        policy: PolicyId,
    },
    /// The job was deleted.
    Deleted,
    /// An execution came to its end.
    Ended {
        /// The execution.
        execution: ExecutionId,
        /// Its slot.
        slot: Timestamp,
        /// How it ended.
        ending: EndingKind,
        /// When its next attempt may begin, if it has one.
        next_attempt: Option<Timestamp>,
    },
    /// An execution was asked to stop.
    CancelRequested {
        /// The execution.
        execution: ExecutionId,
        /// Who asked.
        cause: CancelCause,
    },
    /// The job was switched off.
    Disabled,
    /// The job was switched on again.
    Enabled,
    /// A slot that had failed for good is tried again.
    Redriven {
        /// The slot.
        slot: Timestamp,
        /// The attempt at it.
        execution: ExecutionId,
    },
    /// Something is to be told about an execution.
    Told {
        /// The execution that tells it.
        notice: ExecutionId,
        /// What is told.
        kind: Kind,
        /// The execution that it is about.
        about: ExecutionId,
    },
    /// An attempt at telling something came to its end.
    NoticeEnded {
        /// The execution that told it, or did not.
        notice: ExecutionId,
        /// What was to be told.
        kind: Kind,
        /// How it ended.
        ending: EndingKind,
        /// When its next attempt may begin, if it has one.
        next_attempt: Option<Timestamp>,
    },
    /// A quiet-hours policy was made.
    PolicyCreated {
        /// Which.
        policy: PolicyId,
        /// What it is called.
        name: Arc<str>,
    },
    /// A quiet-hours policy was edited.
    PolicyUpdated {
        /// Which.
        policy: PolicyId,
        /// What it is called now.
        name: Arc<str>,
        /// Its new version.
        version: u64,
    },
    /// A quiet-hours policy was removed.
    PolicyDeleted {
        /// Which.
        policy: PolicyId,
        /// What it was called; empty where its record could not be read.
        name: Arc<str>,
    },
    /// A node that started put in order what it found, before it went on.
    Reconciled(Reconciliation),
    /// Something became of a backfill of the job.
    Backfill {
        /// Which of the job's backfills.
        number: u64,
        /// What became of it.
        act: BackfillAct,
    },
}

/// What becomes of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackfillAct {
    /// Somebody asked for it.
    Created {
        /// Slots from here on.
        from: Timestamp,
        /// And before here.
        to: Timestamp,
        /// How many slots it goes through.
        total: u64,
        /// Whether it does those again that have run.
        force: bool,
    },
    /// Somebody paused it.
    Paused,
    /// Somebody had it go on.
    Resumed,
    /// Somebody cancelled it, or its job was switched off or deleted.
    Cancelled,
    /// All of its slots have run, or had run.
    Finished(Counts),
}

/// What a node that starts puts in order before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// The node.
    pub worker: WorkerId,
    /// Executions that a node before it, or another one that is dead, had left behind.
    pub lost: u64,
    /// Jobs there are.
    pub jobs: u64,
    /// Jobs whose slots had come due, and which were planned.
    pub planned: u64,
    /// Slots that fired, on time or caught up.
    pub fired: u64,
    /// Slots that nobody was there to fire in time, and that did not fire; ranges that only enumerating could
    /// count are taken for one.
    pub missed: u64,
    /// Slots that were skipped for any other reason, counted alike.
    pub skipped: u64,
    /// Slots that wait for the end of quiet hours.
    pub deferred: u64,
    /// Jobs whose records cannot be read.
    pub unreadable: u64,
    /// How long it took.
    pub took: Duration,
    /// Whether that was all; what took too long was left to the node's loops.
    pub complete: bool,
}

impl Reconciliation {
    /// That of a node which has found this many runs left behind, and nothing else yet.
    #[must_use]
    pub fn begin(worker: WorkerId, lost: u64) -> Self {
        Self {
            worker,
            lost,
            jobs: 0,
            planned: 0,
            fired: 0,
            missed: 0,
            skipped: 0,
            deferred: 0,
            unreadable: 0,
            took: Duration::ZERO,
            complete: true,
        }
    }
}

/// How something came out, at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Success,
    /// Not as it should.
    Failure,
    /// Something was kept from happening, as somebody wants it.
    Suppressed,
    /// Neither.
    Info,
}

impl Outcome {
    /// The outcome as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Suppressed => "suppressed",
            Self::Info => "info",
        }
    }
}

/// A run of consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// How many; `None` where only enumerating them could tell.
    pub count: Option<u64>,
}

impl Slots {
    /// A single slot.
    #[must_use]
    pub fn one(slot: Timestamp) -> Self {
        Self { first: slot, last: slot, count: Some(1) }
    }

    /// Whether the slot is among them.
    #[must_use]
    pub fn contains(&self, slot: Timestamp) -> bool {
        (self.first..=self.last).contains(&slot)
    }
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndingKind {
    /// By itself.
    Success,
    /// With an error.
    Failed,
    /// Over its time.
    TimedOut,
    /// With its worker.
    Stuck,
    /// On request.
    Cancelled,
    /// The job found nothing to do.
    Skipped,
}
