//! The reaper: ends executions whose worker is gone, on this node or any other.

use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use tracing::warn;

use super::{Shared, Tick};

/// Ends executions whose worker is gone and queues what follows.
pub struct Reaper {
    shared: Arc<Shared>,
}

impl Reaper {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl Tick for Reaper {
    fn name(&self) -> &'static str {
        "reaper"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.shared;
        let reaped = shared
            .store
            .reap(shared.clock.now(), shared.config.batch)
            .await?;
        for execution in &reaped.ended {
            warn!(
                execution = %execution.id,
                status = execution.status(),
                worker = execution.run().map(|run| run.worker.as_str()),
                "Execution taken from its worker"
            );
        }
        Ok(reaped.next)
    }
}
