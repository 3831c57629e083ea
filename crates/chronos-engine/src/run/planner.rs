//! The planner: fires the slots of due jobs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use tracing::error;

use super::{Shared, Tick};

/// Fires the slots of due jobs, a batch at a turn.
pub struct Planner {
    shared: Arc<Shared>,
}

impl Planner {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl Tick for Planner {
    fn name(&self) -> &'static str {
        "planner"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.shared;
        let now = shared.clock.now();
        let begun = shared.clock.monotonic();
        let fired = shared.store.fire_due(now, shared.config.batch).await?;
        shared.observer.scanned(shared.clock.monotonic().saturating_sub(begun));
        let more = fired.next.is_some_and(|next| next <= now);
        shared.bells.planning.store(more, Ordering::Relaxed);
        shared.observer.planned(&fired.planned);
        for (job, unreadable) in &fired.unreadable {
            error!(%job, error = %unreadable, "Job set aside: its record cannot be read");
        }
        Ok(fired.next)
    }
}
