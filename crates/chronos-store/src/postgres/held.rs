//! What this node holds: executions as they were handed to its workers, and which were handed out together.
//!
//! A run mostly ends with its job as a run of that spec expects it. Then its end is decided by what is
//! remembered here, and written by statements that look whether it holds; nothing is locked and read
//! beforehand. What is forgotten, or is otherwise, is locked and read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chronos_core::execution::Token;
use chronos_core::{Execution, ExecutionId, JobSpec};
use rustc_hash::FxHashMap;

use super::step::Step;

/// Holdings kept in memory; past this many all are forgotten.
const KEPT: usize = 32_768;

/// An execution that runs, and the spec of its job when it began.
pub(super) struct Holding {
    pub(super) execution: Execution,
    pub(super) spec: Arc<JobSpec>,
    /// Names the spec.
    pub(super) revision: i64,
}

/// Names what was handed out together: the first of its tokens.
pub(super) type LeaseId = Token;

#[derive(Default)]
pub(super) struct Held(Mutex<State>);

#[derive(Default)]
struct State {
    holdings: FxHashMap<ExecutionId, (LeaseId, Holding)>,
    /// How many are under way of what was handed out together.
    leases: FxHashMap<LeaseId, usize>,
    /// Leases of which nothing is under way any more, and whose rows may go.
    over: Vec<LeaseId>,
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what was handed out together, which are so many executions. Where it is not known of all of
    /// them what they are, somebody has to look at their lease.
    pub(super) fn keep(&self, holdings: Vec<Holding>, all: usize) {
        let token = |holding: &Holding| Some(holding.execution.running()?.lease.token);
        let Some(lease) = holdings.iter().filter_map(token).min() else {
            return;
        };
        let mut state = self.state();
        if state.holdings.len() + holdings.len() > KEPT {
            *state = State::default();
        }
        state.leases.insert(lease, all);
        let holdings = holdings.into_iter();
        state.holdings.extend(holdings.map(|holding| (holding.execution.id, (lease, holding))));
    }

    /// Takes out what is known of these; whoever ends or hands back an execution holds it no longer.
    pub(super) fn take(
        &self,
        ids: impl Iterator<Item = ExecutionId>,
    ) -> Vec<Option<(LeaseId, Holding)>> {
        let mut state = self.state();
        ids.map(|id| state.holdings.remove(&id)).collect()
    }

    /// One execution of each of these leases, which was taken out, is over: its end is committed.
    pub(super) fn ended(&self, leases: impl IntoIterator<Item = LeaseId>) {
        let mut state = self.state();
        for lease in leases {
            let Some(left) = state.leases.get_mut(&lease) else {
                continue;
            };
            *left -= 1;
            if *left == 0 {
                state.leases.remove(&lease);
                state.over.push(lease);
            }
        }
    }

    /// Takes out the leases that are over. The rows of those that are forgotten go when they are looked at.
    pub(super) fn take_over(&self) -> Vec<LeaseId> {
        std::mem::take(&mut self.state().over)
    }
}

impl Step {
    /// What the worker holds of what the step has handed out, once the step is committed.
    pub(super) fn holdings(&self) -> Vec<Holding> {
        let taken = self.handed_out.iter().filter_map(|id| self.live(*id));
        let holding = taken.filter_map(|execution| {
            let desk = self.desks.get(&execution.job)?;
            let (spec, revision) = (desk.job().ok()?.spec.clone(), desk.row.revision);
            Some(Holding { execution: execution.clone(), spec, revision })
        });
        holding.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chronos_core::execution::{Lease, Running, State};
    use chronos_core::schedule::Schedule;
    use chronos_core::{Job, JobId, Timestamp, WorkerId};

    use super::*;

    /// Runs of as many jobs, with these tokens.
    fn holdings(tokens: &[u64]) -> Vec<Holding> {
        let now = Timestamp::EPOCH;
        let held = |token: &u64| {
            let mut chance = [0; 10];
            chance[2..].copy_from_slice(&token.to_be_bytes());
            let schedule = Schedule::one_shot(now);
            let spec = JobSpec::new(JobId::new(now, chance), "held", schedule, now);
            let job = Job::new(spec, now).unwrap();
            let plan = chronos_core::plan::plan(&job, &chronos_core::plan::Live::default(), now);
            let mut execution = plan.executions[0].clone();
            let expires_at = now.after(Duration::from_secs(30));
            let lease = Lease { worker: WorkerId::new("w"), token: Token(*token), expires_at };
            execution.state = State::Running(Running::begin(lease, now));
            Holding { execution, spec: job.spec, revision: 1 }
        };
        tokens.iter().map(held).collect()
    }

    #[test]
    fn a_lease_is_over_once_all_that_was_handed_out_with_it_is() {
        let held = Held::default();
        let given = holdings(&[7, 8, 9]);
        let ids: Vec<_> = given.iter().map(|holding| holding.execution.id).collect();
        held.keep(given, 3);
        let taken: Vec<_> = held.take(ids.iter().copied()).into_iter().flatten().collect();
        assert_eq!(taken.len(), 3);
        let leases: Vec<_> = taken.iter().map(|(lease, _)| *lease).collect();
        held.ended(leases[..2].iter().copied());
        assert!(held.take_over().is_empty(), "one is under way");
        held.ended(leases[2..].iter().copied());
        assert_eq!(held.take_over(), [Token(7)]);
        assert!(
            held.take_over().is_empty() && held.take(ids.into_iter()).iter().all(Option::is_none)
        );
    }
}
