//! What this node holds: executions as they were handed to its workers, and where their jobs stood then.
//!
//! A run mostly ends with its job as it was when the run began. Then its end is decided by what is
//! remembered here, and written in one statement that looks whether it still holds; nothing is locked and
//! read beforehand. What is forgotten, or has changed, is locked and read.

use std::sync::{Arc, Mutex, PoisonError};

use chronos_core::{Execution, ExecutionId, JobSpec};
use rustc_hash::FxHashMap;

use super::rows::StandingRow;
use super::step::Step;

/// Holdings kept in memory; past this many all are forgotten.
const KEPT: usize = 32_768;

/// An execution that runs alone, and its job as it was when it began.
pub(super) struct Holding {
    pub(super) execution: Execution,
    pub(super) spec: Arc<JobSpec>,
    pub(super) row: StandingRow,
}

impl Holding {
    /// A holding, if nothing else of the job waits or runs.
    pub(super) fn of(execution: &Execution, spec: &Arc<JobSpec>, row: StandingRow) -> Option<Self> {
        let alone = !row.deleted && row.live == [execution.id];
        alone.then(|| Self { execution: execution.clone(), spec: spec.clone(), row })
    }
}

#[derive(Default)]
pub(super) struct Held(Mutex<FxHashMap<ExecutionId, Holding>>);

impl Held {
    pub(super) fn keep(&self, holdings: Vec<Holding>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() + holdings.len() > KEPT {
            held.clear();
        }
        held.extend(holdings.into_iter().map(|holding| (holding.execution.id, holding)));
    }

    /// Takes out what is known of these; whoever ends or hands back an execution holds it no longer.
    pub(super) fn take(&self, ids: impl Iterator<Item = ExecutionId>) -> Vec<Option<Holding>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.map(|id| held.remove(&id)).collect()
    }
}

impl Step {
    /// What the worker holds of what the step has handed out, once the step is committed.
    pub(super) fn holdings(&self) -> Vec<Holding> {
        let taken = self.desks.values().filter_map(|desk| match &*desk.live {
            [only] if desk.changed && only.running().is_some() => Some((only, desk)),
            _ => None,
        });
        let holding = taken.filter_map(|(execution, desk)| {
            let job = desk.job().ok()?;
            let row = StandingRow {
                changes: desk.row.changes + 1,
                due: desk.due_at(),
                standing: job.standing.clone(),
                live: vec![execution.id],
                ..desk.row
            };
            Holding::of(execution, &job.spec, row)
        });
        holding.collect()
    }
}
