//! Taking: what a firing step hands to the worker that asked for it, without a claim in between.

use std::time::Duration;

use chronos_core::JobSpec;
use chronos_core::plan::Ending;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::{Fired, Taker};

use crate::bench::{Bench, LEASE, at, every, once, terms, worker};

async fn fire_and_take(bench: &Bench, second: i64, room: usize) -> Fired {
    let taker = Taker { worker: worker("w"), lease: terms(second).lease, openings: room.into() };
    bench.fire_due(at(second), 9, Some(&taker)).await.unwrap()
}

pub(crate) async fn what_may_begin_at_once_is_taken_as_a_claim_would_take_it(bench: &Bench) {
    let job = bench
        .create(JobSpec { max_execution_time: Some(Duration::from_secs(7)), ..every("a", 10) })
        .await;
    let fired = fire_and_take(bench, 10, 9).await;
    assert!(fired.planned[0].plan.executions[0].is_queued());
    let [claim] = fired.claims.as_slice() else { panic!("one is taken: {fired:?}") };
    assert_eq!(claim.spec, job.spec);
    assert_eq!(claim.hold.execution, claim.execution.id);
    let running = claim.execution.running().unwrap();
    assert_eq!((running.lease.token, &running.lease.worker), (claim.hold.token, &worker("w")));
    assert_eq!(running.lease.expires_at, at(10 + LEASE));
    assert_eq!((running.started_at, running.deadline), (at(10), Some(at(17))));
    assert_eq!(bench.execution(claim.execution.id).await.as_ref(), Ok(&claim.execution));
    assert!(bench.take(10).await.is_empty(), "nobody else gets it");
    bench.try_end(claim.hold, Ending::Success, 11).await.unwrap();
}

pub(crate) async fn no_more_is_taken_than_there_is_room_for(bench: &Bench) {
    for name in ["a", "b", "c"] {
        bench.create(every(name, 10)).await;
    }
    assert_eq!(fire_and_take(bench, 10, 2).await.claims.len(), 2);
    assert_eq!(bench.take(10).await.len(), 1, "the third waits for whoever claims it");
    assert!(fire_and_take(bench, 20, 0).await.claims.is_empty());
}

pub(crate) async fn what_waits_longer_goes_first(bench: &Bench) {
    bench.create(once("early", 10)).await;
    bench.create(once("late", 20)).await;
    bench.fire(10).await;
    assert!(fire_and_take(bench, 20, 9).await.claims.is_empty());
    let names: Vec<_> = bench.take(20).await.iter().map(|claim| claim.spec.name.clone()).collect();
    assert_eq!(names, ["early".into(), "late".into()]);
}

pub(crate) async fn what_may_not_begin_yet_is_not_taken(bench: &Bench) {
    let queue = OverlapPolicy::Queue(std::num::NonZeroU32::MIN);
    bench.create(JobSpec { overlap: queue, ..every("queued", 10) }).await;
    let first = fire_and_take(bench, 10, 9).await.claims;
    assert_eq!(first.len(), 1);
    assert!(fire_and_take(bench, 20, 9).await.claims.is_empty(), "it waits behind the first");
    bench.create(JobSpec { jitter: Duration::from_mins(1), ..every("spread", 100) }).await;
    let fired = fire_and_take(bench, 100, 9).await;
    let spread = fired.planned.iter().find(|planned| &*planned.spec.name == "spread").unwrap();
    assert!(spread.plan.executions[0].run_at > at(100), "the jitter of this job is not zero");
    assert!(fired.claims.iter().all(|claim| &*claim.spec.name != "spread"));
}

pub(crate) async fn tokens_grow_over_takes_claims_and_restarts(bench: &mut Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    let mut tokens = vec![fire_and_take(bench, 10, 9).await.claims[0].hold.token];
    bench.restart().await;
    bench.fire(20).await;
    tokens.push(bench.take(20).await[0].hold.token);
    bench.restart().await;
    tokens.push(fire_and_take(bench, 30, 9).await.claims[0].hold.token);
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}
