//! Nodes that share the work of one database.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::store::Roles;
use chronos_core::{Store, Timestamp};
use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::Cluster;
use chronos_store::SCHEMA_VERSION;

use super::accounts;
use super::nodes::{Database, Node, by_hand, every_second, executions, have_run, until};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;
use crate::serving::Serving;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_run_every_slot_once() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let mut jobs = Vec::new();
    for number in 0..20 {
        let spec = every_second(&format!("job {number}"), &endpoint.url("ok"));
        jobs.push(nodes[number % 3].create(spec).await);
    }
    let store = database.store().await;
    have_run(&store, &jobs, 5).await;
    let workers = store.workers(SystemClock::new().now().before(Duration::from_secs(5))).await;
    let hosts: BTreeSet<String> =
        workers.unwrap().iter().map(|worker| worker.host.to_string()).collect();
    assert_eq!(hosts, ["a", "b", "c"].map(String::from).into());
    let stopped_at = SystemClock::new().now();
    for node in &mut nodes {
        node.process.stop().await;
    }
    let last = Timestamp::from_secs(stopped_at.as_secs() - 1);
    let seen = accounts::check(&store, &jobs, last, &endpoint.calls()).await;
    assert!(seen.slots >= 20 * 4, "{}", seen.slots);
    assert_eq!(seen.lost, 0, "nobody failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_tells_of_all_nodes() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let told = async |node: &Node| {
        let (code, page) = get(node.address, "/monitoring/workers").await;
        assert_eq!(code, 200, "{page}");
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let items = page["items"].as_array().unwrap().clone();
        items.into_iter().map(|it| it["host"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    soon(async {
        for node in &nodes {
            while told(node).await != ["a", "b"] {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    })
    .await;
    nodes.remove(1).process.kill();
    soon(async {
        while told(&nodes[0]).await != ["a"] {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_nodes_that_start_at_once_migrate_once() {
    let database = Database::fresh(Cluster::shared());
    let names = ["a", "b", "c", "d", "e"];
    let mut starting = names.map(|name| Serving::spawn(&mut database.command(name, &[])));
    for node in &mut starting {
        node.listening().await;
    }
    let migrated = database.psql("SELECT count(*) FROM chronos.schema_migrations");
    assert_eq!(migrated, SCHEMA_VERSION.to_string());
    // The cluster has one compaction and prunes once, whoever registered it.
    assert_eq!(database.psql("SELECT count(*) FROM chronos.jobs"), "2");
    for node in &mut starting {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_node_does_what_its_roles_say() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let api = database.node("front", &["--roles", "api"]).await;
    let scheduler = database.node("clock", &["--roles", "scheduler"]).await;
    let worker = database.node("hands", &["--roles", "worker"]).await;
    let job = api.create(every_second("tick", &endpoint.url("ok"))).await;
    let store = database.store().await;
    let ran = until(&store, async |store| {
        let ran = executions(store, job).await;
        ran.into_iter().find(|execution| execution.status() == "SUCCESS")
    })
    .await;
    let ran_by = ran.run().unwrap().worker.as_str();
    assert!(ran_by.starts_with("hands-"), "{ran_by}");
    let mut described: Vec<(String, Roles)> = store
        .workers(Timestamp::EPOCH)
        .await
        .unwrap()
        .into_iter()
        .map(|worker| (worker.host.into(), worker.roles))
        .collect();
    described.sort_by(|a, b| a.0.cmp(&b.0));
    let roles = |name| Roles::named([name]);
    let expected =
        [("clock", roles("scheduler")), ("front", roles("api")), ("hands", roles("worker"))];
    assert_eq!(described, expected.map(|(name, roles)| (name.to_owned(), roles)));
    for node in [&scheduler, &worker] {
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(get(node.address, path).await.0, 200, "{}: {path}", node.name);
        }
        for path in ["/", "/jobs", "/chronos.v1.Scheduler/ListJobs", "/grpc.health.v1.Health/Check"]
        {
            assert_eq!(get(node.address, path).await.0, 404, "{}: {path}", node.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_in_order_hands_its_runs_over_at_once() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut leaving = database.node("a", &["--shutdown-timeout-secs", "0"]).await;
    let job = leaving.create(by_hand("held", &endpoint.url("hangs"))).await;
    let run = leaving.run("held").await;
    let store = database.store().await;
    soon(endpoint.called(run)).await;
    let _staying = database.node("b", &[]).await;
    leaving.process.stop().await;
    let taken_over = until(&store, async |store| {
        let newest = executions(store, job).await.into_iter().next()?;
        (newest.status() == "SUCCESS").then_some(newest)
    })
    .await;
    assert!(taken_over.run().unwrap().worker.as_str().starts_with("b-"), "{taken_over:?}");
}
