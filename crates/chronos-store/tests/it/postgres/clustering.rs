//! Many nodes on one database: no slot fires twice, no execution has two holders, nobody waits for an idle
//! neighbour.

use std::collections::BTreeSet;
use std::sync::Arc;

use chronos_core::audit::Decision;
use chronos_core::plan::Ending;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::{Creation, Error, Hold, Renewal};
use chronos_core::{JobSpec, Store};
use chronos_pgtest::Cluster;
use chronos_store::PostgresConfig;

use super::{Schema, fresh};
use crate::bench::{at, every, finish, job_id, once, terms, worker};

const JOBS: usize = 60;
const SECONDS: i64 = 25;

/// Plans, claims and finishes until every slot is over.
async fn work(store: Arc<dyn Store>, name: String) -> Vec<Hold> {
    let (worker, mut held) = (worker(&name), Vec::new());
    for second in 1..=SECONDS {
        for _ in 0..4 {
            store.fire_due(at(second), 7, None).await.unwrap();
            let claimed = store.claim(&worker, terms(second), 11.into()).await.unwrap();
            let holds: Vec<_> = claimed.claims.iter().map(|claim| claim.hold).collect();
            let ends = holds.iter().map(|hold| finish(*hold, Ending::Success, second));
            for answer in store.finish(ends.collect(), at(second)).await.unwrap() {
                answer.unwrap();
            }
            held.extend(holds);
        }
    }
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn planners_and_workers_on_many_nodes_double_nothing() {
    let schema = fresh().await;
    let store = schema.store().await;
    for number in 0..JOBS {
        let spec = every(&format!("j{number:03}"), 1);
        let overlap = OverlapPolicy::Concurrent;
        store.create_job(JobSpec { overlap, ..spec }, at(0)).await.unwrap();
    }
    let mut nodes = Vec::new();
    for node in 0..4 {
        let store: Arc<dyn Store> = Arc::new(schema.store().await);
        nodes.push(tokio::spawn(work(store, format!("w{node}"))));
    }
    let mut held = Vec::new();
    for node in nodes {
        held.extend(node.await.unwrap());
    }
    // What a node left due when it was done.
    while !store.fire_due(at(SECONDS), 1_000, None).await.unwrap().planned.is_empty() {}
    held.extend(work(Arc::new(schema.store().await), "last".into()).await);
    let slots = JOBS * usize::try_from(SECONDS).unwrap();
    let executions: BTreeSet<_> = held.iter().map(|hold| hold.execution).collect();
    let tokens: BTreeSet<_> = held.iter().map(|hold| hold.token).collect();
    assert_eq!((held.len(), executions.len(), tokens.len()), (slots, slots, slots));
    let mut fired = BTreeSet::new();
    for event in store.audit(0, 100_000).await.unwrap() {
        if let Decision::Fired { slot, .. } = event.decision {
            assert!(fired.insert((event.job, slot)), "{slot} fired twice");
        }
    }
    assert_eq!(fired.len(), slots);
    for job in store.jobs(None, 1_000).await.unwrap() {
        let tally = job.standing.tally;
        let all = u64::try_from(SECONDS).unwrap();
        assert_eq!((tally.fired, tally.succeeded), (all, all), "no end is lost");
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.queued, stats.running), (0, 0));
}

#[tokio::test]
async fn an_end_keeps_what_another_node_added_to_the_job_meanwhile() {
    let schema = fresh().await;
    let (one, other) = (schema.store().await, schema.store().await);
    let spec = JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) };
    let job = spec.id;
    one.create_job(spec, at(0)).await.unwrap();
    one.fire_due(at(10), 9, None).await.unwrap();
    let hold = one.claim(&worker("w"), terms(10), 9.into()).await.unwrap().claims[0].hold;
    let added = other.run_now(job, None, at(11)).await.unwrap();
    let answers = one.finish(vec![finish(hold, Ending::Success, 12)], at(12)).await.unwrap();
    assert!(answers[0].is_ok());
    let live: Vec<_> = one.live(&[job]).await.unwrap().iter().map(|live| live.id).collect();
    assert_eq!(live, [added.id]);
    let tally = one.job(job).await.unwrap().standing.tally;
    assert_eq!((tally.fired, tally.manual, tally.succeeded), (1, 1, 1));
}

#[tokio::test]
async fn an_end_is_refused_once_another_node_has_taken_or_queued_the_run() {
    let schema = fresh().await;
    let (one, other) = (schema.store().await, schema.store().await);
    for (name, reaps) in [("reaped", true), ("queued", false)] {
        one.create_job(once(name, 10), at(0)).await.unwrap();
        one.fire_due(at(10), 9, None).await.unwrap();
        let hold = one.claim(&worker("w"), terms(10), 9.into()).await.unwrap().claims[0].hold;
        if reaps {
            assert_eq!(other.reap(at(100), 9).await.unwrap().ended.len(), 1);
        } else {
            other.release(&[hold], at(11)).await.unwrap();
        }
        let answers = one.finish(vec![finish(hold, Ending::Success, 12)], at(12)).await.unwrap();
        assert_eq!(answers[0], Err(Error::LeaseLost(hold.execution)), "{name}");
        assert_eq!(one.job(job_id(name)).await.unwrap().standing.tally.succeeded, 0);
        one.delete_job(job_id(name), at(12)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_reports_of_an_end_is_accepted() {
    let schema = fresh().await;
    let store = Arc::new(schema.store().await);
    for round in 0..10 {
        let (name, second) = (format!("j{round}"), 10 + round);
        store.create_job(once(&name, second), at(0)).await.unwrap();
        store.fire_due(at(second), 9, None).await.unwrap();
        let claimed = store.claim(&worker("w"), terms(second), 9.into()).await.unwrap();
        let hold = claimed.claims[0].hold;
        let mut reports = Vec::new();
        for reporter in 0..6 {
            let store = store.clone();
            reports.push(tokio::spawn(async move {
                if reporter % 3 == 0 {
                    store.release(&[hold], at(second)).await.unwrap();
                    return false;
                }
                let end = vec![finish(hold, Ending::Success, second)];
                store.finish(end, at(second)).await.unwrap()[0].is_ok()
            }));
        }
        let mut accepted = 0;
        for report in reports {
            accepted += usize::from(report.await.unwrap());
        }
        let execution = store.execution(hold.execution).await.unwrap();
        let ended = usize::from(!execution.is_live());
        assert_eq!(accepted, ended, "it ended once, or was handed back first");
        store.delete_job(job_id(&name), at(second)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_renewed_while_every_other_connection_is_busy() {
    let schema = fresh().await;
    let config = PostgresConfig { connections: 1, ..schema.config() };
    let store = Arc::new(chronos_store::PostgresStore::open(config).await.unwrap());
    let job = store.create_job(every("a", 10), at(0)).await.unwrap();
    store.fire_due(at(10), 9, None).await.unwrap();
    let claimed = store.claim(&worker("w"), terms(10), 9.into()).await.unwrap();
    let mut other = Cluster::shared().session("postgres");
    other.run("BEGIN");
    let lock = format!("SELECT 1 FROM {}.job_standings FOR UPDATE", schema.name);
    assert_eq!(other.run(&lock), "1");
    let waiting = {
        let (store, id) = (store.clone(), job.spec.id);
        tokio::spawn(async move { store.run_now(id, None, at(11)).await })
    };
    while schema.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
        tokio::task::yield_now().await;
    }
    let renewals = store.renew(&[claimed.claims[0].hold], terms(12)).await;
    assert_eq!(renewals, Ok(vec![Renewal::Held]));
    assert!(!waiting.is_finished());
    other.run("COMMIT");
    assert!(waiting.await.unwrap().is_err(), "the overlap policy admits no second run");
}

/// How many entries of an index were walked over so far.
fn walked(schema: &Schema, index: &str) -> u64 {
    let statement = format!(
        "SELECT idx_tup_read FROM pg_stat_user_indexes \
         WHERE schemaname = '{}' AND indexrelname = '{index}'",
        schema.name
    );
    schema.psql(&statement).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_elsewhere_does_not_slow_the_queues_down() {
    let schema = fresh().await;
    let store = schema.store().await;
    for number in 0..100 {
        store.create_job(every(&format!("j{number:03}"), 1), at(0)).await.unwrap();
    }
    // Nothing that dies from here on can be cleared away.
    let mut idle = Cluster::shared().session("postgres");
    idle.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    idle.run("SELECT 1");
    let rounds = 20;
    let turn = async |store: &dyn Store, second| {
        store.fire_due(at(second), 100, None).await.unwrap();
        let claimed = store.claim(&worker("w"), terms(second), 100.into()).await.unwrap();
        let ends = claimed.claims.iter().map(|claim| finish(claim.hold, Ending::Success, second));
        store.finish(ends.collect(), at(second)).await.unwrap();
        claimed.claims.len()
    };
    for second in 1..=rounds {
        assert_eq!(turn(&store, second).await, 100);
    }
    // Sessions report what they did when they end.
    drop(store);
    let store = schema.store().await;
    turn(&store, rounds + 1).await;
    drop(store);
    let indexes = ["live_executions_ready", "job_standings_due_at"];
    let settled = async || {
        let mut before = indexes.map(|index| walked(&schema, index));
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            let now = indexes.map(|index| walked(&schema, index));
            if now == before {
                return now;
            }
            before = now;
        }
    };
    let before = settled().await;
    let store = schema.store().await;
    for second in rounds + 2..=rounds + 11 {
        assert_eq!(turn(&store, second).await, 100);
    }
    drop(store);
    let after = settled().await;
    idle.run("COMMIT");
    for (index, (after, before)) in indexes.iter().zip(after.into_iter().zip(before)) {
        // The first turn of a node walks over everything once; the others must not.
        let walked = after - before;
        assert!(walked < 10_000, "{walked} entries of {index} were walked over in ten turns");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_has_no_more_jobs_than_it_may_on_all_nodes_together() {
    let schema = fresh().await;
    let mut tasks = Vec::new();
    for node in 0..4 {
        let store: Arc<dyn Store> = Arc::new(schema.store().await);
        for number in 0..10 {
            let (store, name) = (store.clone(), format!("j{node}{number}"));
            let spec = JobSpec { owner: "ann".into(), ..every(&name, 10) };
            tasks.push(tokio::spawn(async move {
                store.create_job_on(Creation::new(spec).within(15), at(0)).await
            }));
        }
    }
    let mut made = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => made += 1,
            refused => assert_eq!(refused, Err(Error::TooManyJobs(15))),
        }
    }
    let store = schema.store().await;
    assert_eq!((made, store.jobs(None, 100).await.unwrap().len()), (15, 15));
}
