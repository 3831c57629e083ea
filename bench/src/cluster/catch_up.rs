//! Ten years of backlog on PostgreSQL.

use chronos_pgtest::{Cluster, Durability};

use super::bed::node;
use crate::disk::{catch_up, policies};
use crate::report::Figure;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, policy) in policies()? {
        let cluster = Cluster::start(Durability::Durable);
        let store = node(&cluster).await?;
        figures.extend(catch_up("PostgreSQL", name, policy, &store).await?);
    }
    Ok(figures)
}
