//! What is claimed together: no index is written for it, and nothing of it is forgotten when its leases run out.

use chronos_core::Store;
use chronos_core::plan::Ending;
use chronos_core::store::Claim;

use super::{Schema, fresh};
use crate::bench::{LEASE, at, every, finish, terms, worker};

const JOBS: usize = 20;

/// Jobs that have a run in every second.
async fn jobs(store: &dyn Store) {
    for number in 0..JOBS {
        store.create_job(every(&format!("j{number:02}"), 1), at(0)).await.unwrap();
    }
}

async fn claim(store: &dyn Store, second: i64) -> Vec<Claim> {
    store.fire_due(at(second), JOBS, None).await.unwrap();
    store.claim(&worker("w"), terms(second), JOBS.into()).await.unwrap().claims
}

async fn succeed(store: &dyn Store, claims: &[Claim], second: i64) {
    let ends = claims.iter().map(|claim| finish(claim.hold, Ending::Success, second));
    for answer in store.finish(ends.collect(), at(second)).await.unwrap() {
        answer.unwrap();
    }
}

/// How many leases there are to look at.
fn leases(schema: &Schema) -> String {
    schema.psql("SELECT count(*) FROM chronos.leases")
}

#[tokio::test]
async fn what_one_claim_left_running_is_reaped_and_the_rest_forgotten() {
    let schema = fresh().await;
    let (one, other) = (schema.store().await, schema.store().await);
    jobs(&one).await;
    let claims = claim(&one, 1).await;
    assert_eq!((claims.len(), leases(&schema).as_str()), (JOBS, "1"));
    // A node that does not know the runs ends some, and one is renewed.
    succeed(&other, &claims[..JOBS - 3], 2).await;
    one.renew(&[claims[JOBS - 1].hold], terms(11)).await.unwrap();
    let reaped = other.reap(at(LEASE), 99).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (0, Some(at(1 + LEASE))));
    let reaped = other.reap(at(1 + LEASE), 99).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (2, Some(at(11 + LEASE))));
    let reaped = one.reap(at(11 + LEASE), 99).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (1, None));
    assert_eq!(leases(&schema), "0");
}

#[tokio::test]
async fn a_node_forgets_leases_whose_runs_it_has_ended() {
    let schema = fresh().await;
    let store = schema.store().await;
    jobs(&store).await;
    for second in 1..=4 {
        let claims = claim(&store, second).await;
        let (some, others) = claims.split_at(7);
        succeed(&store, some, second).await;
        succeed(&store, others, second).await;
        assert_eq!(leases(&schema), "1", "only the newest is known to be over");
    }
    let claims = claim(&store, 5).await;
    succeed(&store, &claims[1..], 5).await;
    let reaped = store.reap(at(5 + LEASE), 99).await.unwrap();
    assert_eq!(reaped.ended.len(), 1, "what did not end is still looked at");
}

#[tokio::test]
async fn jobs_that_fail_do_not_keep_others_from_being_counted() {
    let schema = fresh().await;
    let store = schema.store().await;
    jobs(&store).await;
    let claims = claim(&store, 1).await;
    let fail = || Ending::Failed(chronos_core::execution::Failure::permanent("no"));
    let ends = [finish(claims[0].hold, fail(), 1)].into_iter();
    let ends = ends.chain(claims[1..].iter().map(|it| finish(it.hold, Ending::Success, 1)));
    store.finish(ends.collect(), at(1)).await.unwrap();
    // Its recovery is decided, the successes of the others are counted, all in one step.
    let claims = claim(&store, 2).await;
    assert_eq!(claims.len(), JOBS);
    succeed(&store, &claims, 2).await;
    for job in store.jobs(None, 99).await.unwrap() {
        let failed = u64::from(job.standing.tally.failed > 0);
        assert_eq!(job.standing.tally.succeeded, 2 - failed);
        assert_eq!((job.standing.failing, &job.standing.tally.last_error), (None, &None));
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.queued, stats.running), (0, 0));
}

#[tokio::test]
async fn a_claim_writes_to_no_index() {
    let schema = fresh().await;
    let store = schema.store().await;
    jobs(&store).await;
    assert_eq!(claim(&store, 1).await.len(), JOBS);
    // Sessions report what they did when they end.
    drop(store);
    let name = &schema.name;
    let changed = format!(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables \
         WHERE schemaname = '{name}' AND relname = 'live_executions'"
    );
    loop {
        let counts = schema.psql(&changed);
        if counts != "0|0" {
            assert_eq!(
                counts,
                format!("{JOBS}|{JOBS}"),
                "rows, and rows beside their old versions"
            );
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
