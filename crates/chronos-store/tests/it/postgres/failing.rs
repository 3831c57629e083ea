//! Failing servers and others' locks: waited for, tried again or reported, never lost or doubled.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::QuietHours;
use chronos_core::policy::quiet_hours::{WeekdaySet, Window};
use chronos_core::schedule::Zone;
use chronos_core::store::Error;
use chronos_core::{JobSpec, PolicyId, Store};
use chronos_pgtest::{Cluster, Durability, Stop};
use chronos_store::{PostgresConfig, PostgresStore};

use super::fresh;
use crate::bench::{at, every, finish, job_id, once, terms, worker};

/// The first answer that is not that the store is unavailable, among a few.
async fn soon<T>(mut ask: impl AsyncFnMut() -> Result<T, Error>) -> T {
    for _ in 0..20 {
        match ask().await {
            Err(Error::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            answer => return answer.unwrap(),
        }
    }
    panic!("the store did not come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_costs_a_pause_and_nothing_else() {
    let cluster = Cluster::start(Durability::Volatile);
    let acquire_timeout = Duration::from_millis(300);
    let config =
        PostgresConfig { acquire_timeout, ..PostgresConfig::new(&cluster.url("postgres")) };
    let store = PostgresStore::open(config).await.unwrap();
    store.create_job(every("a", 10), at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    let claimed = store.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    for (how, second) in [(Stop::Fast, 20), (Stop::Immediate, 30)] {
        cluster.stop(how);
        let down = store.fire_due(at(second), 9, None).await;
        assert!(matches!(down, Err(Error::Unavailable(_))), "{down:?}");
        let down = store.renew(&[claimed.claims[0].hold], terms(second)).await;
        assert!(matches!(down, Err(Error::Unavailable(_))), "{down:?}");
        assert!(store.ready().await.is_err());
        cluster.start_again();
        soon(async || store.ready().await).await;
        soon(async || store.fire_due(at(second), 9, None).await).await;
        soon(async || store.renew(&[claimed.claims[0].hold], terms(second)).await).await;
    }
    let end = || vec![finish(claimed.claims[0].hold, Ending::Success, 31)];
    let ended = soon(async || store.finish(end(), at(31)).await).await;
    assert_eq!(ended[0].as_ref().unwrap().status(), "SUCCESS");
    let rows = store.executions(job_id("a"), None, 9).await.unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.slot, row.status())).collect();
    assert_eq!(rows, [(at(30), "SKIPPED"), (at(20), "SKIPPED"), (at(10), "SUCCESS")]);
}

#[tokio::test]
async fn a_connection_that_was_cut_is_replaced_at_once() {
    let schema = fresh().await;
    let mut config = schema.config();
    config.url += "?application_name=";
    config.url += &schema.name;
    let store = PostgresStore::open(config).await.unwrap();
    store.create_job(every("a", 10), at(0)).await.unwrap();
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
        schema.name
    );
    assert_ne!(schema.psql(&cut), "0");
    // A transaction that has not begun is begun elsewhere: nobody hears of it.
    store.fire_due(at(10), 9, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_loses_a_deadlock_is_tried_again() {
    let schema = fresh().await;
    let store = Arc::new(schema.store().await);
    for name in ["a", "b"] {
        store.create_job(once(name, 10), at(0)).await.unwrap();
    }
    store.fire_due(at(10), 9, None).await.unwrap();
    let claimed = store.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    let lock = |name| {
        let (table, id) = (format!("{}.job_standings", schema.name), job_id(name));
        format!("SELECT 1 FROM {table} WHERE id = '{id}' FOR UPDATE")
    };
    let mut other = Cluster::shared().session("postgres");
    // The other gives up after the step does.
    other.run("SET deadlock_timeout = '20s'; BEGIN");
    other.run(&lock("b"));
    let ending = {
        let store = store.clone();
        tokio::spawn(async move {
            let ends = claimed.claims.iter().map(|claim| finish(claim.hold, Ending::Success, 11));
            store.finish(ends.collect(), at(11)).await
        })
    };
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}.%'",
        schema.name
    );
    while schema.psql(&waits) == "0" {
        tokio::task::yield_now().await;
    }
    other.begin(&lock("a"));
    assert_eq!(other.end(), "1", "the step was the one to give way");
    assert!(!ending.is_finished());
    other.run("COMMIT");
    let ended = ending.await.unwrap().unwrap();
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    let tally = store.job(job_id("a")).await.unwrap().standing.tally;
    assert_eq!(tally.succeeded, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_not_granted_is_asked_for_again() {
    let schema = fresh().await;
    let mut config = schema.config();
    config.url.push_str("?options=-c%20lock_timeout%3D20ms");
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    store.create_job(every("a", 10), at(0)).await.unwrap();
    let mut other = Cluster::shared().session("postgres");
    other.run("BEGIN");
    other.run(&format!("SELECT 1 FROM {}.job_standings FOR UPDATE", schema.name));
    let pausing = {
        let store = store.clone();
        let pause = Change::Pause { note: Some("a\0b".into()), resume_at: None };
        tokio::spawn(async move { store.amend_job(job_id("a"), pause, None, at(1)).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!pausing.is_finished(), "one refusal is not the end");
    other.run("COMMIT");
    let paused = pausing.await.unwrap().unwrap();
    assert!(paused.standing.paused.is_some());
    // PostgreSQL cannot hold every character; what it holds can be read.
    let note = store.job(job_id("a")).await.unwrap().standing.paused.unwrap().note;
    assert_eq!(note.as_deref(), Some("a\u{fffd}b"));
}

#[tokio::test]
async fn a_job_that_cannot_be_read_does_not_stop_the_others() {
    let schema = fresh().await;
    let store = schema.store().await;
    for name in ["a", "b"] {
        store.create_job(every(name, 10), at(0)).await.unwrap();
    }
    store.fire_due(at(10), 9, None).await.unwrap();
    let broken = job_id("a");
    schema.psql(&format!("UPDATE chronos.job_specs SET spec = '{{}}' WHERE id = '{broken}'"));
    let store = schema.store().await;
    let claimed = store.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    assert_eq!(claimed.claims.len(), 1);
    assert_eq!(claimed.claims[0].spec.id, job_id("b"));
    let fired = store.fire_due(at(20), 9, None).await.unwrap();
    assert_eq!(fired.planned.len(), 1);
    let again = store.claim(&worker("w"), terms(20), 9.into()).await.unwrap();
    assert_eq!((again.claims.len(), again.next), (0, None), "it is offered to nobody");
    let fresh = schema.store().await;
    let fired = fresh.fire_due(at(30), 9, None).await.unwrap();
    assert_eq!(fired.unreadable.len(), 1);
    assert_eq!(fired.unreadable[0].0, broken);
    let fired = fresh.fire_due(at(30), 9, None).await.unwrap();
    assert!(fired.unreadable.is_empty(), "it is named once");
    assert!(matches!(fresh.job(broken).await, Err(Error::Corrupt(_))));
    assert_eq!(fresh.jobs(None, 9).await.unwrap().len(), 1);
    fresh.delete_job(broken, at(31)).await.unwrap();
    assert_eq!(fresh.job(broken).await, Err(Error::NoSuchJob(broken)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_crash_of_the_server() {
    let cluster = Cluster::start(Durability::Volatile);
    let acquire_timeout = Duration::from_millis(300);
    let config =
        PostgresConfig { acquire_timeout, ..PostgresConfig::new(&cluster.url("postgres")) };
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    for round in 0..3_u8 {
        let (sender, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
        let makers = (0..4_u8).map(|maker| {
            let (store, sender) = (store.clone(), sender.clone());
            tokio::spawn(async move {
                for number in 0..1_000 {
                    let name = format!("{round}{maker}{number:04}");
                    if store.create_job(once(&name, 10), at(0)).await.is_err() {
                        return;
                    }
                    sender.send(name).unwrap();
                }
            })
        });
        let makers: Vec<_> = makers.collect();
        drop(sender);
        let mut names = Vec::new();
        while names.len() < 40 {
            names.push(acknowledged.recv().await.unwrap());
        }
        cluster.stop(Stop::Immediate);
        for maker in makers {
            maker.await.unwrap();
        }
        while let Some(name) = acknowledged.recv().await {
            names.push(name);
        }
        cluster.start_again();
        for name in names {
            let job = soon(async || store.job_named("", &name).await).await;
            assert!(job.is_some(), "job {name} is lost");
        }
    }
    let decisions = store.audit(0, 100_000).await.unwrap();
    for (event, sequence) in decisions.iter().zip(1..) {
        assert_eq!(event.sequence, sequence, "no decision is lost before one that is kept");
    }
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_or_found_holds_nothing_back_and_its_jobs_say_so() {
    let schema = fresh().await;
    let store = PostgresStore::open(schema.config()).await.unwrap();
    let window = Window::new(WeekdaySet::EVERY_DAY, "00:00", "24:00").unwrap();
    let id = PolicyId::new(at(0), [1; 10]);
    let policy =
        QuietHours { windows: vec![window], ..QuietHours::new(id, "always", Zone::UTC, at(0)) };
    store.create_policy(policy).await.unwrap();
    for name in ["a", "b"] {
        let spec = JobSpec { quiet_hours: Some(id), ..every(name, 10) };
        store.create_job(spec, at(0)).await.unwrap();
    }
    let fired = store.fire_due(at(10), 9, None).await.unwrap();
    assert!(fired.planned.iter().all(|planned| !planned.plan.executions[0].is_queued()));
    schema.psql("UPDATE chronos.quiet_hours_policies SET policy = '{}'");
    assert!(matches!(store.policy(id).await, Err(Error::Corrupt(_))));
    assert_eq!(store.policies(None, 9).await, Ok(vec![]));
    for second in [20, 30] {
        let fired = store.fire_due(at(second), 9, None).await.unwrap();
        assert_eq!((fired.planned.len(), fired.unreadable.len()), (2, 0));
        for planned in &fired.planned {
            let missing = Decision::PolicyMissing { policy: id };
            assert!(planned.plan.decisions.contains(&missing), "{second}: {planned:?}");
        }
        schema.psql(
            "ALTER TABLE chronos.job_specs DROP CONSTRAINT IF EXISTS job_specs_policy_exists; \
             DELETE FROM chronos.quiet_hours_policies",
        );
    }
}
