//! Nodes that lose their way to the database, while everything else is in reach.

use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::Cluster;

use super::load::{background, holder, recovered, settle, statuses};
use super::nodes::{Database, LEASE, by_hand, executions, have_run, until, until_ready_is};
use super::proxy::Proxy;
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_result_of_a_node_that_was_cut_off_is_refused() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let proxy = Proxy::to(database.cluster).await;
    let mut nodes = database.nodes(2).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let ended = nodes[0].create(by_hand("ended", &endpoint.url("slow"))).await;
    let url = proxy.url(&database.name);
    let cut_off = database.through(url).node("cut", &["--roles", "api,worker"]).await;
    nodes.push(cut_off);
    // It runs somewhere; tried until that is the node to be cut off.
    let run = loop {
        let run = nodes[2].run("ended").await;
        soon(endpoint.called(run)).await;
        if holder(&store, run, &nodes).await == 2 {
            break run;
        }
        soon(endpoint.answered(run)).await;
        until(&store, async |store| {
            let newest = executions(store, ended).await;
            newest.iter().all(|it| it.status() == "SUCCESS").then_some(())
        })
        .await;
    };
    proxy.cut();
    let cut_at = SystemClock::new().now();
    // Its target still answers, and it has nobody to tell.
    soon(endpoint.answered(run)).await;
    let attempts = recovered(&store, ended, cut_at).await;
    assert_eq!(statuses(&attempts)[..2], ["SUCCESS", "STUCK"]);
    assert_eq!(attempts[1].id, run);
    proxy.mend();
    nodes[2].process.line("Result dropped: the lease was lost").await;
    assert!(nodes[2].figure("chronos_leases_lost_total").await >= 1.0);
    assert_eq!(executions(&store, ended).await, attempts, "the late result changed nothing");
    settle(&store, nodes, &jobs, &endpoint).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_out_of_everyone_s_reach_costs_a_pause_and_nothing_else() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let store = database.store().await;
    let proxy = Proxy::to(database.cluster).await;
    let url = proxy.url(&database.name);
    let database = database.through(url);
    let nodes = database.nodes(3).await;
    let jobs = background(&nodes[0], &endpoint).await;
    for silent in [true, false] {
        have_run(&store, &jobs, 2).await;
        if silent {
            proxy.cut();
        } else {
            proxy.tear();
        }
        // Longer than they may hold what they run.
        tokio::time::sleep(LEASE + LEASE / 3).await;
        for node in &nodes {
            until_ready_is(503, node).await;
            assert_eq!(get(node.address, "/healthz").await.0, 200);
        }
        proxy.mend();
    }
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots >= 10 * 8, "{}", seen.slots);
}
