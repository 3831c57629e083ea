//! Pausing: nothing of the schedule begins until the job is resumed.

use std::time::Duration;

use chronos_core::execution::{Failure, SkipReason, State};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::retry;
use chronos_core::store::Renewal;
use chronos_core::{Job, JobSpec};

use crate::bench::{Bench, at, every, once, terms};

async fn pause(bench: &Bench, job: &Job, second: i64) -> Job {
    let note = Some("maintenance".into());
    let paused = bench.amend_job(job.spec.id, Change::Pause { note }, None, at(second));
    paused.await.unwrap()
}

async fn resume(bench: &Bench, job: &Job, second: i64) -> Job {
    let resumed = bench.amend_job(job.spec.id, Change::Resume, None, at(second));
    resumed.await.unwrap()
}

pub(crate) async fn slots_in_a_pause_are_skipped_and_never_made_up_for(bench: &mut Bench) {
    let job = bench.create(every("a", 10)).await;
    let paused = pause(bench, &job, 5).await.standing.paused.unwrap();
    assert_eq!(paused.since, at(5));
    assert_eq!(paused.note.as_deref(), Some("maintenance"));
    bench.reopen().await;
    for second in [10, 20] {
        bench.fire(second).await;
    }
    resume(bench, &job, 35).await;
    let rows = bench.rows(job.spec.id).await;
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let State::Skipped { reason, .. } = &row.state else {
            panic!("{row:?}");
        };
        assert_eq!(*reason, SkipReason::Paused);
    }
    assert_eq!(bench.fire(39).await.planned.len(), 0);
    assert_eq!(bench.start(40).await.execution.slot, at(40));
    let decisions = bench.decisions().await;
    assert_eq!(decisions[1], "schedule.paused");
    assert_eq!(decisions[5], "schedule.resumed");
}

pub(crate) async fn a_run_that_waits_out_its_jitter_is_skipped_by_a_pause(bench: &Bench) {
    let job = bench.create(JobSpec { jitter: Duration::from_mins(1), ..every("a", 100) }).await;
    bench.fire(100).await;
    let waiting = bench.row(job.spec.id).await;
    assert!(waiting.run_at > at(100));
    pause(bench, &job, 100).await;
    let skipped = State::Skipped { reason: SkipReason::Paused, at: at(100) };
    assert_eq!(bench.execution(waiting.id).await.unwrap().state, skipped);
    assert_eq!(bench.take(190).await.len(), 0);
    resume(bench, &job, 191).await;
    assert_eq!(bench.take(199).await.len(), 0);
}

pub(crate) async fn a_waiting_retry_is_held_by_a_pause_and_goes_on_after_it(bench: &mut Bench) {
    let job = bench.create(JobSpec { retry: retry::Policy::up_to(3), ..every("a", 1_000) }).await;
    let claim = bench.start(1_000).await;
    let failed = Ending::Failed(Failure::transient("down"));
    bench.end(&claim, failed, 1_001).await;
    pause(bench, &job, 1_002).await;
    bench.reopen().await;
    assert_eq!(bench.take(1_500).await.len(), 0);
    resume(bench, &job, 1_600).await;
    let claims = bench.take(1_600).await;
    assert_eq!(claims.len(), 1);
    assert_eq!((claims[0].execution.slot, claims[0].execution.attempt), (at(1_000), 2));
}

pub(crate) async fn a_failure_during_a_pause_waits_for_its_end(bench: &Bench) {
    let job = bench.create(JobSpec { retry: retry::Policy::up_to(3), ..every("a", 1_000) }).await;
    let claim = bench.start(1_000).await;
    pause(bench, &job, 1_001).await;
    let held = bench.renew(&[claim.hold], terms(1_002)).await;
    assert_eq!(held, Ok(vec![Renewal::Held]), "what runs runs on");
    let failed = Ending::Failed(Failure::transient("down"));
    bench.end(&claim, failed, 1_003).await;
    assert_eq!(bench.take(1_500).await.len(), 0);
    resume(bench, &job, 1_600).await;
    assert_eq!(bench.take(1_600).await.len(), 1);
}

pub(crate) async fn what_is_handed_back_during_a_pause_waits_for_its_end(bench: &Bench) {
    let job = bench.create(every("a", 100)).await;
    let claim = bench.start(100).await;
    pause(bench, &job, 101).await;
    bench.release(&[claim.hold], at(102)).await.unwrap();
    assert_eq!(bench.take(103).await.len(), 0);
    resume(bench, &job, 104).await;
    let claims = bench.take(104).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.id, claim.hold.execution);
}

pub(crate) async fn a_one_time_job_is_late_after_a_pause_and_not_lost(bench: &mut Bench) {
    let job = bench.create(once("a", 10)).await;
    pause(bench, &job, 5).await;
    assert_eq!(bench.fire(20).await.planned.len(), 0);
    bench.reopen().await;
    assert_eq!(bench.fire(30).await.next, None);
    resume(bench, &job, 40).await;
    assert_eq!(bench.start(40).await.execution.slot, at(10));
}

pub(crate) async fn pausing_twice_and_resuming_twice_is_the_same_as_once(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    resume(bench, &job, 1).await;
    pause(bench, &job, 2).await;
    let paused = pause(bench, &job, 3).await;
    assert_eq!(paused.standing.paused.unwrap().since, at(2));
    resume(bench, &job, 4).await;
    resume(bench, &job, 5).await;
    let decisions = bench.decisions().await;
    assert_eq!(decisions[1..], ["schedule.paused", "schedule.resumed"]);
}
