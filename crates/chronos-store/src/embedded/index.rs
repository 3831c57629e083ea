//! The index: what is due, waiting and running, held in memory beside the engine's records.
//!
//! Scanning the head of a queue over an LSM tree's tombstones is slow, so the embedded store never
//! does. The records are the truth; the index is rebuilt from them at start and after a failed write.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::execution::State;
use chronos_core::policy::QuietHours;
use chronos_core::{Execution, ExecutionId, Job, JobId, PolicyId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::record::Place;

/// Jobs kept decoded; past this many the cache starts anew, between two steps.
const HOT: usize = 65_536;

/// A job that fired lately, decoded.
#[derive(Debug)]
pub(super) struct Hot {
    pub(super) job: Job,
    pub(super) place: Place,
    /// Whether the step under way has changed where it stands.
    pub(super) changed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    due: BTreeSet<(Timestamp, JobId)>,
    ready: BTreeSet<(Timestamp, ExecutionId)>,
    live: FxHashMap<ExecutionId, Execution>,
    live_of: FxHashMap<JobId, SmallVec<[ExecutionId; 2]>>,
    pub(super) hot: FxHashMap<JobId, Hot>,
    pub(super) policies: BTreeMap<PolicyId, QuietHours>,
    pub(super) jobs: u64,
    paused: FxHashSet<JobId>,
    running: u64,
}

impl Index {
    /// When and which job is due first.
    pub(super) fn first_due(&self) -> Option<(Timestamp, JobId)> {
        self.due.first().copied()
    }

    /// When a job is due first.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.first_due().map(|(due, _)| due)
    }

    /// Moves a job in the order of due jobs.
    pub(super) fn move_due(&mut self, job: JobId, from: Option<Timestamp>, to: Option<Timestamp>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.due.remove(&(from, job));
        }
        if let Some(to) = to {
            self.due.insert((to, job));
        }
    }

    /// Remembers whether a job is paused.
    pub(super) fn set_paused(&mut self, job: JobId, paused: bool) {
        if paused {
            self.paused.insert(job);
        } else {
            self.paused.remove(&job);
        }
    }

    pub(super) fn paused(&self) -> u64 {
        self.paused.len() as u64
    }

    /// When and which execution may be claimed first.
    pub(super) fn first_ready(&self) -> Option<(Timestamp, ExecutionId)> {
        self.ready.first().copied()
    }

    /// Offers a waiting execution to nobody until the next start.
    pub(super) fn set_aside(&mut self, execution: &Execution) {
        self.ready.remove(&(execution.run_at, execution.id));
    }

    /// When an execution may be claimed first.
    pub(super) fn next_ready(&self) -> Option<Timestamp> {
        self.first_ready().map(|(run_at, _)| run_at)
    }

    /// Adds a live execution or replaces it in its new state.
    pub(super) fn put_live(&mut self, execution: Execution) {
        let (id, job) = (execution.id, execution.job);
        match &execution.state {
            State::Queued { held: false } => {
                self.ready.insert((execution.run_at, id));
            }
            State::Running(_) => self.running += 1,
            _ => {}
        }
        match self.live.insert(id, execution) {
            Some(before) => self.forget_state(&before),
            None => self.live_of.entry(job).or_default().push(id),
        }
    }

    /// Removes a live execution.
    pub(super) fn take_live(&mut self, id: ExecutionId) -> Option<Execution> {
        let execution = self.live.remove(&id)?;
        self.forget_state(&execution);
        if let Some(live) = self.live_of.get_mut(&execution.job) {
            live.retain(|other| *other != id);
            if live.is_empty() {
                self.live_of.remove(&execution.job);
            }
        }
        Some(execution)
    }

    fn forget_state(&mut self, before: &Execution) {
        match &before.state {
            State::Queued { held: false } => {
                // A queued execution that stays queued at the same time is still ready.
                let stays = self.live.get(&before.id).is_some_and(|after| {
                    after.is_queued() && !after.is_held() && after.run_at == before.run_at
                });
                if !stays {
                    self.ready.remove(&(before.run_at, before.id));
                }
            }
            State::Running(_) => self.running -= 1,
            _ => {}
        }
    }

    pub(super) fn live(&self, id: ExecutionId) -> Option<&Execution> {
        self.live.get(&id)
    }

    /// The live executions of a job.
    pub(super) fn live_of(&self, job: JobId) -> SmallVec<[&Execution; 4]> {
        let ids = self.live_of.get(&job).map(SmallVec::as_slice).unwrap_or_default();
        ids.iter().filter_map(|id| self.live.get(id)).collect()
    }

    /// Every execution that runs, in no order.
    pub(super) fn running(&self) -> impl Iterator<Item = &Execution> {
        self.live.values().filter(|execution| execution.running().is_some())
    }

    pub(super) fn queued_and_running(&self) -> (u64, u64) {
        (self.live.len() as u64 - self.running, self.running)
    }

    /// Makes room for jobs that fire; only between steps, because a step's changes live here first.
    pub(super) fn cool_down(&mut self) {
        if self.hot.len() >= HOT {
            self.hot.clear();
        }
    }
}
