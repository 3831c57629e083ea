//! Finishing: what the end of a run leads to.

use std::time::Duration;

use chronos_core::execution::{CancelCause, Failure, Response, SkipReason, State};
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::Error;
use chronos_core::{Execution, Http, JobSpec};

use crate::bench::{Bench, at, every, finish, job_id, once, worker};

fn transient() -> Ending {
    Ending::Failed(Failure::transient("target is down"))
}

fn retrying(spec: JobSpec, max_retry: u32) -> JobSpec {
    JobSpec { retry: retry::Policy::up_to(max_retry), ..spec }
}

pub(crate) async fn success_ends_a_run_with_what_it_wrote(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let claim = bench.start(10).await;
    let mut written = finish(claim.hold, Ending::Success, 14);
    written.report.took = Some(Duration::from_millis(3_900));
    written.report.log = Some("done".into());
    let answers = bench.finish(vec![written], at(14)).await.unwrap();
    let ended = answers[0].clone().unwrap();
    let State::Success(run) = &ended.state else {
        panic!("{ended:?}");
    };
    assert_eq!((&run.worker, run.token), (&worker("w1"), claim.hold.token));
    assert_eq!((run.started_at, run.finished_at), (at(10), at(14)));
    assert_eq!((run.log.as_deref(), run.response.as_deref()), (Some("done"), None));
    assert_eq!(bench.row(job.spec.id).await, ended);
    let tally = bench.job(job.spec.id).await.unwrap().standing.tally;
    assert_eq!((tally.succeeded, tally.failed), (1, 0));
    assert_eq!(tally.last_run, Some(at(10)));
    assert_eq!(tally.last_duration, Some(Duration::from_millis(3_900)));
    assert_eq!(
        bench.decisions().await,
        ["schedule.created", "schedule.fired", "execution.succeeded"]
    );
}

pub(crate) async fn a_request_and_its_answer_survive_a_restart(bench: &mut Bench) {
    let http = Http::new("https://example.com/hook")
        .and_then(|http| http.with_header("Authorization", "Bearer 4711"))
        .and_then(|http| http.with_body([0, 255, b'\n']))
        .unwrap();
    let job = bench.create(once("a", 10).with_target(http.clone())).await;
    let claim = bench.start(10).await;
    let response = Response {
        status: 418,
        took: Duration::from_micros(1_234_567),
        body: (0..=255).collect(),
        truncated: true,
    };
    let refused = Ending::Failed(Failure::permanent("answered 418"));
    let mut answered = finish(claim.hold, refused, 14);
    answered.report.response = Some(response.clone().into());
    bench.finish(vec![answered], at(14)).await.unwrap();
    bench.reopen().await;
    assert_eq!(bench.job(job.spec.id).await.unwrap().spec.target, Target::from(http));
    let run = bench.row(job.spec.id).await.run().cloned().unwrap();
    assert_eq!(run.response.as_deref(), Some(&response));
}

pub(crate) async fn an_end_reported_late_ended_when_it_did(bench: &Bench) {
    bench.create(every("a", 10)).await;
    let claim = bench.start(10).await;
    let ended = finish(claim.hold, Ending::Success, 13);
    let answers = bench.finish(vec![ended], at(18)).await.unwrap();
    let ended = answers[0].clone().unwrap();
    assert_eq!(ended.run().unwrap().finished_at, at(13));
    // A worker whose clock is ahead ends nothing in the future.
    let claim = bench.start(20).await;
    let ahead = finish(claim.hold, Ending::Success, 999);
    let answers = bench.finish(vec![ahead], at(21)).await.unwrap();
    let ended = answers[0].clone().unwrap();
    assert_eq!(ended.run().unwrap().finished_at, at(21));
}

pub(crate) async fn a_failure_that_may_pass_is_tried_again_at_the_same_slot(bench: &mut Bench) {
    let job = bench.create(retrying(once("a", 10), 2)).await;
    let first = bench.start(10).await;
    let failed = bench.end(&first, transient(), 12).await;
    assert_eq!(failed.status(), "FAILED");
    let again = bench.rows(job.spec.id).await;
    let again = again.iter().find(|row| row.is_live()).unwrap().clone();
    assert_ne!(again.id, failed.id);
    assert_eq!((again.slot, again.attempt, again.retry, again.lost), (at(10), 2, 1, 0));
    let delay = job.spec.retry.delay(job.spec.id, at(10), 0);
    assert_eq!(again.run_at, at(12).after(delay));
    assert_eq!(bench.take(12).await.len(), 0, "it waits");
    bench.reopen().await;
    let second = bench.start(30).await;
    assert_eq!(second.execution.id, again.id);
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
    bench.end(&second, transient(), 31).await;
    let third = bench.start(100).await;
    assert_eq!((third.execution.attempt, third.execution.retry), (3, 2));
    let last = bench.end(&third, transient(), 101).await;
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![last]));
    assert_eq!(bench.stats().await.unwrap().queued, 0);
    let tally = bench.job(job.spec.id).await.unwrap().standing.tally;
    assert_eq!((tally.failed, tally.failed_in_a_row), (3, 3));
    assert_eq!(tally.last_error.as_deref(), Some("target is down"));
}

pub(crate) async fn a_target_may_ask_for_patience(bench: &Bench) {
    let job = bench.create(retrying(once("a", 10), 2)).await;
    let claim = bench.start(10).await;
    let busy = Failure { retry_after: Some(Duration::from_mins(10)), ..Failure::transient("busy") };
    bench.end(&claim, Ending::Failed(busy), 12).await;
    let rows = bench.rows(job.spec.id).await;
    let again = rows.iter().find(|row| row.is_live()).unwrap();
    assert_eq!(again.run_at, at(612));
}

pub(crate) async fn a_failure_that_will_repeat_is_a_dead_letter_at_once(bench: &Bench) {
    bench.create(retrying(once("a", 10), 5)).await;
    let claim = bench.start(10).await;
    let refused = Ending::Failed(Failure::permanent("404"));
    let ended = bench.end(&claim, refused, 11).await;
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![ended]));
    assert_eq!(bench.stats().await.unwrap().queued, 0);
}

pub(crate) async fn a_run_over_its_time_is_tried_again_like_a_failure(bench: &Bench) {
    let job = bench.create(retrying(once("a", 10), 1)).await;
    let claim = bench.start(10).await;
    let ended = bench.end(&claim, Ending::TimedOut, 11).await;
    assert_eq!(ended.status(), "TIMED_OUT");
    let claim = bench.start(30).await;
    assert_eq!((claim.execution.attempt, claim.execution.retry), (2, 1));
    bench.end(&claim, Ending::TimedOut, 31).await;
    assert_eq!(bench.dead_letters(None, 9).await.unwrap().len(), 1);
    assert_eq!(bench.rows(job.spec.id).await.len(), 2);
}

pub(crate) async fn the_next_slot_takes_the_place_of_a_waiting_retry(bench: &Bench) {
    let job = bench.create(retrying(every("a", 10), 5)).await;
    let claim = bench.start(10).await;
    bench.end(&claim, transient(), 19).await;
    let next = bench.start(20).await;
    assert_eq!(next.execution.slot, at(20));
    let rows = bench.rows(job.spec.id).await;
    let superseded = rows.iter().find(|row| row.attempt == 2).unwrap();
    let skipped = State::Skipped { reason: SkipReason::Superseded, at: at(20) };
    assert_eq!(superseded.state, skipped);
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
}

pub(crate) async fn several_ends_are_answered_one_by_one_in_order(bench: &mut Bench) {
    for name in ["a", "b", "c", "d"] {
        bench.create(once(name, 10)).await;
    }
    bench.fire(10).await;
    let holds: Vec<_> = bench.take(10).await.iter().map(|claim| claim.hold).collect();
    bench.release(&holds[2..3], at(11)).await.unwrap();
    let released = bench.execution(holds[2].execution).await.unwrap();
    let answers = bench
        .finish(
            vec![
                finish(holds[3], Ending::Success, 12),
                finish(holds[2], Ending::Success, 12),
                finish(holds[0], Ending::Failed(Failure::permanent("no")), 12),
                finish(holds[3], Ending::Failed(Failure::permanent("twice")), 12),
                finish(holds[1], Ending::Skipped("nothing to do".into()), 12),
            ],
            at(12),
        )
        .await
        .unwrap();
    let statuses: Vec<_> =
        answers.iter().map(|answer| answer.as_ref().map(Execution::status)).collect();
    let (lost, twice) =
        (Error::LeaseLost(holds[2].execution), Error::LeaseLost(holds[3].execution));
    assert_eq!(statuses, [Ok("SUCCESS"), Err(&lost), Ok("FAILED"), Err(&twice), Ok("SKIPPED"),]);
    bench.reopen().await;
    assert_eq!(bench.execution(holds[2].execution).await, Ok(released));
    assert_eq!(bench.status(holds[3].execution).await, "SUCCESS");
    assert_eq!(bench.finish(vec![], at(13)).await, Ok(vec![]));
}

pub(crate) async fn runs_of_one_job_that_end_together_all_count(bench: &mut Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    for second in [10, 20, 30] {
        bench.fire(second).await;
    }
    let claims = bench.take(30).await;
    let ends = claims.iter().map(|claim| finish(claim.hold, Ending::Success, 31));
    bench.finish(ends.collect(), at(31)).await.unwrap();
    let tally = bench.job(job.spec.id).await.unwrap().standing.tally;
    assert_eq!((claims.len(), tally.succeeded), (3, 3));
    assert_eq!(bench.fire(39).await.next, Some(at(40)));
}

pub(crate) async fn what_is_over_stays_as_it_ended(bench: &Bench) {
    bench.create(retrying(every("a", 10), 3)).await;
    let claim = bench.start(10).await;
    let ended = bench.end(&claim, Ending::Success, 11).await;
    let before = bench.answers().await;
    for ending in [
        Ending::Success,
        transient(),
        Ending::TimedOut,
        Ending::Stuck,
        Ending::Cancelled,
        Ending::Interrupted,
    ] {
        let second = bench.try_end(claim.hold, ending, 12).await;
        assert_eq!(second, Err(Error::LeaseLost(ended.id)));
    }
    bench.cancel(ended.id, CancelCause::User, at(13)).await.unwrap();
    bench.release(&[claim.hold], at(14)).await.unwrap();
    bench.reap(at(5), 9).await.unwrap();
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn a_graceful_stop_uses_up_nothing(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let claim = bench.start(10).await;
    let ended = bench.end(&claim, Ending::Interrupted, 12).await;
    let State::Cancelled { cause, .. } = ended.state else {
        panic!("{ended:?}");
    };
    assert_eq!(cause, CancelCause::Shutdown);
    let again = bench.start(12).await.execution;
    assert_eq!((again.slot, again.attempt), (at(10), 2));
    assert_eq!((again.retry, again.lost), (0, 0));
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
    assert_eq!(bench.rows(job.spec.id).await.len(), 2);
}

pub(crate) async fn a_job_may_find_nothing_to_do(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let claim = bench.start(10).await;
    let nothing = Ending::Skipped("nothing new".into());
    let ended = bench.end(&claim, nothing, 12).await;
    let skipped = State::Skipped { reason: SkipReason::ByJob("nothing new".into()), at: at(12) };
    assert_eq!(ended.state, skipped);
    let tally = bench.job(job.spec.id).await.unwrap().standing.tally;
    assert_eq!((tally.succeeded, tally.failed, tally.skipped), (0, 0, 1));
}

pub(crate) async fn a_failed_run_lets_the_one_behind_it_go_first(bench: &Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..retrying(every("a", 10), 5) }).await;
    let first = bench.start(10).await;
    bench.fire(20).await;
    bench.end(&first, transient(), 21).await;
    let claims = bench.take(1_000).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.slot, at(20));
    let letters = bench.dead_letters(None, 9).await.unwrap();
    assert_eq!(letters[0].id, first.hold.execution, "it is not forgotten");
}

pub(crate) async fn every_end_starts_one_of_those_that_wait(bench: &Bench) {
    bench
        .create(JobSpec { overlap: OverlapPolicy::Queue(3.try_into().unwrap()), ..every("a", 10) })
        .await;
    let mut running = bench.start(10).await;
    for second in [20, 30, 40, 50] {
        bench.fire(second).await;
    }
    for slot in [20, 30, 40] {
        bench.end(&running, Ending::Success, 50).await;
        let mut claims = bench.take(50).await;
        assert_eq!(claims.len(), 1);
        running = claims.remove(0);
        assert_eq!(running.execution.slot, at(slot));
    }
    bench.end(&running, Ending::Success, 51).await;
    assert_eq!(bench.take(51).await.len(), 0);
    let newest = bench.rows(job_id("a")).await.remove(0);
    assert_eq!((newest.slot, newest.status()), (at(50), "SKIPPED"));
}
