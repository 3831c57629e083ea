//! Audit: what the scheduler decided, in the order it decided it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::execution::{CancelCause, SkipReason, Trigger};
use crate::notice::Kind;
use crate::{ExecutionId, JobId, PolicyId, Timestamp};

/// One decision about one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// Its place in the store's order of decisions, from 1, without gaps.
    pub sequence: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The job it is about.
    pub job: JobId,
    /// What was decided.
    pub decision: Decision,
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

impl Decision {
    /// The type of the event, as it is stored and filtered.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Fired { .. } => "schedule.fired",
            Self::Skipped { reason: SkipReason::Missed, .. } => "schedule.missed",
            Self::Skipped { .. } | Self::Deferred { .. } => "schedule.skipped",
            Self::Created => "schedule.created",
            Self::Updated { .. } => "schedule.updated",
            Self::Paused { .. } => "schedule.paused",
            Self::Resumed { .. } | Self::Enabled => "schedule.resumed",
            Self::PolicyMissing { .. } => "schedule.policy_missing",
            Self::Redriven { .. } => "execution.redriven",
            Self::Deleted | Self::Disabled => "schedule.cancelled",
            Self::Ended { ending, .. } => match ending {
                EndingKind::Success => "execution.succeeded",
                EndingKind::Failed => "execution.failed",
                EndingKind::TimedOut => "execution.timed_out",
                EndingKind::Stuck => "execution.stuck",
                EndingKind::Cancelled => "execution.cancelled",
                EndingKind::Skipped => "execution.skipped",
            },
            Self::CancelRequested { .. } => "execution.cancel_requested",
            Self::Told { .. } => "notice.queued",
            Self::NoticeEnded { ending: EndingKind::Success, .. } => "notice.sent",
            Self::NoticeEnded { .. } => "notice.failed",
        }
    }

    /// The decision in one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Fired { slot, trigger, instead_of, .. } => {
                let how = match trigger {
                    Trigger::Schedule => format!("fired for {slot}"),
                    Trigger::CatchUp => format!("caught up the missed run of {slot}"),
                    Trigger::Manual { .. } => format!("run by hand at {slot}"),
                    Trigger::Notice(_) => format!("told of the run of {slot}"),
                };
                match instead_of {
                    None => how,
                    Some(slots) => format!("{how}, standing for {}", slots.in_words()),
                }
            }
            Self::Skipped { slots, reason: SkipReason::Missed } => {
                format!("missed {}: nobody was there to fire in time", slots.in_words())
            }
            Self::Skipped { slots, reason } => {
                let why = format!("skipped {}: {}", slots.in_words(), reason.as_str());
                reason.note().map_or(why.clone(), |note| format!("{why} ({note})"))
            }
            Self::Deferred { slot, until } => format!("quiet hours hold {slot} back until {until}"),
            Self::Created => "created".into(),
            Self::Updated { version } => format!("updated to version {version}"),
            Self::Paused { note, resume_at } => {
                let until = resume_at.map(|at| format!(" until {at}")).unwrap_or_default();
                let why = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
                format!("paused{until}{why}")
            }
            Self::Resumed { by_itself: false } => "resumed".into(),
            Self::Resumed { by_itself: true } => "resumed by itself".into(),
            Self::PolicyMissing { policy } => {
                format!(
                    "quiet-hours policy {policy} is missing or cannot be read, so nothing is held back"
                )
            }
            Self::Deleted => "deleted".into(),
            Self::Disabled => "switched off".into(),
            Self::Enabled => "switched on again".into(),
            Self::Redriven { slot, .. } => format!("the run of {slot} is tried again by hand"),
            Self::Ended { slot, ending, next_attempt, .. } => {
                let ending = format!("{ending:?}").to_lowercase();
                match next_attempt {
                    None => format!("the run of {slot} ended: {ending}"),
                    Some(at) => format!("the run of {slot} ended: {ending}; next attempt at {at}"),
                }
            }
            Self::Told { kind, about, .. } => {
                format!("{} of execution {about} is to be told", kind.as_str())
            }
            Self::NoticeEnded { kind, ending, next_attempt, .. } => {
                let ending = format!("{ending:?}").to_lowercase();
                let notice = format!("the notice of {} ended: {ending}", kind.as_str());
                match next_attempt {
                    None => notice,
                    Some(at) => format!("{notice}; next attempt at {at}"),
                }
            }
            Self::CancelRequested { cause, .. } => {
                format!("asked a run to stop: {}", cause.as_str())
            }
        }
    }
}

impl Slots {
    fn in_words(&self) -> String {
        match self.count {
            Some(1) => format!("the run of {}", self.first),
            Some(count) => format!("{count} runs from {} to {}", self.first, self.last),
            None => format!("all runs from {} to {}", self.first, self.last),
        }
    }
}
