//! The herald: says every so often that this engine is there, for whoever looks at all nodes.

use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store::{self, Worker};

use super::{Shared, Tick};

/// Describes this engine to its store at every heartbeat.
pub struct Herald {
    shared: Arc<Shared>,
    started_at: Timestamp,
}

impl Herald {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let started_at = shared.clock.now();
        Self { shared, started_at }
    }
}

#[async_trait]
impl Tick for Herald {
    fn name(&self) -> &'static str {
        "herald"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let (shared, now) = (&self.shared, self.shared.clock.now());
        let config = &shared.config;
        let worker = Worker {
            id: config.worker.clone(),
            host: config.host.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            roles: config.roles,
            started_at: self.started_at,
            seen_at: now,
            capacity: config.max_concurrency as u64,
            running: shared.roster.len() as u64,
        };
        shared.store.put_worker(worker).await?;
        Ok(Some(now.after(config.heartbeat)))
    }
}
