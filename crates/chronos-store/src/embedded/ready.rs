//! The queue: executions that may be claimed, the most urgent first, and among equals the oldest; and
//! those that wait too long.

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

/// Executions that wait, each until it is overdue; only those that someone is to be told of.
#[derive(Debug, Default)]
pub(super) struct Overdue(BTreeSet<(Timestamp, ExecutionId)>);

impl Overdue {
    /// Up to `limit` executions that are overdue by now, the longest first.
    pub(super) fn until(&self, now: Timestamp, limit: usize) -> Vec<ExecutionId> {
        let overdue = self.0.iter().take_while(|(at, _)| *at <= now);
        overdue.take(limit).map(|(_, id)| *id).collect()
    }

    /// When an execution is overdue first.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Follows an execution from what it was to what it is.
    pub(super) fn settle(&mut self, before: Option<&Execution>, after: Option<&Execution>) {
        let entry = |execution: &Execution| {
            let at = execution.overdue_at.filter(|_| execution.is_queued());
            at.map(|at| (at, execution.id))
        };
        let (before, after) = (before.and_then(entry), after.and_then(entry));
        if before != after {
            before.map(|entry| self.0.remove(&entry));
            self.0.extend(after);
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
