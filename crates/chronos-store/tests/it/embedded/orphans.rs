//! Orphans: what ran when the process before this one died is ended at once.

use chronos_core::execution::CancelCause;
use chronos_core::plan::{Change, Ending};
use chronos_core::store::Error;
use chronos_core::{Execution, Store};
use chronos_store::{EmbeddedStore, Retention};

use super::bench;
use crate::bench::{at, every, finish, job_id, once, terms, worker};

#[tokio::test]
async fn leases_of_a_process_that_is_gone_are_not_waited_out() {
    let (bench, kv) = bench().await;
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    drop(bench);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let orphans = store.reap_orphans(at(11)).await.unwrap();
    assert_eq!(orphans.len(), 1);
    assert_eq!((orphans[0].id, orphans[0].status()), (claim.hold.execution, "STUCK"));
    let claimed = store.claim(&worker("w"), terms(11), 9.into()).await.unwrap().claims;
    let again = &claimed[0].execution;
    assert_eq!((again.slot, again.attempt, again.lost), (at(10), 2, 1));
    assert!(claimed[0].hold.token > claim.hold.token);
    let late = store.finish(vec![finish(claim.hold, Ending::Success, 12)], at(12)).await.unwrap();
    assert_eq!(late[0], Err(Error::LeaseLost(claim.hold.execution)));
}

#[tokio::test]
async fn many_orphans_end_in_steps() {
    let (bench, kv) = bench().await;
    for number in 0..600 {
        bench.create(once(&number.to_string(), 10)).await;
    }
    bench.fire_due(at(10), 1_000, None).await.unwrap();
    assert_eq!(bench.claim(&worker("w"), terms(10), 1_000.into()).await.unwrap().claims.len(), 600);
    drop(bench);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    assert_eq!(store.reap_orphans(at(11)).await.unwrap().len(), 600);
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.queued, stats.running), (600, 0));
}

#[tokio::test]
async fn orphans_that_were_paused_or_asked_to_stop_do_not_begin_again() {
    let (bench, kv) = bench().await;
    for name in ["paused", "stopped"] {
        bench.create(every(name, 10)).await;
    }
    bench.fire(10).await;
    let claims = bench.take(10).await;
    let pause = Change::Pause { note: None, resume_at: None };
    bench.amend_job(job_id("paused"), pause, None, at(11)).await.unwrap();
    let stopped = claims.iter().find(|claim| claim.spec.id == job_id("stopped")).unwrap();
    bench.cancel(stopped.hold.execution, CancelCause::User, at(11)).await.unwrap();
    drop(bench);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let orphans = store.reap_orphans(at(12)).await.unwrap();
    let mut ends: Vec<_> = orphans.iter().map(Execution::status).collect();
    ends.sort_unstable();
    assert_eq!(ends, ["CANCELLED", "STUCK"]);
    assert!(store.claim(&worker("w"), terms(12), 9.into()).await.unwrap().claims.is_empty());
}
