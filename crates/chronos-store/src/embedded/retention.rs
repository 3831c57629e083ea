//! Retention: how much of the past a store keeps by itself.

use std::num::NonZeroU32;

/// How much of the past a store keeps by itself; `None` keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The newest executions of each job; up to an eighth more may be there at times.
    pub executions_per_job: Option<NonZeroU32>,
    /// About this many of the newest decisions.
    pub audit_events: Option<u64>,
    /// This many of the newest message events.
    pub message_events: Option<u64>,
}

impl Retention {
    /// How many of a job's past executions are to go. A few more than the bound are let gather, so
    /// that they go together.
    pub(super) fn excess(&self, kept: u32) -> u32 {
        let most = self.executions_per_job.map_or(u32::MAX, NonZeroU32::get);
        if kept > most.saturating_add(most / 8) { kept - most } else { 0 }
    }

    /// The newest decision that is to go once those from `first` to `newest` were made; `None` while
    /// too few gather for a look to be worth it.
    pub(super) fn expired_events(&self, first: u64, newest: u64) -> Option<u64> {
        let most = self.audit_events?;
        let stride = (most / 8).clamp(1, GATHERED_EVENTS);
        let expired = newest.saturating_sub(most);
        let before = first.saturating_sub(1).saturating_sub(most);
        (expired / stride > before / stride).then_some(expired)
    }
}

/// Decisions that gather before those that are to go are looked for: half of what goes in one step, so
/// that none are left behind.
pub(super) const GATHERED_EVENTS: u64 = 32;
