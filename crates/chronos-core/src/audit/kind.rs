//! Decisions at a glance: their types, how they came out, who decides them and what they are about.

use super::{BackfillAct, Decision, EndingKind, Outcome, Slots};
use crate::execution::{CancelCause, SkipReason, Trigger};
use crate::{ExecutionId, PolicyId, Timestamp};

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
            Self::PolicyCreated { .. } => "policy.created",
            Self::PolicyUpdated { .. } => "policy.updated",
            Self::PolicyDeleted { .. } => "policy.deleted",
            Self::Reconciled(_) => "node.reconciled",
            Self::Backfill { act, .. } => match act {
                BackfillAct::Created { .. } => "backfill.created",
                BackfillAct::Paused => "backfill.paused",
                BackfillAct::Resumed => "backfill.resumed",
                BackfillAct::Cancelled => "backfill.cancelled",
                BackfillAct::Finished(_) => "backfill.finished",
            },
        }
    }

    /// Every type of decision there is.
    pub const KINDS: [&'static str; 29] = [
        "schedule.fired",
        "schedule.skipped",
        "schedule.missed",
        "schedule.created",
        "schedule.updated",
        "schedule.paused",
        "schedule.resumed",
        "schedule.cancelled",
        "schedule.policy_missing",
        "execution.succeeded",
        "execution.failed",
        "execution.timed_out",
        "execution.stuck",
        "execution.cancelled",
        "execution.skipped",
        "execution.cancel_requested",
        "execution.redriven",
        "notice.queued",
        "notice.sent",
        "notice.failed",
        "policy.created",
        "policy.updated",
        "policy.deleted",
        "node.reconciled",
        "backfill.created",
        "backfill.paused",
        "backfill.resumed",
        "backfill.cancelled",
        "backfill.finished",
    ];

    /// How it came out.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Fired { .. } => Outcome::Success,
            Self::Skipped { reason: SkipReason::Missed, .. } | Self::PolicyMissing { .. } => {
                Outcome::Failure
            }
            Self::Skipped { .. } | Self::Deferred { .. } => Outcome::Suppressed,
            Self::Ended { ending, .. } | Self::NoticeEnded { ending, .. } => match ending {
                EndingKind::Success => Outcome::Success,
                EndingKind::Failed | EndingKind::TimedOut | EndingKind::Stuck => Outcome::Failure,
                EndingKind::Cancelled | EndingKind::Skipped => Outcome::Suppressed,
            },
            Self::Backfill { act: BackfillAct::Finished(counts), .. } => {
                if counts.failed > 0 {
                    Outcome::Failure
                } else {
                    Outcome::Success
                }
            }
            Self::Backfill { .. }
            | Self::Created
            | Self::Updated { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Deleted
            | Self::CancelRequested { .. }
            | Self::Disabled
            | Self::Enabled
            | Self::Redriven { .. }
            | Self::Told { .. }
            | Self::PolicyCreated { .. }
            | Self::PolicyUpdated { .. }
            | Self::PolicyDeleted { .. }
            | Self::Reconciled(_) => Outcome::Info,
        }
    }

    /// Whether somebody asked for it; the rest the scheduler decides by itself.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        match self {
            Self::Fired { trigger, .. } => matches!(trigger, Trigger::Manual { .. }),
            Self::CancelRequested { cause, .. } => match cause {
                CancelCause::User | CancelCause::JobDeleted => true,
                CancelCause::Replaced | CancelCause::Shutdown => false,
            },
            Self::Resumed { by_itself } => !by_itself,
            Self::Backfill { act, .. } => !matches!(act, BackfillAct::Finished(_)),
            Self::Created
            | Self::Updated { .. }
            | Self::Paused { .. }
            | Self::Deleted
            | Self::Disabled
            | Self::Enabled
            | Self::Redriven { .. }
            | Self::PolicyCreated { .. }
            | Self::PolicyUpdated { .. }
            | Self::PolicyDeleted { .. } => true,
            Self::Skipped { .. }
            | Self::Deferred { .. }
            | Self::PolicyMissing { .. }
            | Self::Ended { .. }
            | Self::Told { .. }
            | Self::NoticeEnded { .. }
            | Self::Reconciled(_) => false,
        }
    }

    /// The execution that it is about.
    #[must_use]
    pub fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::Fired { execution, .. }
            | Self::Ended { execution, .. }
            | Self::CancelRequested { execution, .. }
            | Self::Redriven { execution, .. }
            | Self::Told { notice: execution, .. }
            | Self::NoticeEnded { notice: execution, .. } => Some(*execution),
            _ => None,
        }
    }

    /// The slots that it accounts for, or is about; not those that a run stands for.
    #[must_use]
    pub fn slots(&self) -> Option<Slots> {
        match self {
            Self::Fired { slot, .. }
            | Self::Deferred { slot, .. }
            | Self::Ended { slot, .. }
            | Self::Redriven { slot, .. } => Some(Slots::one(*slot)),
            Self::Skipped { slots, .. } => Some(*slots),
            _ => None,
        }
    }

    /// The quiet-hours policy that it is about.
    #[must_use]
    pub fn policy(&self) -> Option<PolicyId> {
        match self {
            Self::PolicyMissing { policy }
            | Self::PolicyCreated { policy, .. }
            | Self::PolicyUpdated { policy, .. }
            | Self::PolicyDeleted { policy, .. } => Some(*policy),
            _ => None,
        }
    }

    /// Whether it says something about a slot from one time up to another: that it fired, was passed over,
    /// waits, ended or was stood for by another.
    #[must_use]
    pub fn concerns(&self, from: Timestamp, to: Timestamp) -> bool {
        let stood_for = match self {
            Self::Fired { instead_of, .. } => *instead_of,
            _ => None,
        };
        let mut slots = [self.slots(), stood_for].into_iter().flatten();
        slots.any(|slots| slots.first < to && slots.last >= from)
    }
}
