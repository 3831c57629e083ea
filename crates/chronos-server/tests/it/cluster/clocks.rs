//! A machine whose clock is wrong. Here the database's is put forward, which comes to the same.

use chronos_core::{Store, Timestamp};
use chronos_pgtest::Cluster;
use chronos_server::proto::Schedule;
use chronos_server::proto::schedule::Cadence;

use super::nodes::{Database, executions, job, until};
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
