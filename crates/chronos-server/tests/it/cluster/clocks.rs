//! Machines whose clocks are wrong, and a database whose clock is.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chronos_core::{Store, Timestamp};
use chronos_pgtest::Cluster;
use chronos_server::proto::Schedule;
use chronos_server::proto::schedule::Cadence;

use super::load::{background, settle};
use super::nodes::{Database, LEASE, Node, executions, have_run, job, until};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;

/// A database that says it is an hour later than this machine does.
fn an_hour_ahead() -> Database<'static> {
    let database = Database::fresh(Cluster::shared());
    let name = &database.name;
    database.psql(&format!(
        "CREATE SCHEMA ahead; \
         CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE \
         AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$; \
         ALTER DATABASE {name} SET search_path = ahead, pg_catalog"
    ));
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_far_off_takes_on_no_work_and_says_why() {
    let database = an_hour_ahead();
    let node = database.node("wrong", &[]).await;
    let (code, told) = get(node.address, "/readyz").await;
    assert_eq!(code, 503, "{told}");
    assert!(told.contains("s behind the store's; 30.0 s are accepted"), "{told}");
    assert!(node.figure("chronos_braked").await > 0.0);
    let skew = node.figure("chronos_clock_skew_seconds").await;
    assert!((skew + 3_600.0).abs() < 10.0, "{skew}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_goes_by_the_database_s_time_and_not_by_its_own() {
    let (database, endpoint) = (an_hour_ahead(), Endpoint::open().await);
    let node = database.node("behind", &["--max-clock-skew-secs", "7200"]).await;
    assert_eq!(get(node.address, "/readyz").await.0, 200);
    let store = database.store().await;
    let shared = store.time().await.unwrap().unwrap();
    let slot = Timestamp::from_secs(shared.as_secs() + 2);
    let at = prost_types::Timestamp { seconds: slot.as_secs(), nanos: 0 };
    let once = Schedule { cadence: Some(Cadence::OneShot(at)), ..Schedule::default() };
    let job = node.create(job("once", &endpoint.url("ok"), once)).await;
    let ran = until(&store, async |store| {
        let ran = executions(store, job).await.into_iter().next()?;
        (ran.status() == "SUCCESS").then_some(ran)
    })
    .await;
    let late = ran.run().unwrap().started_at.since(slot);
    assert!(ran.slot == slot && late.as_secs() < 5, "{late:?} late: {ran:?}");
}

/// The library that shows a process another time of day.
pub(crate) fn faketime() -> PathBuf {
    let places = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut libraries = places.map(|place| place.path().join("faketime/libfaketime.so.1"));
    let found = libraries.find(|library| library.exists());
    found.expect("libfaketime is not on this machine; run `make postgres`")
}

/// A node on a machine whose clock is off by so many seconds, and goes as fast as others.
async fn node_off_by(database: &Database<'_>, name: &str, seconds: i64, extra: &[&str]) -> Node {
    let mut command = database.command(name, extra);
    command.env("LD_PRELOAD", faketime()).env("FAKETIME", format!("{seconds:+}s"));
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Node::start(name, &mut command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_an_hour_ahead_and_an_hour_behind_fire_nothing_early_late_or_twice() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let store = database.store().await;
    let lenient = ["--max-clock-skew-secs", "7200"];
    let mut nodes = vec![
        node_off_by(&database, "ahead", 3_600, &lenient).await,
        database.node("right", &["--roles", "api"]).await,
    ];
    let jobs = background(&nodes[1], &endpoint).await;
    have_run(&store, &jobs, 3).await;
    // Then the other one has to do everything.
    nodes.push(node_off_by(&database, "behind", -3_600, &lenient).await);
    for (node, off) in nodes.iter().zip([3_600.0, 0.0, -3_600.0]) {
        let skew = node.figure("chronos_clock_skew_seconds").await;
        assert!((skew - off).abs() < 5.0, "{}: {skew}", node.name);
        assert!(node.figure("chronos_braked").await < 1.0, "{}", node.name);
    }
    nodes.remove(0).process.stop().await;
    have_run(&store, &jobs, 3).await;
    settle(&store, nodes, &jobs, &endpoint).await;
    let mut workers = BTreeSet::new();
    for job in jobs {
        for execution in executions(&store, job).await {
            let Some(run) = execution.run() else {
                continue;
            };
            let late = run.started_at.since(execution.slot);
            assert!(run.started_at >= execution.slot, "early: {execution:?}");
            assert!(late < LEASE, "{late:?} late: {execution:?}");
            workers.insert(run.worker.as_str().split('-').next().unwrap().to_owned());
        }
    }
    assert_eq!(workers, ["ahead", "behind"].map(String::from).into(), "both took part");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_whose_clocks_are_too_far_off_leave_the_work_to_the_others() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let store = database.store().await;
    let nodes = vec![
        node_off_by(&database, "ahead", 3_600, &[]).await,
        node_off_by(&database, "behind", -3_600, &[]).await,
        database.node("right", &[]).await,
    ];
    for node in &nodes[..2] {
        let (code, told) = get(node.address, "/readyz").await;
        assert!(code == 503 && told.contains("30.0 s are accepted"), "{told}");
        assert!(node.figure("chronos_braked").await > 0.0);
    }
    let jobs = background(&nodes[2], &endpoint).await;
    have_run(&store, &jobs, 2).await;
    settle(&store, nodes, &jobs, &endpoint).await;
    for job in jobs {
        for execution in executions(&store, job).await {
            let worker = execution.run().map(|run| run.worker.clone());
            assert!(worker.is_none_or(|it| it.as_str().starts_with("right-")), "{execution:?}");
        }
    }
}
