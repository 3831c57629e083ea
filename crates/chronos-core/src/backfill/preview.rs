//! Previews: what a backfill would do with each of its slots.

use std::fmt;

use super::ledger::run_of;
use super::{Backfill, Entry};
use crate::{ExecutionId, Timestamp};

/// A slot that a backfill would come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previewed {
    /// The slot.
    pub slot: Timestamp,
    /// What would become of it.
    pub action: Action,
    /// What it has run as, or else was skipped as, if anything is known of it.
    pub execution: Option<ExecutionId>,
    /// How that came out.
    pub status: Option<&'static str>,
}

/// What would become of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It would run.
    Run,
    /// It has run, and would run again.
    Redo,
    /// It has run, and would be passed over.
    Skip,
}

impl Action {
    /// The action as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Redo => "redo",
            Self::Skip => "skip",
        }
    }
}

impl fmt::Display for Previewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.unwrap_or_default();
        match (self.action, self.status) {
            (Action::Run, None) => f.write_str("it never ran"),
            (Action::Run, Some(_)) => write!(f, "it did not run: {status}"),
            (Action::Redo, _) => write!(f, "it has run ({status}) and is to run again"),
            (Action::Skip, _) => write!(f, "it has run: {status}"),
        }
    }
}

/// What a backfill would do with the slots that it comes to next; the ledger must know all of them.
#[must_use]
pub fn preview(backfill: &Backfill, slots: &[Timestamp], ledger: &[Entry]) -> Vec<Previewed> {
    let of_slot = |slot: Timestamp| {
        let run = run_of(ledger, slot);
        let known = run.or_else(|| {
            let entries = ledger.iter().filter(|entry| entry.slot == slot);
            entries.max_by_key(|entry| entry.id)
        });
        let action = match (run, backfill.force) {
            (None, _) => Action::Run,
            (Some(_), true) => Action::Redo,
            (Some(_), false) => Action::Skip,
        };
        let (execution, status) = (known.map(|it| it.id), known.map(|it| it.status));
        Previewed { slot, action, execution, status }
    };
    slots.iter().copied().map(of_slot).collect()
}
