//! The queue: executions that may be claimed, the most urgent first, and among equals the oldest; and
//! those that wait too long.

use std::collections::BTreeSet;

use chronos_core::execution::State;
use chronos_core::policy::Rank;
use chronos_core::{Execution, ExecutionId, Timestamp};

/// Executions of one rank, by when they may be claimed.
type Line = BTreeSet<(Timestamp, ExecutionId)>;

/// Executions that wait for a worker, each from when on it may be claimed.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// By the turn of their rank.
    lines: [Line; Rank::COUNT],
}

/// When it is the crowd's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowd {
    /// After all others.
    Last,
    /// Before all others.
    First,
    /// Not at all.
    Never,
}

impl Ready {
    fn lines(&self, crowd: Crowd) -> impl Iterator<Item = &Line> {
        let (few, many) = self.lines.split_at(Rank::COUNT / 2);
        let (first, second) = match crowd {
            Crowd::Last => (few, many),
            Crowd::First => (many, few),
            Crowd::Never => (few, [].as_slice()),
        };
        first.iter().chain(second)
    }

    /// The execution that goes first of those whose time has come.
    pub(super) fn first(&self, now: Timestamp, crowd: Crowd) -> Option<ExecutionId> {
        let oldest = self.lines(crowd).filter_map(Line::first);
        oldest.filter(|(run_at, _)| *run_at <= now).map(|(_, id)| *id).next()
    }

    /// When an execution may be claimed first.
    pub(super) fn next(&self, crowd: Crowd) -> Option<Timestamp> {
        self.lines(crowd).filter_map(Line::first).map(|(run_at, _)| *run_at).min()
    }

    /// Moves an execution from where it was to where it belongs in its new state.
    pub(super) fn settle(&mut self, before: Option<&Execution>, after: Option<&Execution>) {
        let (before, after) = (before.and_then(place), after.and_then(place));
        if before == after {
            return;
        }
        if let Some((turn, entry)) = before {
            self.lines[turn].remove(&entry);
        }
        if let Some((turn, entry)) = after {
            self.lines[turn].insert(entry);
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
            let turn = execution.rank.turn().min(Rank::COUNT - 1);
            Some((turn, (execution.run_at, execution.id)))
        }
        _ => None,
    }
}
