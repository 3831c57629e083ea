//! The pruner: forgets message events that are too old.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use tracing::info;

use super::{Shared, Tick};

/// Events that are looked at in one step.
const AT_ONCE: usize = 1_000;
/// Time between two looks, unless there is more to do.
const BETWEEN: Duration = Duration::from_hours(1);

/// Forgets message events that are older than they are to be kept, a batch at a turn.
pub struct Pruner {
    shared: Arc<Shared>,
    keep: Duration,
}

impl Pruner {
    pub(super) fn new(shared: Arc<Shared>, keep: Duration) -> Self {
        Self { shared, keep }
    }
}

#[async_trait]
impl Tick for Pruner {
    fn name(&self) -> &'static str {
        "pruner"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let now = self.shared.clock.now();
        let pruned = self.shared.store.prune_messages(now.before(self.keep), AT_ONCE).await?;
        if pruned > 0 {
            info!(pruned, "Message events forgotten");
        }
        Ok(Some(if pruned == AT_ONCE { now } else { now.after(BETWEEN) }))
    }
}
