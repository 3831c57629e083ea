//! Nodes that freeze and databases that fail, and what the others make of it.

use std::time::Duration;

use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::{Cluster, Durability, Stop};

use super::load::{background, holder, recovered, settle, statuses};
use super::nodes::{Database, LEASE, by_hand, executions, have_run, until_ready_is};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_node_s_late_result_is_refused() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let nodes = database.nodes(2).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let held = nodes[0].create(by_hand("late", &endpoint.url("late"))).await;
    let run = nodes[0].run("late").await;
    soon(endpoint.called(run)).await;
    let frozen = &nodes[holder(&store, run, &nodes).await];
    let lost_before = frozen.figure("chronos_leases_lost_total").await;
    frozen.process.signal("STOP");
    let frozen_at = SystemClock::new().now();
    // Meanwhile the other takes over, and the first attempt is answered, too.
    let attempts = recovered(&store, held, frozen_at).await;
    soon(endpoint.answered(run)).await;
    frozen.process.signal("CONT");
    soon(async {
        while frozen.figure("chronos_leases_lost_total").await <= lost_before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(executions(&store, held).await, attempts, "the late result changed nothing");
    assert_eq!(statuses(&attempts), ["SUCCESS", "STUCK"]);
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_outlive_their_database_and_go_on_when_it_is_back() {
    let cluster = Cluster::start(Durability::Durable);
    let (database, endpoint) = (Database::fresh(&cluster), Endpoint::open().await);
    let mut nodes = database.nodes(2).await;
    let jobs = background(&nodes[0], &endpoint).await;
    let store = database.store().await;
    for how in [Stop::Fast, Stop::Immediate, Stop::Killed] {
        have_run(&store, &jobs, 2).await;
        cluster.stop(how);
        for node in &mut nodes {
            let told = until_ready_is(503, node).await;
            assert!(told.contains("unavailable"), "{told}");
        }
        // Longer than they may hold what they run.
        tokio::time::sleep(LEASE).await;
        for node in &mut nodes {
            assert!(node.process.lives());
            assert_eq!(get(node.address, "/healthz").await.0, 200);
        }
        cluster.start_again();
        for node in &nodes {
            until_ready_is(200, node).await;
        }
    }
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots >= 10 * 15, "{}", seen.slots);
}
