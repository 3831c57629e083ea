//! Overlap: what a slot does when an earlier run of its job is still alive.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// What happens when a slot comes due while the job still has a live execution.
///
/// `Skip` suits long-running work and work on a shared resource; `Concurrent` suits work that is
/// idempotent, independent or only reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverlapPolicy {
    /// The slot is skipped and recorded with the reason "overlap".
    #[default]
    Skip,
    /// The slot runs beside the others, however many there are.
    Concurrent,
    /// The slot runs beside the others while fewer than this many are alive.
    ConcurrentUpTo(NonZeroU32),
    /// The slot waits behind the live run; at most this many wait, further ones are skipped.
    Queue(NonZeroU32),
    /// The slot cancels the live run and follows it as soon as it has stopped.
    Replace,
}

impl OverlapPolicy {
    /// Queueing with the usual bound of one waiting run.
    pub const QUEUE: Self = Self::Queue(NonZeroU32::MIN);

    /// How many executions of the job may be active at once; `None` when there is no limit.
    #[must_use]
    pub fn capacity(self) -> Option<u32> {
        match self {
            Self::Skip | Self::Queue(_) | Self::Replace => Some(1),
            Self::ConcurrentUpTo(most) => Some(most.get()),
            Self::Concurrent => None,
        }
    }
}
