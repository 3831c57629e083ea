//! Waking: a node hears of what another made due, by notification or by looking itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::Store;
use chronos_core::execution::CancelCause;
use chronos_core::plan::Ending;
use chronos_core::store::Wake;
use chronos_store::{PostgresConfig, PostgresStore};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{Schema, fresh};
use crate::bench::{at, every, finish, once, terms, worker};

const LONG: Duration = Duration::from_hours(1);

/// A node, and what its hooks are told.
async fn node(config: PostgresConfig) -> (PostgresStore, UnboundedReceiver<Wake>) {
    let store = PostgresStore::open(config).await.unwrap();
    let (sender, receiver) = unbounded_channel();
    store.watch(Arc::new(move |wake| sender.send(wake).unwrap_or_default()));
    (store, receiver)
}

async fn hears(wakes: &mut UnboundedReceiver<Wake>, wanted: Wake) {
    let heard = async { while wakes.recv().await != Some(wanted) {} };
    tokio::time::timeout(Duration::from_secs(20), heard)
        .await
        .unwrap_or_else(|_| panic!("nobody heard of {wanted:?}"));
}

fn listening(schema: &Schema) -> PostgresConfig {
    PostgresConfig { listen: true, poll: LONG, ..schema.config() }
}

/// Waits until a node's listener is there.
async fn until_listening(schema: &Schema, listeners: usize) {
    let listens = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%{}\"'",
        schema.name
    );
    while schema.psql(&listens) != listeners.to_string() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_wakes_the_sleepers_of_another_node() {
    let schema = fresh().await;
    let (one, _) = node(listening(&schema)).await;
    let (_other, mut wakes) = node(listening(&schema)).await;
    until_listening(&schema, 2).await;
    one.create_job(once("a", 10), at(0)).await.unwrap();
    hears(&mut wakes, Wake::Job).await;
    one.fire_due(at(10), 9, None).await.unwrap();
    hears(&mut wakes, Wake::Execution).await;
    let claimed = one.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    let id = claimed.claims[0].hold.execution;
    one.cancel(id, CancelCause::User, at(11)).await.unwrap();
    hears(&mut wakes, Wake::Cancel).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_notification_tells_is_found_below_the_horizon() {
    let schema = fresh().await;
    let (one, _) = node(listening(&schema)).await;
    let (other, mut wakes) = node(listening(&schema)).await;
    until_listening(&schema, 2).await;
    // The other node has seen that nothing waits, long after the time of what comes.
    let nothing = other.claim(&worker("w"), terms(1_000), 9.into()).await.unwrap();
    assert!(nothing.claims.is_empty());
    assert!(other.fire_due(at(1_000), 9, None).await.unwrap().planned.is_empty());
    one.create_job(once("a", 10), at(0)).await.unwrap();
    hears(&mut wakes, Wake::Job).await;
    assert_eq!(other.fire_due(at(1_000), 9, None).await.unwrap().planned.len(), 1);
    let claimed = one.claim(&worker("w"), terms(1_000), 9.into()).await.unwrap();
    let released = &claimed.claims[0];
    assert!(other.claim(&worker("w"), terms(2_000), 9.into()).await.unwrap().claims.is_empty());
    while wakes.try_recv().is_ok() {}
    one.release(&[released.hold], at(1_001)).await.unwrap();
    hears(&mut wakes, Wake::Execution).await;
    assert_eq!(other.claim(&worker("w"), terms(2_000), 9.into()).await.unwrap().claims.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_only_polls_finds_what_others_made_due() {
    let schema = fresh().await;
    let one = schema.store().await;
    let poll = Duration::from_millis(20);
    for pooler in [false, true] {
        let config = PostgresConfig { listen: false, pooler, poll, ..schema.config() };
        let (other, mut wakes) = node(config).await;
        assert!(other.fire_due(at(1_000), 9, None).await.unwrap().planned.is_empty());
        assert!(other.claim(&worker("w"), terms(1_000), 9.into()).await.unwrap().claims.is_empty());
        let name = if pooler { "b" } else { "a" };
        one.create_job(once(name, 10), at(0)).await.unwrap();
        hears(&mut wakes, Wake::Job).await;
        one.fire_due(at(10), 9, None).await.unwrap();
        hears(&mut wakes, Wake::Execution).await;
        let claimed = other.claim(&worker("w"), terms(1_000), 9.into()).await.unwrap();
        assert_eq!(claimed.claims.len(), 1);
        let end = vec![finish(claimed.claims[0].hold, Ending::Success, 1_000)];
        other.finish(end, at(1_000)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_was_cut_off_comes_back() {
    let schema = fresh().await;
    let one = schema.store().await;
    let config = listening(&schema);
    let (_other, mut wakes) = node(config).await;
    until_listening(&schema, 1).await;
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%{}\"'",
        schema.name
    );
    // Told to nobody, because the first node does not notify: found when the listener is back.
    one.create_job(once("a", 10), at(0)).await.unwrap();
    assert_eq!(schema.psql(&cut), "1");
    hears(&mut wakes, Wake::Job).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_notification_is_a_hint_at_most() {
    let schema = fresh().await;
    let one = schema.store().await;
    let (other, mut wakes) = node(listening(&schema)).await;
    until_listening(&schema, 1).await;
    one.create_job(once("a", 10), at(0)).await.unwrap();
    let garbage = "x".repeat(7_999);
    let forged = [
        "",
        " ",
        "nonsense",
        &garbage,
        "1 2 3 cancel cancel cancel",
        "1 9223372036854775807 -9223372036854775808 -",
        "1 99999999999999999999999999 - -",
        "1 - - cancel",
        "\u{202e}\n\r\t\u{1b}[2J",
        "1; DROP SCHEMA chronos CASCADE; --",
        "' OR 1=1 --",
    ];
    let notify = |payload: &str| {
        let payload = payload.replace('\'', "''");
        schema.psql(&format!("SELECT pg_notify('chronos_{}', '{payload}')", schema.name));
    };
    for payload in forged {
        notify(payload);
    }
    // What cannot be understood may be news of anything, so that whoever sleeps looks; that is all.
    for wake in [Wake::Job, Wake::Execution, Wake::Cancel] {
        hears(&mut wakes, wake).await;
    }
    assert!(
        other.fire_due(at(9), 9, None).await.unwrap().planned.is_empty(),
        "its time is not yet"
    );
    assert!(other.claim(&worker("w"), terms(9), 9.into()).await.unwrap().claims.is_empty());
    // The listener is the same one as before, and hears of what is told next.
    until_listening(&schema, 1).await;
    while wakes.try_recv().is_ok() {}
    notify("1 - - cancel");
    hears(&mut wakes, Wake::Cancel).await;
    assert_eq!(other.fire_due(at(10), 9, None).await.unwrap().planned.len(), 1);
    let claimed = other.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    let end = vec![finish(claimed.claims[0].hold, Ending::Success, 11)];
    other.finish(end, at(11)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_node_asks_next_to_nothing() {
    let schema = fresh().await;
    let poll = Duration::from_millis(100);
    let config = PostgresConfig { listen: true, poll, ..schema.config() };
    let (store, mut wakes) = node(config).await;
    store.create_job(every("a", 1_000), at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    store.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    until_listening(&schema, 1).await;
    while wakes.try_recv().is_ok() {}
    let woken: Arc<Mutex<u32>> = Arc::default();
    let count = woken.clone();
    store.watch(Arc::new(move |wake| {
        // Nothing waits, so a dispatcher hears of nothing, and the planner knows when to look.
        assert_ne!(wake, Wake::Job);
        *count.lock().unwrap() += 1;
    }));
    tokio::time::sleep(poll * 5).await;
    assert_eq!(*woken.lock().unwrap(), 0, "a poll that finds nothing new wakes nobody");
}
