//! History by the day: made before it is needed, dropped as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::plan::Ending;
use chronos_core::store::{Roles, Terms, Worker};
use chronos_core::{Store, Timestamp};
use chronos_store::{PostgresConfig, PostgresStore};

use super::{Schema, fresh};
use crate::bench::{at, every, finish, job_id, terms, worker};

const DAY: i64 = 86_400;

fn partitions(schema: &Schema, table: &str) -> Vec<String> {
    let statement = format!(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
         WHERE i.inhparent = 'chronos.{table}'::regclass ORDER BY 1"
    );
    schema.psql(&statement).lines().map(str::to_owned).collect()
}

/// Runs the job once at an instant.
async fn run_at(store: &dyn Store, now: Timestamp) {
    store.run_now(job_id("a"), None, now).await.unwrap();
    let terms = Terms { now, ..terms(0) };
    let claimed = store.claim(&worker("w"), terms, 9.into()).await.unwrap();
    let mut end = finish(claimed.claims[0].hold, Ending::Success, 0);
    end.report.at = now;
    store.finish(vec![end], now).await.unwrap();
}

#[tokio::test]
async fn every_day_has_a_partition_of_its_own() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(every("a", 1_000 * 86_400), at(0)).await.unwrap();
    for day in [0, 1, 2, 9] {
        run_at(&store, at(day * DAY + 3_600)).await;
    }
    let names = partitions(&schema, "job_executions");
    assert!(names.contains(&"job_executions_20261116".into()), "{names:?}");
    assert!(names.contains(&"job_executions_20261125".into()), "{names:?}");
    assert_eq!(partitions(&schema, "audit").len(), names.len());
    let rows = store.executions(job_id("a"), None, 9).await.unwrap();
    assert_eq!(rows.len(), 4);
    let counted = schema.psql("SELECT count(*) FROM chronos.job_executions_20261117");
    assert_eq!(counted, "1");
    // People find both kinds under the names they know.
    let seen =
        schema.psql("SELECT status, retry_number, worker_id FROM chronos.executions LIMIT 1");
    assert_eq!(seen, "SUCCESS|0|w");
    let seen =
        schema.psql("SELECT name, status, is_recurring, enabled, retry_count FROM chronos.jobs");
    assert_eq!(seen, "a|PENDING|t|t|0");
}

#[tokio::test]
async fn days_past_their_time_are_dropped_and_the_count_of_decisions_goes_on() {
    let schema = fresh().await;
    let keep_history = Some(Duration::from_hours(3 * 24));
    let config = PostgresConfig { keep_history, ..schema.config() };
    let store = PostgresStore::open(config).await.unwrap();
    let today = store.database_time().await.unwrap();
    let days_ago = |days: u64| today.before(Duration::from_hours(24 * days));
    store.create_job(every("a", 1_000 * 86_400), days_ago(10)).await.unwrap();
    for days in [10, 9, 5] {
        run_at(&store, days_ago(days)).await;
    }
    let decisions = store.audit(0, 1_000).await.unwrap();
    let compacted = store.compact(Arc::new(|_| ControlFlow::Continue(()))).await.unwrap();
    assert!(compacted.is_complete() && compacted.units > 5, "{compacted:?}");
    assert_eq!(store.executions(job_id("a"), None, 9).await, Ok(vec![]));
    // The newest decisions stay, however old: the next ones are numbered from them.
    let kept = store.audit(0, 1_000).await.unwrap();
    assert_eq!(kept.last(), decisions.last());
    assert!(kept.len() < decisions.len(), "{}", kept.len());
    run_at(&store, days_ago(0)).await;
    let newest = store.audit(decisions.len() as u64, 9).await.unwrap();
    assert_eq!(newest[0].sequence, decisions.len() as u64 + 1);
    assert_eq!(store.executions(job_id("a"), None, 9).await.unwrap().len(), 1);
    // A node whose clock is behind writes into a day that is gone.
    run_at(&store, days_ago(8)).await;
    assert_eq!(store.executions(job_id("a"), None, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_compaction_stops_where_it_is_told_to() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(every("a", 10), at(0)).await.unwrap();
    let stop_at_third = Arc::new(|progress: chronos_core::store::CompactionProgress| {
        if progress.unit == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let compacted = store.compact(stop_at_third).await.unwrap();
    assert_eq!(compacted.done, 2);
    assert!(!compacted.is_complete());
}

#[tokio::test]
async fn workers_that_are_gone_for_a_day_are_forgotten() {
    let schema = fresh().await;
    let store = schema.store().await;
    let now = store.time().await.unwrap().unwrap();
    for (name, hours) in [("gone", 25), ("quiet", 23)] {
        let seen_at = now.before(Duration::from_hours(hours));
        let (host, version) = ("host".into(), "1".into());
        let (roles, capacity, running) = (Roles::default(), 1, 0);
        let id = worker(name);
        let gone =
            Worker { id, host, version, roles, started_at: seen_at, seen_at, capacity, running };
        store.put_worker(gone).await.unwrap();
    }
    assert_eq!(store.workers(Timestamp::EPOCH).await.unwrap().len(), 2);
    store.compact(Arc::new(|_| ControlFlow::Continue(()))).await.unwrap();
    let left = store.workers(Timestamp::EPOCH).await.unwrap();
    assert_eq!(left.iter().map(|worker| worker.id.as_str()).collect::<Vec<_>>(), ["quiet"]);
}
