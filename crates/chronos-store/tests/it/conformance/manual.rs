//! Runs by hand: beside the schedule, within the overlap policy.

use chronos_core::execution::{Failure, State, Trigger};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::Error;
use chronos_core::{JobSpec, TraceId};

use crate::bench::{Bench, at, every, once};

pub(crate) async fn a_run_by_hand_starts_now_and_leaves_the_cadence(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let run = bench.run_now(job.spec.id, None, at(3)).await.unwrap();
    assert_eq!(run.trigger, Trigger::Manual { number: 1 });
    assert_eq!((run.slot, run.run_at), (at(3), at(3)));
    assert_eq!(bench.row(job.spec.id).await, run);
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.next_slot, Some(at(10)));
    assert_eq!((standing.tally.manual, standing.tally.fired), (1, 0));
    let claim = bench.take(3).await.remove(0);
    assert_eq!(claim.execution.id, run.id);
    bench.end(&claim, Ending::Success, 4).await;
    assert_eq!(bench.fire(10).await.planned.len(), 1);
    assert_eq!(bench.decisions().await[1], "schedule.fired");
}

pub(crate) async fn a_run_by_hand_is_refused_while_another_is_alive(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.start(10).await;
    let before = bench.answers().await;
    let refused = bench.run_now(job.spec.id, None, at(12)).await;
    assert_eq!(refused, Err(Error::Overlap("a".into())));
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn a_slot_is_skipped_while_a_run_by_hand_is_alive(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.run_now(job.spec.id, None, at(9)).await.unwrap();
    bench.fire(10).await;
    let rows = bench.rows(job.spec.id).await;
    assert_eq!((rows[0].slot, rows[0].status()), (at(10), "SKIPPED"));
}

pub(crate) async fn two_runs_by_hand_at_one_instant_stay_two(bench: &Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    // The slot of the same instant is a third.
    bench.fire(10).await;
    let one = bench.run_now(job.spec.id, None, at(10)).await.unwrap();
    let two = bench.run_now(job.spec.id, None, at(10)).await.unwrap();
    assert_ne!(one.id, two.id);
    assert_eq!(bench.take(10).await.len(), 3);
}

pub(crate) async fn a_run_keeps_the_trace_that_it_was_asked_for_in(bench: &mut Bench) {
    let trace = Some(TraceId::from_bytes([7; 16]));
    let retry = retry::Policy { max_retry: 1, ..retry::Policy::NONE };
    let job = bench.create(JobSpec { retry, ..every("a", 1_000) }).await;
    let run = bench.run_now(job.spec.id, trace, at(3)).await.unwrap();
    assert_eq!(run.trace, trace);
    bench.reopen().await;
    let claim = bench.take(3).await.remove(0);
    assert_eq!(claim.execution.trace, trace);
    bench.end(&claim, Ending::Failed(Failure::transient("no luck")), 4).await;
    bench.reopen().await;
    let rows = bench.rows(job.spec.id).await;
    let kept: Vec<_> = rows.iter().map(|row| (row.status(), row.trace)).collect();
    assert_eq!(kept, [("QUEUED", trace), ("FAILED", trace)]);
    assert_eq!(bench.execution(run.id).await.unwrap().trace_id().to_string(), "07".repeat(16));
    let one = bench.create(JobSpec { trace, ..once("b", 10) }).await;
    bench.fire(10).await;
    assert_eq!(bench.row(one.spec.id).await.trace, trace);
    let own = bench.create(every("c", 10)).await;
    bench.fire(10).await;
    let row = bench.row(own.spec.id).await;
    assert_eq!((row.trace, row.trace_id()), (None, row.id.into()));
}

pub(crate) async fn a_run_by_hand_ignores_a_pause(bench: &mut Bench) {
    let job = bench.create(every("a", 10)).await;
    let pause = Change::Pause { note: None, resume_at: None };
    bench.amend_job(job.spec.id, pause, None, at(1)).await.unwrap();
    bench.reopen().await;
    let run = bench.run_now(job.spec.id, None, at(3)).await.unwrap();
    let claim = bench.take(3).await.remove(0);
    assert_eq!(claim.execution.id, run.id);
    bench.release(&[claim.hold], at(4)).await.unwrap();
    let claim = bench.take(4).await.remove(0);
    bench.end(&claim, Ending::Interrupted, 5).await;
    assert_eq!(bench.take(5).await.len(), 1, "its next attempt does so too");
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert!(standing.paused.is_some());
}

pub(crate) async fn a_run_by_hand_queues_behind_another_if_the_policy_says_so(bench: &Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    let running = bench.start(10).await;
    let run = bench.run_now(job.spec.id, None, at(12)).await.unwrap();
    assert_eq!(run.state, State::Queued { held: true });
    bench.end(&running, Ending::Success, 13).await;
    assert_eq!(bench.take(13).await[0].execution.id, run.id);
}

pub(crate) async fn a_job_that_is_over_can_be_run_by_hand(bench: &Bench) {
    let job = bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    bench.end(&claim, Ending::Success, 11).await;
    bench.run_now(job.spec.id, None, at(50)).await.unwrap();
    let claim = bench.take(50).await.remove(0);
    bench.end(&claim, Ending::Success, 51).await;
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!((standing.enabled, standing.next_slot), (false, None));
}
