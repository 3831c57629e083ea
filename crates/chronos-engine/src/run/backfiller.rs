//! The backfiller: has backfills come to their next slots, at their pace.

use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use tracing::{debug, error};

use super::{Shared, Tick};

/// Has backfills come to their next slots, a few of each at a turn. What fires by it is claimed like all that
/// waits.
pub struct Backfiller {
    shared: Arc<Shared>,
}

impl Backfiller {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl Tick for Backfiller {
    fn name(&self) -> &'static str {
        "backfiller"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.shared;
        if let Some(later) = shared.braked() {
            return Ok(Some(later));
        }
        let now = shared.clock.now();
        let advanced = shared.store.advance_backfills(now, shared.config.batch).await?;
        if advanced.fired + advanced.passed_over > 0 {
            let (fired, passed_over) = (advanced.fired, advanced.passed_over);
            debug!(fired, passed_over, "Backfills went on");
        }
        for (job, unreadable) in &advanced.unreadable {
            error!(%job, error = %unreadable, "Backfill waits: the record of its job cannot be read");
        }
        Ok(advanced.next)
    }
}
