//! What the store on PostgreSQL promises beyond the port: among many nodes, and when the server fails.

mod auditing;
mod clustering;
mod crashing;
mod encrypting;
mod failing;
mod finding;
mod messaging;
mod migrating;
mod partitioning;
mod waking;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Store;
use chronos_core::account::Accounts;
use chronos_core::subscription::Subscriptions;
use chronos_pgtest::Cluster;
use chronos_store::{PostgresConfig, PostgresStore};

use crate::bench::Engine;
use crate::conformance::accounts::Place;
use crate::conformance::subscriptions::Shelf;

/// A schema of its own in a cluster.
pub(crate) struct Schema {
    cluster: &'static Cluster,
    pub(crate) name: String,
}

/// An empty schema in the cluster that all tests of the process share.
pub(crate) async fn fresh() -> Schema {
    Schema::new(Cluster::shared())
}

impl Schema {
    pub(crate) fn new(cluster: &'static Cluster) -> Self {
        Self { cluster, name: cluster.fresh_name() }
    }

    /// A configuration for a store that minds its own business.
    pub(crate) fn config(&self) -> PostgresConfig {
        let url = self.cluster.url("postgres");
        let (schema, poll) = (self.name.clone(), Duration::from_hours(1));
        PostgresConfig { schema, connections: 4, listen: false, poll, ..PostgresConfig::new(&url) }
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::open(self.config()).await.unwrap()
    }

    /// Runs statements as someone else in the cluster would; `chronos.` is the schema.
    pub(crate) fn psql(&self, statements: &str) -> String {
        let statements = statements.replace("chronos.", &format!("{}.", self.name));
        self.cluster.psql("postgres", &statements)
    }
}

#[async_trait]
impl Place for Schema {
    async fn accounts(&self) -> Arc<dyn Accounts> {
        Arc::new(self.store().await)
    }
}

#[async_trait]
impl Shelf for Schema {
    async fn subscriptions(&self) -> Arc<dyn Subscriptions> {
        Arc::new(self.store().await)
    }
}

#[async_trait]
impl Engine for Schema {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store().await)
    }

    async fn twin(&self) -> Arc<dyn Store> {
        self.open().await
    }
}
