//! The ledger: what is known of the executions of a slot, which says whether it has run.

use super::Backfill;
use crate::execution::{Execution, SkipReason, State, Trigger};
use crate::{ExecutionId, Timestamp};

/// An execution of a slot, as far as it matters whether the slot has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The execution.
    pub id: ExecutionId,
    /// The slot.
    pub slot: Timestamp,
    /// What asked for it: the schedule or a backfill. Runs by hand are no runs of a slot.
    pub trigger: Trigger,
    /// Which attempt at the slot it is.
    pub attempt: u32,
    /// How it came out, or how far it has come.
    pub status: &'static str,
    /// Whether it began, or will.
    pub ran: bool,
}

impl Entry {
    /// What an execution says about its slot; nothing, if it is a run by hand or a notice.
    #[must_use]
    pub fn of(execution: &Execution) -> Option<Self> {
        let trigger = match &execution.trigger {
            Trigger::Manual { .. } | Trigger::Notice(_) => return None,
            trigger => trigger.clone(),
        };
        let ran = match &execution.state {
            State::Queued { .. }
            | State::Running(_)
            | State::Success(_)
            | State::Failed(..)
            | State::TimedOut(_)
            | State::Stuck(_) => true,
            State::Cancelled { run, .. } => run.is_some(),
            // It began, and found nothing to do.
            State::Skipped { reason, .. } => matches!(reason, SkipReason::ByJob(_)),
        };
        let (id, slot, attempt) = (execution.id, execution.slot, execution.attempt);
        Some(Self { id, slot, trigger, attempt, status: execution.status(), ran })
    }
}

/// The execution by which a slot has run, if it has: the last one.
pub(super) fn run_of(ledger: &[Entry], slot: Timestamp) -> Option<&Entry> {
    ledger.iter().filter(|entry| entry.slot == slot && entry.ran).max_by_key(|entry| entry.id)
}

impl Backfill {
    /// What asks for a slot of it, and by which attempt. One that never began leaves its name taken, so the
    /// next one is another attempt.
    pub(super) fn naming(&self, ledger: &[Entry], slot: Timestamp) -> (Trigger, u32) {
        let again = run_of(ledger, slot).is_some();
        let shares_name = |entry: &&Entry| match entry.trigger {
            Trigger::Backfill { number, again: was } => {
                was == again && (!again || number == self.number)
            }
            _ => false,
        };
        let before = ledger.iter().filter(|entry| entry.slot == slot).filter(shares_name);
        let attempt = before.map(|entry| entry.attempt).max().unwrap_or(0).saturating_add(1);
        (Trigger::Backfill { number: self.number, again }, attempt)
    }
}
