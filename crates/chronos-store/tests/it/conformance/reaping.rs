//! Reaping: executions whose worker is gone go to another.

use std::time::Duration;

use chronos_core::JobSpec;
use chronos_core::execution::CancelCause;
use chronos_core::plan::Ending;
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::Error;

use crate::bench::{Bench, LEASE, at, every, once, terms};

pub(crate) async fn a_lease_is_taken_back_only_after_it_ran_out(bench: &mut Bench) {
    let job = bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let just_before = at(10 + LEASE).before(Duration::from_micros(1));
    let reaped = bench.reap(just_before, 9).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (0, Some(at(40))));
    bench.reopen().await;
    let reaped = bench.reap(at(40), 9).await.unwrap();
    assert_eq!(reaped.next, None);
    assert_eq!(reaped.ended.len(), 1);
    let lost = &reaped.ended[0];
    assert_eq!((lost.id, lost.status()), (claim.hold.execution, "STUCK"));
    assert_eq!(bench.execution(lost.id).await.as_ref(), Ok(lost));
    let again = bench.start(40).await.execution;
    assert_eq!((again.slot, again.attempt), (at(10), 2));
    assert_eq!((again.retry, again.lost), (0, 1));
    assert_eq!(bench.rows(job.spec.id).await.len(), 2);
}

pub(crate) async fn a_slot_lost_too_often_is_a_dead_letter(bench: &Bench) {
    let job = bench.create(once("a", 10)).await;
    for round in 1..=4 {
        assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
        let claim = bench.start(round * 100).await;
        assert_eq!(i64::from(claim.execution.attempt), round);
        let reaped = bench.reap(at(round * 100 + LEASE), 9).await.unwrap();
        assert_eq!(reaped.ended.len(), 1);
    }
    let letters = bench.dead_letters(None, 9).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].attempt, letters[0].lost), (4, 3));
    assert_eq!(bench.stats().await.unwrap().queued, 0);
    assert_eq!(bench.rows(job.spec.id).await.len(), 4);
}

pub(crate) async fn losses_use_up_no_retry(bench: &Bench) {
    bench.create(JobSpec { retry: retry::Policy::up_to(1), ..once("a", 10) }).await;
    bench.start(10).await;
    bench.reap(at(40), 9).await.unwrap();
    let claim = bench.start(40).await;
    bench.end(&claim, Ending::TimedOut, 41).await;
    let claim = bench.start(100).await;
    assert_eq!((claim.execution.attempt, claim.execution.retry, claim.execution.lost), (3, 1, 1));
}

pub(crate) async fn a_run_far_over_its_time_is_taken_from_a_worker_that_renews(bench: &Bench) {
    bench
        .create(JobSpec { max_execution_time: Some(Duration::from_mins(1)), ..once("a", 10) })
        .await;
    let claim = bench.start(10).await;
    for second in [30, 50, 70, 90] {
        bench.renew(&[claim.hold], terms(second)).await.unwrap();
    }
    // The worker has until one lease after the deadline to stop its run.
    let reaped = bench.reap(at(99), 9).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (0, Some(at(100))));
    let reaped = bench.reap(at(100), 9).await.unwrap();
    assert_eq!(reaped.ended[0].status(), "TIMED_OUT");
    let late = bench.try_end(claim.hold, Ending::Success, 101).await;
    assert_eq!(late, Err(Error::LeaseLost(claim.hold.execution)));
}

pub(crate) async fn reaping_keeps_to_its_limit(bench: &Bench) {
    for name in ["a", "b", "c"] {
        bench.create(once(name, 10)).await;
    }
    bench.fire(10).await;
    bench.take(10).await;
    let reaped = bench.reap(at(50), 2).await.unwrap();
    assert_eq!(reaped.ended.len(), 2);
    assert!(reaped.next.is_some_and(|next| next <= at(50)), "more is due");
    let reaped = bench.reap(at(50), 2).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (1, None));
}

pub(crate) async fn runs_of_one_job_that_are_lost_together_all_count(bench: &Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    for second in [10, 20, 30] {
        bench.fire(second).await;
    }
    bench.take(30).await;
    let reaped = bench.reap(at(60), 9).await.unwrap();
    assert_eq!(reaped.ended.len(), 3);
    let tally = bench.job(job.spec.id).await.unwrap().standing.tally;
    assert_eq!((tally.failed, tally.failed_in_a_row), (3, 3));
    assert_eq!(bench.take(60).await.len(), 3);
}

pub(crate) async fn a_lost_run_that_was_asked_to_stop_does_not_come_back(bench: &Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let id = claim.hold.execution;
    bench.cancel(id, CancelCause::User, at(11)).await.unwrap();
    let reaped = bench.reap(at(40), 9).await.unwrap();
    assert_eq!(reaped.ended[0].status(), "CANCELLED");
    assert_eq!(bench.stats().await.unwrap().queued, 0);
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
}

pub(crate) async fn what_waits_behind_a_lost_run_waits_on(bench: &Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    bench.start(10).await;
    bench.fire(20).await;
    bench.reap(at(40), 9).await.unwrap();
    let claims = bench.take(40).await;
    assert_eq!(claims.len(), 1, "the lost slot goes first");
    assert_eq!(claims[0].execution.slot, at(10));
}
