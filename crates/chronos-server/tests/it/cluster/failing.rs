//! Nodes and databases that fail, and what the others make of it.

use std::time::Duration;

use chronos_core::{ExecutionId, JobId, Store, Timestamp};
use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::{Cluster, Durability, Stop};
use chronos_store::PostgresStore;

use super::accounts;
use super::nodes::{Database, LEASE, Node, by_hand, every_second, executions, until};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;

/// Jobs that go on every second while something fails.
async fn background(node: &Node, endpoint: &Endpoint) -> Vec<JobId> {
    let mut jobs = Vec::new();
    for number in 0..10 {
        let path = ["ok", "slow"][number % 2];
        jobs.push(node.create(every_second(&format!("load {number}"), &endpoint.url(path))).await);
    }
    jobs
}

/// The place of the node that runs this execution.
async fn holder(store: &PostgresStore, run: ExecutionId, nodes: &[Node]) -> usize {
    until(store, async |store| {
        let execution = store.execution(run).await.unwrap();
        let worker = execution.running()?.lease.worker.clone();
        nodes.iter().position(|node| worker.as_str().starts_with(&format!("{}-", node.name)))
    })
    .await
}

/// The attempts at a job's only slot, once the newest has succeeded.
async fn once_it_succeeded(store: &PostgresStore, job: JobId) -> Vec<chronos_core::Execution> {
    until(store, async |store| {
        let attempts = executions(store, job).await;
        (attempts[0].status() == "SUCCESS").then_some(attempts)
    })
    .await
}

/// Lets what was lost be run again, stops everyone and checks what was recorded.
async fn settle(
    store: &PostgresStore,
    mut nodes: Vec<Node>,
    jobs: &[JobId],
    endpoint: &Endpoint,
) -> accounts::Tally {
    let last = Timestamp::from_secs(SystemClock::new().now().as_secs());
    until(store, async |store| {
        let live = store.live(jobs).await.unwrap();
        let newest = executions(store, jobs[0]).await[0].slot;
        (newest > last && live.iter().all(|execution| execution.slot > last)).then_some(())
    })
    .await;
    for node in &mut nodes {
        node.process.stop().await;
    }
    accounts::check(store, jobs, last, &endpoint.calls()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_node_ran_is_taken_over_within_two_leases() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let held = nodes[0].create(by_hand("held", &endpoint.url("hangs"))).await;
    let run = nodes[0].run("held").await;
    soon(endpoint.called(run)).await;
    let holder = holder(&store, run, &nodes).await;
    nodes.remove(holder).process.kill();
    let clock = SystemClock::new();
    let killed_at = clock.now();
    let attempts = once_it_succeeded(&store, held).await;
    let took = clock.now().since(killed_at);
    assert!(took < 2 * LEASE, "{took:?}");
    let statuses: Vec<_> = attempts.iter().map(chronos_core::Execution::status).collect();
    assert_eq!(statuses, ["SUCCESS", "STUCK"]);
    let calls = endpoint.calls();
    let calls: Vec<_> = calls.iter().filter(|called| called.job == held).collect();
    assert_eq!(calls.len(), 2, "one for each attempt");
    assert_eq!(calls[0].key, calls[1].key);
    assert!(calls[0].fence < calls[1].fence);
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots > 0);
}

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
    frozen.process.signal("STOP");
    // Meanwhile the other takes over, and the first attempt is answered, too.
    let attempts = once_it_succeeded(&store, held).await;
    soon(endpoint.answered(run)).await;
    frozen.process.signal("CONT");
    soon(async {
        while frozen.figure("chronos_leases_lost_total").await < 1.0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(executions(&store, held).await, attempts, "the late result changed nothing");
    let statuses: Vec<_> = attempts.iter().map(chronos_core::Execution::status).collect();
    assert_eq!(statuses, ["SUCCESS", "STUCK"]);
    settle(&store, nodes, &jobs, &endpoint).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_outlive_their_database_and_go_on_when_it_is_back() {
    for how in [Stop::Fast, Stop::Immediate] {
        let cluster = Cluster::start(Durability::Durable);
        let (database, endpoint) = (Database::fresh(&cluster), Endpoint::open().await);
        let mut nodes = database.nodes(2).await;
        let jobs = background(&nodes[0], &endpoint).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.stop(how);
        tokio::time::sleep(LEASE).await;
        for node in &mut nodes {
            assert!(node.process.lives());
            let (code, told) = get(node.address, "/readyz").await;
            assert!(code == 503 && told.contains("unavailable"), "{told}");
            assert_eq!(get(node.address, "/healthz").await.0, 200);
        }
        cluster.start_again();
        soon(async {
            for node in &nodes {
                while get(node.address, "/readyz").await.0 != 200 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        })
        .await;
        let store = database.store().await;
        let seen = settle(&store, nodes, &jobs, &endpoint).await;
        assert!(seen.slots >= 10 * 5, "{}", seen.slots);
    }
}
