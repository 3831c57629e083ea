//! Retention: how much of the past a store keeps by itself.

use std::num::NonZeroU32;

/// How much of the past a store keeps by itself; `None` keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The newest executions of each job; up to an eighth more may be there at times.
    pub executions_per_job: Option<NonZeroU32>,
    /// About this many of the newest decisions.
    pub audit_events: Option<u64>,
}

impl Retention {
    /// How many of a job's past executions are to go. A few more than the bound are let gather, so
    /// that they go together.
    pub(super) fn excess(&self, kept: u32) -> u32 {
        let most = self.executions_per_job.map_or(u32::MAX, NonZeroU32::get);
        if kept > most.saturating_add(most / 8) { kept - most } else { 0 }
    }
}
