//! Nodes behind a pooler in transaction mode, which hands every transaction another session.

use chronos_pgtest::{Cluster, Pooler};

use super::load::{background, holder, recovered, settle, statuses};
use super::nodes::{Database, by_hand, have_run};
use crate::crash::endpoint::Endpoint;
use crate::daemon::soon;
use chronos_engine::{Clock, SystemClock};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_work_through_a_pooler_and_outlive_each_other_there() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    // Fewer connections than any node would like to have for itself.
    let pooler = Pooler::start(database.cluster, 4);
    let store = database.store().await;
    let url = pooler.url(&database.name);
    let database = database.through(url);
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push(database.node(name, &["--database-poll-only", "true"]).await);
    }
    let jobs = background(&nodes[0], &endpoint).await;
    let held = nodes[0].create(by_hand("held", &endpoint.url("hangs"))).await;
    let run = nodes[0].run("held").await;
    soon(endpoint.called(run)).await;
    let holder = holder(&store, run, &nodes).await;
    nodes.remove(holder).process.kill();
    let attempts = recovered(&store, held, SystemClock::new().now()).await;
    assert_eq!(statuses(&attempts), ["SUCCESS", "STUCK"]);
    have_run(&store, &jobs, 2).await;
    let sessions = database.psql(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name IN ('a', 'b', 'c')",
    );
    assert!((1..=4).contains(&sessions.parse::<u32>().unwrap()), "{sessions}");
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots >= 10 * 4, "{}", seen.slots);
}
