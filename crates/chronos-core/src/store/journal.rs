//! The journal: what was decided, with the executions that came to their end by it.

use std::sync::Arc;

use crate::audit::{AuditEvent, Decision};
use crate::execution::State;
use crate::{Execution, ExecutionId, JobSpec};

/// A decision, and the execution that came to its end by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The decision; its sequence is its place in the journal.
    pub event: AuditEvent,
    /// The execution in its last state, if one came to its end by the decision and is still kept.
    pub ended: Option<Box<Execution>>,
}

/// A stretch of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalPage {
    /// Its entries, in order.
    pub entries: Vec<JournalEntry>,
    /// The jobs that they are about, as far as they are still there, in the order of their ids.
    pub specs: Vec<Arc<JobSpec>>,
    /// The place of the last entry: the cursor to go on from.
    pub cursor: u64,
    /// Whether the journal goes on beyond it already.
    pub more: bool,
}

impl JournalEntry {
    /// The execution that may have come to its end by a decision.
    #[must_use]
    pub fn may_end(decision: &Decision) -> Option<ExecutionId> {
        match decision {
            Decision::Ended { execution, .. } | Decision::CancelRequested { execution, .. } => {
                Some(*execution)
            }
            Decision::NoticeEnded { notice, .. } => Some(*notice),
            Decision::Fired { .. }
            | Decision::Skipped { .. }
            | Decision::Deferred { .. }
            | Decision::Created
            | Decision::Updated { .. }
            | Decision::Paused { .. }
            | Decision::Resumed { .. }
            | Decision::PolicyMissing { .. }
            | Decision::Deleted
            | Decision::Disabled
            | Decision::Enabled
            | Decision::Redriven { .. }
            | Decision::Told { .. }
            | Decision::PolicyCreated { .. }
            | Decision::PolicyUpdated { .. }
            | Decision::PolicyDeleted { .. }
            | Decision::Reconciled(_)
            | Decision::Backfill { .. } => None,
        }
    }

    /// The entry of a decision; `found` is the execution that may have come to its end by it.
    #[must_use]
    pub fn new(event: AuditEvent, found: Option<Execution>) -> Self {
        let ended = found.filter(|execution| match event.decision {
            // One that waits ends when it is cancelled; one that runs has an entry of its own when it does.
            Decision::CancelRequested { .. } => {
                matches!(execution.state, State::Cancelled { run: None, .. })
            }
            _ => !execution.is_live(),
        });
        Self { event, ended: ended.map(Box::new) }
    }
}
