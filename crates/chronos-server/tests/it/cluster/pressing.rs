//! A database under pressure: no connection free, and steps that it breaks off.

use std::time::Duration;

use chronos_core::Store;
use chronos_pgtest::Cluster;

use super::load::{background, settle, statuses};
use super::nodes::{Database, LEASE, by_hand, executions, until};
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_free_connection_keeps_its_leases() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let store = database.store().await;
    let node = database.node("a", &["--database-pool", "2"]).await;
    let held = node.create(by_hand("late", &endpoint.url("late"))).await;
    let run = node.run("late").await;
    soon(endpoint.called(run)).await;
    // Whoever decides about a job, or lists them, waits, and the rest for a connection.
    let mut somebody = database.cluster.session(&database.name);
    somebody.run("BEGIN; LOCK TABLE chronos.job_standings IN ACCESS EXCLUSIVE MODE");
    let crowd: Vec<_> =
        (0..8).map(|_| tokio::spawn(async move { get(node.address, "/jobs").await.0 })).collect();
    tokio::time::sleep(LEASE + LEASE / 3).await;
    let execution = store.execution(run).await.unwrap();
    assert_eq!(execution.status(), "RUNNING");
    somebody.run("COMMIT");
    let attempts = until(&store, async |store| {
        let attempts = executions(store, held).await;
        (attempts[0].status() == "SUCCESS").then_some(attempts)
    })
    .await;
    assert_eq!(statuses(&attempts), ["SUCCESS"], "its lease was renewed meanwhile");
    for answered in crowd {
        let code = soon(answered).await.unwrap();
        assert!([200, 503, 504].contains(&code), "{code}");
    }
    assert_eq!(get(node.address, "/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_nothing_to_do_asks_next_to_nothing() {
    let database = Database::fresh(Cluster::shared());
    database.psql(&format!("ALTER DATABASE {} SET log_statement = 'all'", database.name));
    let usual = ["--lease-secs", "30", "--heartbeat-secs", "5"];
    let node = database.node("idle", &usual).await;
    let job = by_hand("some day", "http://127.0.0.1:1/");
    node.create(job).await;
    // No other database logs its statements.
    let statements = || {
        let log = std::fs::read_to_string(database.cluster.directory().join("log")).unwrap();
        let asked = |line: &&str| line.contains("statement: ") || line.contains("execute ");
        log.lines().filter(asked).map(String::from).collect::<Vec<_>>()
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = statements().len();
    assert!(before > 0, "they are counted");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let asked = &statements()[before..];
    assert!(asked.len() <= 20, "{} in ten seconds: {asked:#?}", asked.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_that_the_database_breaks_off_neither_lose_nor_double_work() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    // One statement in five fails as under a deadlock, a conflict or a lock that is not granted, and one in
    // twenty as when the server has no room.
    let tables = ["job_standings", "live_executions", "job_executions", "audit"];
    let triggers = tables.map(|table| {
        format!(
            "CREATE TRIGGER weather BEFORE INSERT OR UPDATE OR DELETE ON chronos.{table} \
             FOR EACH STATEMENT EXECUTE FUNCTION chronos.weather();"
        )
    });
    database.psql(&format!(
        "CREATE SEQUENCE chronos.storms; \
         CREATE FUNCTION chronos.weather() RETURNS trigger LANGUAGE plpgsql AS $$ \
         DECLARE luck float := random(); BEGIN \
         IF luck < 0.25 THEN PERFORM nextval('chronos.storms'); END IF; \
         IF luck < 0.08 THEN RAISE EXCEPTION 'a deadlock' USING ERRCODE = '40P01'; END IF; \
         IF luck < 0.16 THEN RAISE EXCEPTION 'a conflict' USING ERRCODE = '40001'; END IF; \
         IF luck < 0.20 THEN RAISE EXCEPTION 'a lock' USING ERRCODE = '55P03'; END IF; \
         IF luck < 0.25 THEN RAISE EXCEPTION 'no room' USING ERRCODE = '53200'; END IF; \
         RETURN NULL; END $$; {}",
        triggers.join(" ")
    ));
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        // And sessions end, as when an administrator ends them.
        database.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name IN ('a', 'b', 'c') AND random() < 0.2",
        );
    }
    let storms: u64 = database.psql("SELECT last_value FROM chronos.storms").parse().unwrap();
    assert!(storms > 10, "{storms}");
    for table in tables {
        database.psql(&format!("DROP TRIGGER weather ON chronos.{table}"));
    }
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots >= 10 * 4, "{}", seen.slots);
}
