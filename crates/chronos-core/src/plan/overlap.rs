//! Overlap, applied: whether one more run of a job is admitted beside those alive.

use crate::execution::{Execution, Trigger};
use crate::policy::OverlapPolicy;

/// How a new run is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// At once.
    Free,
    /// Behind those alive, one after the other.
    Behind,
    /// In the place of those alive.
    Instead,
    /// Not at all.
    Refused,
}

/// How many executions of a job are alive, in the terms that overlap policies speak of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occupancy {
    /// Running, or free to be claimed.
    active: u32,
    /// Waiting for an active one to end.
    held: u32,
    /// Waiting for a retry.
    retries: u32,
}

impl Occupancy {
    pub(super) fn of(live: &[&Execution]) -> Self {
        let mut occupancy = Self::default();
        for execution in live {
            if execution.is_waiting_retry() {
                occupancy.retries += 1;
            } else {
                occupancy.add(execution);
            }
        }
        occupancy
    }

    pub(super) fn add(&mut self, execution: &Execution) {
        if execution.is_held() {
            self.held += 1;
        } else {
            self.active += 1;
        }
    }

    /// Forgets the waiting retries; says whether there were any.
    pub(super) fn take_waiting_retries(&mut self) -> bool {
        std::mem::take(&mut self.retries) > 0
    }

    /// Everything alive is on its way out.
    pub(super) fn replace_all(&mut self) {
        *self = Self::default();
    }

    pub(super) fn admit(&self, policy: OverlapPolicy, trigger: Trigger) -> Admission {
        let alive = self.active + self.held;
        let full = policy.capacity().is_some_and(|capacity| alive >= capacity);
        if !full {
            return Admission::Free;
        }
        if trigger == Trigger::CatchUp && policy != OverlapPolicy::Replace {
            // Caught-up runs come in order, one behind the other, whatever the policy: the cap on
            // them is the bound.
            return Admission::Behind;
        }
        match policy {
            OverlapPolicy::Queue(most) if self.held < most.get() => Admission::Behind,
            OverlapPolicy::Replace => Admission::Instead,
            OverlapPolicy::Skip
            | OverlapPolicy::Concurrent
            | OverlapPolicy::ConcurrentUpTo(_)
            | OverlapPolicy::Queue(_) => Admission::Refused,
        }
    }
}
