//! Backfills as every surface has them: thought out, tried out, found and told why they wait.

use chronos_core::backfill::{self, Asked, Backfill, Previewed, Turn, Wait, turn};
use chronos_core::plan::Live;
use chronos_core::policy::QuietHours;
use chronos_core::store::{self, Store};
use chronos_core::{Execution, Job, Timestamp};

/// Slots that a preview lists.
pub(crate) const LISTED: usize = 1_000;
/// Slots that are looked up at a time.
const AT_ONCE: usize = 100;

/// The backfill that is asked for, as it would be made.
pub(crate) async fn think_out(
    job: Job,
    asked: Asked,
    now: Timestamp,
) -> Result<Backfill, store::Error> {
    // Counting the slots of a long range takes a moment, in which others have theirs.
    let thought = tokio::task::spawn_blocking(move || Backfill::new(&job, &asked, now));
    let thought = thought.await.map_err(|error| store::Error::Unavailable(error.to_string()))?;
    Ok(thought?)
}

/// What a backfill would do with its slots, up to [`LISTED`] of them.
pub(crate) async fn preview(
    store: &dyn Store,
    backfill: &Backfill,
) -> Result<Vec<Previewed>, store::Error> {
    let slots = backfill.upcoming(LISTED);
    let mut previewed = Vec::with_capacity(slots.len());
    for some in slots.chunks(AT_ONCE) {
        let ledger = store.ledger(backfill.job, some).await?;
        previewed.extend(backfill::preview(backfill, some, &ledger));
    }
    Ok(previewed)
}

/// What surrounds the backfills of a job.
pub(crate) struct Surroundings {
    job: Job,
    live: Vec<Execution>,
    quiet_hours: Option<QuietHours>,
}

impl Surroundings {
    pub(crate) async fn of(store: &dyn Store, job: Job) -> Result<Self, store::Error> {
        let live = store.live(&[job.spec.id]).await?;
        let quiet_hours = match job.spec.quiet_hours {
            // One that is missing holds nothing back.
            Some(policy) => store.policy(policy).await.ok(),
            None => None,
        };
        Ok(Self { job, live, quiet_hours })
    }

    /// What the next slot of a backfill waits for now, unless it had run.
    pub(crate) fn waits_for(&self, backfill: &Backfill, now: Timestamp) -> Option<Wait> {
        let executions: Vec<&Execution> = self.live.iter().collect();
        let quiet_hours = self.quiet_hours.as_ref();
        let live = Live { executions: &executions, quiet_hours, ..Live::default() };
        match turn(backfill, &self.job, &live, &[], now) {
            Turn::Wait(wait) => Some(wait),
            Turn::Fire { .. } | Turn::PassOver { .. } | Turn::Rest => None,
        }
    }
}
