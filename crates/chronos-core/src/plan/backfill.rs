//! Filling in: a slot that a backfill asks for fires, if there is room for it.

use super::{Draft, Live, Plan};
use crate::Timestamp;
use crate::execution::Trigger;
use crate::job::Job;

/// A slot that is to be filled in.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    /// The slot.
    pub(crate) slot: Timestamp,
    /// The backfill that asks for it.
    pub(crate) trigger: Trigger,
    /// Which attempt at the slot it is, for backfills.
    pub(crate) attempt: u32,
}

/// Decides how a slot is filled in: at once, because whoever asks keeps to a pace of its own. `None` says that
/// the job's overlap policy leaves no room for it now. The job's place in its schedule stays as it is.
#[must_use]
pub(crate) fn fill_in(
    job: &Job,
    live: &Live<'_>,
    filling: Filling,
    now: Timestamp,
) -> Option<Plan> {
    let Filling { slot, trigger, attempt } = filling;
    let mut draft = Draft { attempt, ..Draft::new(job, live, now) };
    draft.admit(slot, trigger, now, None).then_some(draft.plan)
}
