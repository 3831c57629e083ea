//! Message events among many nodes: numbered in the order of commits, whoever is late.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::message::Template;
use chronos_core::store::{EventFilter, Wake};
use chronos_core::{JobSpec, MessageEvent, Store};
use chronos_pgtest::Cluster;
use chronos_store::{PostgresConfig, PostgresStore};
use tokio::sync::Notify;

use super::{Schema, fresh};
use crate::bench::{at, every, job_id, once};
use crate::conformance::messages::says;

async fn read(store: &dyn Store, after: u64) -> Vec<MessageEvent> {
    let page = store.message_events(&EventFilter::default(), after, 100).await.unwrap();
    page.events
}

/// Has every message of this job do something in the transaction that files it, before that commits.
fn on_message(schema: &Schema, name: &str, what: &str) {
    let id = job_id(name);
    schema.psql(&format!(
        "CREATE OR REPLACE FUNCTION chronos.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN IF NEW.job_id = '{id}' THEN {what}; END IF; RETURN NEW; END $$; \
         CREATE TRIGGER meddle AFTER INSERT ON chronos.message_events \
         FOR EACH ROW EXECUTE FUNCTION chronos.meddle()"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_commits_late_is_not_passed_by() {
    let schema = fresh().await;
    let (slow, quick) = (Arc::new(schema.store().await), Arc::new(schema.store().await));
    let reader = schema.store().await;
    slow.create_job(says(once("slow", 10)), at(0)).await.unwrap();
    slow.create_job(says(every("quick", 3_600)), at(0)).await.unwrap();
    let lock = format!("hashtext('{}')", schema.name);
    on_message(&schema, "slow", &format!("PERFORM pg_advisory_xact_lock({lock})"));
    let mut other = Cluster::shared().session("postgres");
    other.run(&format!("SELECT pg_advisory_lock({lock})"));
    let late = tokio::spawn(async move { slow.fire_due(at(10), 9, None).await });
    while schema.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
        tokio::task::yield_now().await;
    }
    // The first has its number and has not committed. The second begins now, and would be done first.
    let next = tokio::spawn(async move { quick.run_now(job_id("quick"), None, at(11)).await });
    let mut cursor = 0;
    for _ in 0..20 {
        let page = reader.message_events(&EventFilter::default(), cursor, 9).await.unwrap();
        assert_eq!(page.events, [], "whoever read the second now would never see the first");
        cursor = page.cursor;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    other.run(&format!("SELECT pg_advisory_unlock({lock})"));
    assert_eq!(late.await.unwrap().unwrap().planned.len(), 1);
    next.await.unwrap().unwrap();
    let jobs: Vec<_> = read(&reader, cursor).await.iter().map(|event| event.message.job).collect();
    assert_eq!(jobs, [job_id("slow"), job_id("quick")]);
}

#[tokio::test]
async fn a_long_transaction_of_somebody_else_holds_no_event_up() {
    let schema = fresh().await;
    let store = schema.store().await;
    let mut other = Cluster::shared().session("postgres");
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    other.run("SELECT pg_current_xact_id()");
    store.create_job(says(every("a", 10)), at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    assert_eq!(read(&schema.store().await, 0).await.len(), 1);
    other.run("COMMIT");
}

#[tokio::test]
async fn an_event_that_is_taken_back_was_never_there() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(says(every("a", 10)), at(0)).await.unwrap();
    store.create_job(every("b", 10), at(0)).await.unwrap();
    on_message(&schema, "a", "RAISE EXCEPTION 'no'");
    store.fire_due(at(10), 9, None).await.unwrap_err();
    assert_eq!((read(&store, 0).await.len(), store.newest_message().await), (0, Ok(0)));
    assert_eq!(store.executions(job_id("a"), None, 9).await.unwrap(), [], "nothing else happened");
    assert_eq!(store.executions(job_id("b"), None, 9).await.unwrap(), []);
    schema.psql("DROP TRIGGER meddle ON chronos.message_events");
    store.fire_due(at(10), 9, None).await.unwrap();
    assert_eq!(read(&store, 0).await[0].sequence, 1);
}

#[tokio::test]
async fn a_slot_is_said_once_even_if_its_job_is_set_back() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(says(every("a", 10)), at(0)).await.unwrap();
    store.create_job(says(every("b", 10)), at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    let first = read(&store, 0).await;
    let ten = at(10);
    schema.psql(&format!(
        "UPDATE chronos.job_standings SET next_execution_time = '{ten}', due_at = '{ten}', \
         last_slot = NULL WHERE id = '{}'",
        job_id("a")
    ));
    schema.store().await.fire_due(at(20), 9, None).await.unwrap();
    let later = read(&store, 2).await;
    let slots: Vec<_> = later.iter().map(|event| (event.message.job, event.message.slot)).collect();
    assert_eq!(slots, [(job_id("a"), at(20)), (job_id("b"), at(20))]);
    assert_eq!(read(&store, 0).await[..2], first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_follows_many_nodes_misses_nothing() {
    let schema = fresh().await;
    let stores = [Arc::new(schema.store().await), Arc::new(schema.store().await)];
    for number in 0..8 {
        stores[0].create_job(says(every(&format!("j{number}"), 3_600)), at(0)).await.unwrap();
    }
    let reader = schema.store().await;
    let writers = (0..8_usize).map(|writer| {
        let store = stores[writer % 2].clone();
        tokio::spawn(async move {
            for second in 0..15 {
                store.run_now(job_id(&format!("j{writer}")), None, at(second)).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let (mut cursor, mut sequences) = (0, Vec::new());
    let reading = async {
        while sequences.len() < 120 {
            let page = reader.message_events(&EventFilter::default(), cursor, 7).await.unwrap();
            cursor = page.cursor;
            sequences.extend(page.events.iter().map(|event| event.sequence));
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reading).await.expect("nothing is missing");
    assert_eq!(sequences, (1..=120).collect::<Vec<_>>());
    for writer in writers {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_nodes_hear_of_messages() {
    let schema = fresh().await;
    let config = PostgresConfig { listen: true, ..schema.config() };
    let one = PostgresStore::open(config.clone()).await.unwrap();
    let other = PostgresStore::open(config).await.unwrap();
    let heard = Arc::new(Notify::new());
    let bell = heard.clone();
    other.watch(Arc::new(move |wake| {
        if wake == Wake::Message {
            bell.notify_one();
        }
    }));
    one.create_job(says(every("a", 3_600)), at(0)).await.unwrap();
    let told = async {
        // Whoever begins to listen only now hears of the next one.
        loop {
            one.run_now(job_id("a"), None, at(1)).await.unwrap();
            if tokio::time::timeout(Duration::from_millis(300), heard.notified()).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("it is told");
}

#[tokio::test]
async fn any_text_is_only_text() {
    let schema = fresh().await;
    let store = schema.store().await;
    let name = "'; DROP TABLE x; -- $1 \\ \u{1f600} \u{fffd}";
    let owner = "o'$2\\x00 {{slot}}";
    let text = "'$3' \\ {{job_name}}\u{0}\n";
    let spec = JobSpec { owner: owner.into(), name: name.into(), ..every("a", 10) };
    let spec = spec.with_target(Template::new(Some(text), None).unwrap());
    store.create_job(spec, at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    let filter = EventFilter { owner: Some(owner.into()), ..EventFilter::default() };
    let page = store.message_events(&filter, 0, 9).await.unwrap();
    let message = &page.events[0].message;
    assert_eq!(message.text.as_deref(), Some(&*format!("'$3' \\ {name}\u{0}\n")));
    assert_eq!(&*message.actor, owner);
}
