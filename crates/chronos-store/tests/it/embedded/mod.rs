//! What the embedded store promises beyond the port: when its engine fails, when a record is damaged,
//! when it keeps only part of the past, how it files the past, when it acknowledges a step, and what it
//! reads ahead.

mod ahead;
mod chapters;
mod damage;
mod faults;
mod orphans;
mod readiness;
mod retention;
mod syncing;
mod volumes;

use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::Store;
use chronos_store::kv::MemoryKv;
use chronos_store::{EmbeddedStore, Retention};

use crate::bench::{Bench, Engine};
use crate::shared_kv::SharedKv;

/// A bench, with the engine below it at hand.
async fn bench() -> (Bench, SharedKv<MemoryKv>) {
    let kv = SharedKv::new(MemoryKv::new());
    (Bench::new(kv.clone()).await, kv)
}

/// An engine whose store keeps only part of the past.
struct Forgetful {
    kv: SharedKv<MemoryKv>,
    retention: Retention,
}

#[async_trait]
impl Engine for Forgetful {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::open(self.kv.clone(), self.retention).unwrap())
    }

    async fn twin(&self) -> Arc<dyn Store> {
        self.open().await
    }
}
