//! Crashes at every step of firing: whatever is cut off where, what was said, decided, run and counted agree.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::State;
use chronos_core::store::{Error, EventFilter};
use chronos_core::{ExecutionId, JobSpec, Store};
use chronos_pgtest::{Cluster, Durability, Stop};
use chronos_store::{PostgresConfig, PostgresStore};

use super::fresh;
use crate::bench::{at, every, job_id};
use crate::conformance::messages::says;

/// What a firing writes, in some order: whoever waits for one of them is at that step.
const TABLES: [&str; 5] =
    ["job_standings", "job_executions", "message_events", "audit", "live_executions"];

/// Jobs that say something, and one that has to be run.
fn jobs() -> Vec<JobSpec> {
    let mut jobs: Vec<JobSpec> =
        ["a", "b", "c"].into_iter().map(|name| says(every(name, 10))).collect();
    jobs.push(every("d", 10));
    jobs
}

/// Events, decisions, executions and positions of what says something agree: each of the first slots fired.
async fn assert_agree(store: &dyn Store, slots: i64) {
    let audit = store.audit(0, 10_000).await.unwrap();
    let said = store.message_events(&EventFilter::default(), 0, 10_000).await.unwrap().events;
    let numbers: Vec<u64> = said.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=said.len() as u64).collect::<Vec<_>>());
    for name in ["a", "b", "c"] {
        let id = job_id(name);
        let of_job = said.iter().filter(|event| event.message.job == id);
        let events: Vec<ExecutionId> = of_job.map(|event| event.message.id).collect();
        let fired = audit.iter().filter(|event| event.job == Some(id));
        let fired = fired.filter_map(|event| match &event.decision {
            Decision::Fired { execution, .. } => Some(*execution),
            _ => None,
        });
        let fired: Vec<ExecutionId> = fired.collect();
        let rows = store.executions(id, None, 1_000).await.unwrap();
        let rows = rows.iter().filter(|row| matches!(row.state, State::Success(_)));
        let rows: BTreeSet<ExecutionId> = rows.map(|row| row.id).collect();
        assert_eq!(events, fired, "{name}: said and decided");
        assert_eq!(events.iter().copied().collect::<BTreeSet<_>>(), rows, "{name}: said and run");
        let standing = store.job(id).await.unwrap().standing;
        let position = (standing.tally.fired, standing.last_slot, standing.next_slot);
        let last = (slots > 0).then(|| at(slots * 10));
        assert_eq!(position, (slots.unsigned_abs(), last, Some(at(slots * 10 + 10))), "{name}");
        assert_eq!(events.len(), usize::try_from(slots).unwrap(), "{name}");
    }
}

/// How many sessions wait for a lock on what belongs to a schema.
fn waiting(schema: &str) -> String {
    format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{schema}.%'"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_cut_at_any_step_of_firing_leaves_all_of_it_or_nothing() {
    let schema = fresh().await;
    let mut config = schema.config();
    config.url = format!("{}?application_name={}", config.url, schema.name);
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    for spec in jobs() {
        store.create_job(spec, at(0)).await.unwrap();
    }
    let mut slots = 0;
    for table in TABLES {
        let mut other = Cluster::shared().session("postgres");
        other.run("BEGIN");
        other.run(&format!("LOCK TABLE {}.{table} IN EXCLUSIVE MODE", schema.name));
        slots += 1;
        let firing = {
            let store = store.clone();
            tokio::spawn(async move { store.fire_due(at(slots * 10), 9, None).await })
        };
        // Not every step writes to every table.
        let mut waits = false;
        while !waits && !firing.is_finished() {
            waits = schema.psql(&waiting(&schema.name)) != "0";
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if waits {
            let cut = format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE application_name = '{}' AND wait_event_type = 'Lock'",
                schema.name
            );
            assert_ne!(schema.psql(&cut), "0", "{table}");
        }
        other.run("COMMIT");
        match firing.await.unwrap() {
            // It was begun anew by itself.
            Ok(_) => {}
            Err(Error::Unavailable(_)) => assert_agree(&*store, slots - 1).await,
            Err(error) => panic!("{table}: {error}"),
        }
        while store.fire_due(at(slots * 10), 9, None).await.is_err() {}
        assert_agree(&*store, slots).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_at_any_step_of_firing_keeps_all_of_it_or_nothing() {
    let cluster = Cluster::start(Durability::Durable);
    let acquire_timeout = Duration::from_millis(300);
    let config =
        PostgresConfig { acquire_timeout, ..PostgresConfig::new(&cluster.url("postgres")) };
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    for spec in jobs() {
        store.create_job(spec, at(0)).await.unwrap();
    }
    for (table, slots) in TABLES.into_iter().zip(1..) {
        let mut other = cluster.session("postgres");
        other.run("BEGIN");
        other.run(&format!("LOCK TABLE chronos.{table} IN EXCLUSIVE MODE"));
        let firing = {
            let store = store.clone();
            tokio::spawn(async move { store.fire_due(at(slots * 10), 9, None).await })
        };
        let mut waits = false;
        while !waits && !firing.is_finished() {
            waits = cluster.psql("postgres", &waiting("chronos")) != "0";
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // As a power cut would: nothing is written on the way out.
        cluster.stop(Stop::Immediate);
        let _ = firing.await.unwrap();
        drop(other);
        cluster.start_again();
        let mut tries = 0;
        while store.fire_due(at(slots * 10), 9, None).await.is_err() {
            tries += 1;
            assert!(tries < 200, "the store did not come back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_agree(&*store, slots).await;
    }
}
