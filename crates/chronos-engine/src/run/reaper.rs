//! The reaper: ends executions whose worker is gone, on this node or any other.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use tracing::warn;

use super::{Shared, Tick};

/// A wall clock that gains more than this on the monotonic one was set.
const JUMP: Duration = Duration::from_secs(1);

/// Ends executions whose worker is gone and queues what follows.
///
/// Leases end by the wall clock, and a wall clock that is set forward would end them all at once. So
/// after a jump the reaper waits for one lease: whoever lives renews meanwhile, by the new clock.
pub struct Reaper {
    shared: Arc<Shared>,
    /// What both clocks showed at the last turn, the wall clock first.
    last: Option<(Timestamp, Duration)>,
    rests_until: Duration,
}

impl Reaper {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, last: None, rests_until: Duration::ZERO }
    }

    fn rest_after_jump(&mut self, wall: Timestamp, passed: Duration) {
        if let Some((wall_before, passed_before)) = self.last.replace((wall, passed)) {
            let gained =
                wall.since(wall_before).saturating_sub(passed.saturating_sub(passed_before));
            if gained > JUMP {
                warn!(?gained, "The clock was set forward: nothing is reaped for a lease");
                self.rests_until = passed + self.shared.config.lease;
            }
        }
    }
}

#[async_trait]
impl Tick for Reaper {
    fn name(&self) -> &'static str {
        "reaper"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let (now, passed) = (self.shared.clock.now(), self.shared.clock.monotonic());
        self.rest_after_jump(now, passed);
        let rest = self.rests_until.saturating_sub(passed);
        if !rest.is_zero() {
            return Ok(Some(now.after(rest)));
        }
        let shared = &self.shared;
        let reaped = shared.store.reap(now, shared.config.batch).await?;
        for execution in &reaped.ended {
            warn!(
                execution = %execution.id,
                status = execution.status(),
                worker = execution.run().map(|run| run.worker.as_str()),
                "Execution taken from its worker"
            );
        }
        for execution in &reaped.overdue {
            warn!(execution = %execution.id, slot = %execution.slot, "Execution overdue");
        }
        shared.tell_reaped(reaped.ended);
        // A lease given out meanwhile ends no sooner than this.
        let soonest = now.after(shared.config.lease);
        Ok(Some(reaped.next.unwrap_or(soonest).min(soonest)))
    }
}
