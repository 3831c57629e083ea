//! Pausing: nothing of the schedule begins until the job is resumed.

use std::time::Duration;

use chronos_core::execution::{Failure, SkipReason, State};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::retry;
use chronos_core::store::{Error, JobFilter, Renewal};
use chronos_core::{Job, JobSpec};

use crate::bench::{Bench, at, every, once, terms};

async fn pause(bench: &Bench, job: &Job, second: i64) -> Job {
    let note = Some("maintenance".into());
    let pause = Change::Pause { note, resume_at: None };
    bench.amend_job(job.spec.id, pause, None, at(second)).await.unwrap()
}

async fn pause_until(bench: &Bench, job: &Job, second: i64, end: i64) -> Job {
    let (note, resume_at) = (Some("maintenance".into()), Some(at(end)));
    let pause = Change::Pause { note, resume_at };
    bench.amend_job(job.spec.id, pause, None, at(second)).await.unwrap()
}

fn paused() -> SkipReason {
    SkipReason::Paused(Some("maintenance".into()))
}

async fn resume(bench: &Bench, job: &Job, second: i64) -> Job {
    let resumed = bench.amend_job(job.spec.id, Change::Resume, None, at(second));
    resumed.await.unwrap()
}

pub(crate) async fn slots_in_a_pause_are_skipped_and_never_made_up_for(bench: &mut Bench) {
    let job = bench.create(every("a", 10)).await;
    let pause = pause(bench, &job, 5).await.standing.paused.unwrap();
    assert_eq!(pause.since, at(5));
    assert_eq!(pause.note.as_deref(), Some("maintenance"));
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
        assert_eq!(*reason, paused());
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
    let skipped = State::Skipped { reason: paused(), at: at(100) };
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

pub(crate) async fn a_pause_ends_by_itself_also_while_nobody_is_there(bench: &mut Bench) {
    let job = bench.create(every("a", 10)).await;
    let standing = pause_until(bench, &job, 5, 25).await.standing;
    assert_eq!(standing.paused.unwrap().resume_at, Some(at(25)));
    bench.fire(10).await;
    bench.reopen().await;
    let known = bench.job(job.spec.id).await.unwrap().standing.paused.unwrap();
    assert_eq!((known.since, known.resume_at), (at(5), Some(at(25))));
    assert_eq!(known.note.as_deref(), Some("maintenance"));
    let claim = bench.start(31).await;
    assert_eq!(claim.execution.slot, at(30));
    assert_eq!(bench.job(job.spec.id).await.unwrap().standing.paused, None);
    let rows = bench.rows(job.spec.id).await;
    let skipped = rows.iter().filter(|row| matches!(row.state, State::Skipped { .. }));
    let skipped: Vec<_> = skipped.map(|row| (row.slot, row.note())).collect();
    assert_eq!(skipped, [(at(20), Some("maintenance")), (at(10), Some("maintenance"))]);
    let paused = JobFilter { paused: Some(true), ..JobFilter::default() };
    assert_eq!(bench.find_jobs(&paused, None, 9).await.unwrap().jobs, []);
    assert_eq!(bench.stats().await.unwrap().paused, 0);
}

pub(crate) async fn a_pause_ends_between_slots_and_lets_what_it_held_go(bench: &mut Bench) {
    let job = bench.create(JobSpec { retry: retry::Policy::up_to(3), ..every("a", 1_000) }).await;
    let claim = bench.start(1_000).await;
    bench.end(&claim, Ending::Failed(Failure::transient("down")), 1_001).await;
    pause_until(bench, &job, 1_002, 1_500).await;
    bench.reopen().await;
    assert_eq!(bench.fire(1_499).await.next, Some(at(1_500)));
    assert_eq!(bench.take(1_499).await.len(), 0);
    assert_eq!(bench.fire(1_500).await.next, Some(at(2_000)));
    let claims = bench.take(1_500).await;
    assert_eq!(claims.len(), 1);
    assert_eq!((claims[0].execution.slot, claims[0].execution.attempt), (at(1_000), 2));
    assert_eq!(bench.decisions().await.last(), Some(&"schedule.resumed"));
}

pub(crate) async fn a_job_that_is_over_resumes_by_itself_as_well(bench: &mut Bench) {
    let job = bench.create(JobSpec { retry: retry::Policy::up_to(3), ..once("a", 10) }).await;
    let claim = bench.start(10).await;
    bench.end(&claim, Ending::Failed(Failure::transient("down")), 11).await;
    pause_until(bench, &job, 12, 100).await;
    bench.reopen().await;
    assert!(!bench.job(job.spec.id).await.unwrap().standing.enabled);
    bench.fire(100).await;
    assert_eq!(bench.take(100).await.len(), 1);
    let parked = bench.create(once("b", 150)).await;
    pause_until(bench, &parked, 120, 200).await;
    bench.reopen().await;
    assert_eq!(bench.fire(160).await.next, Some(at(200)));
    assert_eq!(bench.start(200).await.execution.slot, at(150));
}

pub(crate) async fn whoever_waits_hears_when_a_pause_ends(bench: &Bench) {
    let job = bench.create(every("a", 1_000)).await;
    assert_eq!(bench.fire(5).await.next, Some(at(1_000)));
    pause_until(bench, &job, 5, 50).await;
    assert_eq!(bench.fire(6).await.next, Some(at(50)));
    // Said anew, it holds as it was said last.
    pause_until(bench, &job, 7, 70).await;
    assert_eq!(bench.fire(8).await.next, Some(at(70)));
    resume(bench, &job, 9).await;
    assert_eq!(bench.fire(10).await.next, Some(at(1_000)));
    let past = Change::Pause { note: None, resume_at: Some(at(10)) };
    let refused = bench.amend_job(job.spec.id, past, None, at(10)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}
