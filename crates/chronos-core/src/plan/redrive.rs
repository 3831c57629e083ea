//! Redriving: a slot that failed for good is tried again because someone asks for it.

use super::overlap::rank;
use super::{Live, Plan};
use crate::Timestamp;
use crate::audit::Decision;
use crate::execution::{Execution, State};
use crate::job::Job;

/// Decides how the next attempt at a dead slot is queued.
///
/// It is an attempt at the same slot, so the target sees the same idempotency key, and it has all
/// retries before it again. It waits behind what is alive of the job where the overlap policy leaves no
/// room, so that any number of slots can be redriven at once.
#[must_use]
pub fn redrive(job: &Job, live: &Live<'_>, dead: &Execution, now: Timestamp) -> Plan {
    let runs = live.executions.iter().filter(|live| live.notice().is_none());
    let alive = runs.filter(|live| !job.keeps_waiting(live)).count();
    let rank = rank(job, live, u32::try_from(alive).unwrap_or(u32::MAX));
    let mut again = Execution { retry: 0, lost: 0, rank, ..dead.again(now) };
    let full = job.spec.overlap.capacity().is_some_and(|most| alive >= most as usize);
    again.state = State::Queued { held: full || job.keeps_waiting(&again) };
    let (slot, execution) = (again.slot, again.id);
    Plan {
        executions: vec![again],
        withdrawals: Vec::new(),
        decisions: vec![Decision::Redriven { slot, execution }],
        messages: Vec::new(),
        standing: job.standing.clone(),
    }
}
