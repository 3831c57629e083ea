//! The queue: executions that may be claimed, the most urgent first, and among equals the oldest.

use std::collections::BTreeSet;

use chronos_core::execution::State;
use chronos_core::policy::Priority;
use chronos_core::{Execution, ExecutionId, Timestamp};

const LEVELS: usize = Priority::HIGHEST.level() as usize + 1;

/// Executions that wait for a worker, each from when on it may be claimed.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// By priority.
    levels: [BTreeSet<(Timestamp, ExecutionId)>; LEVELS],
}

impl Ready {
    /// The execution that goes first of those whose time has come.
    pub(super) fn first(&self, now: Timestamp) -> Option<ExecutionId> {
        let oldest = self.levels.iter().rev().filter_map(BTreeSet::first);
        oldest.filter(|(run_at, _)| *run_at <= now).map(|(_, id)| *id).next()
    }

    /// When an execution may be claimed first.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.levels.iter().filter_map(BTreeSet::first).map(|(run_at, _)| *run_at).min()
    }

    /// Moves an execution from where it was to where it belongs in its new state.
    pub(super) fn settle(&mut self, before: Option<&Execution>, after: Option<&Execution>) {
        let (before, after) = (before.and_then(place), after.and_then(place));
        if before == after {
            return;
        }
        if let Some((level, entry)) = before {
            self.levels[level].remove(&entry);
        }
        if let Some((level, entry)) = after {
            self.levels[level].insert(entry);
        }
    }
}

/// Where an execution belongs, if it may be claimed.
fn place(execution: &Execution) -> Option<(usize, (Timestamp, ExecutionId))> {
    match &execution.state {
        State::Queued { held: false } => {
            let level = usize::from(execution.priority.level()).min(LEVELS - 1);
            Some((level, (execution.run_at, execution.id)))
        }
        _ => None,
    }
}
