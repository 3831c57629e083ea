//! Nodes that freeze and databases that fail, and what the others make of it.

use std::time::Duration;

use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::{Cluster, Durability, Stop};

use super::load::{background, holder, recovered, settle, statuses};
use super::nodes::{Database, LEASE, by_hand, executions, have_run, until, until_ready_is};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;

/// The node is stopped when its result is on its way to the database, so what it does once it goes on is to
/// write that result: after its lease was lost, and another node has finished the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_node_s_late_result_is_refused() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(2).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let ended = nodes[0].create(by_hand("ended", &endpoint.url("slow"))).await;
    let run = nodes[0].run("ended").await;
    soon(endpoint.called(run)).await;
    let frozen = holder(&store, run, &nodes).await;
    let name = nodes[frozen].name.clone();
    let lost_before = nodes[frozen].figure("chronos_leases_lost_total").await;
    // Ends are filed here, so none is until the lock is given up.
    let mut somebody = database.cluster.session(&database.name);
    somebody.run("BEGIN; LOCK TABLE chronos.job_executions IN EXCLUSIVE MODE");
    soon(endpoint.answered(run)).await;
    until(&store, async |_| database.blocked_at("job_executions").contains(&name).then_some(()))
        .await;
    nodes[frozen].process.signal("STOP");
    let frozen_at = SystemClock::new().now();
    // The server gives up the sessions of a machine that is silent.
    database.psql(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    ));
    somebody.run("COMMIT");
    let attempts = recovered(&store, ended, frozen_at).await;
    assert_eq!(statuses(&attempts), ["SUCCESS", "STUCK"]);
    assert_eq!(attempts[1].id, run);
    nodes[frozen].process.signal("CONT");
    // Other results of the node were on their way, too.
    let mut refused = String::new();
    while !refused.contains(&run.to_string()) {
        refused = nodes[frozen].process.line("Result dropped: the lease was lost").await;
    }
    assert!(nodes[frozen].figure("chronos_leases_lost_total").await > lost_before);
    assert_eq!(executions(&store, ended).await, attempts, "the late result changed nothing");
    settle(&store, nodes, &jobs, &endpoint).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_frozen_node_had_under_way_is_taken_over() {
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
