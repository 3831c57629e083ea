//! Cancelling: at once while an execution waits, by request while it runs.

use chronos_core::execution::{CancelCause, Failure, State};
use chronos_core::plan::Ending;
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::{Error, Renewal};
use chronos_core::{ExecutionId, JobSpec};

use crate::bench::{Bench, after_end, at, every, once, terms};

pub(crate) async fn what_waits_is_cancelled_at_once(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.fire(10).await;
    let row = bench.row(job.spec.id).await;
    bench.cancel(row.id, CancelCause::User, at(12)).await.unwrap();
    let cancelled = State::Cancelled { run: None, cause: CancelCause::User, at: at(12) };
    assert_eq!(bench.execution(row.id).await.unwrap().state, cancelled);
    assert_eq!(bench.take(15).await.len(), 0);
    assert_eq!(bench.decisions().await[2..], ["execution.cancel_requested"]);
    assert_eq!(bench.start(20).await.execution.slot, at(20));
}

pub(crate) async fn what_runs_is_asked_to_stop(bench: &mut Bench) {
    bench.create(JobSpec { retry: retry::Policy::up_to(5), ..once("a", 10) }).await;
    let claim = bench.start(10).await;
    let id = claim.hold.execution;
    bench.cancel(id, CancelCause::User, at(12)).await.unwrap();
    assert_eq!(bench.status(id).await, "RUNNING");
    bench.reopen().await;
    // Whoever asks first is the one on record.
    bench.cancel(id, CancelCause::Shutdown, at(13)).await.unwrap();
    let asked = Renewal::CancelRequested(CancelCause::User);
    assert_eq!(bench.renew(&[claim.hold], terms(13)).await, Ok(vec![asked]));
    let failed = Ending::Failed(Failure::transient("interrupted"));
    let ended = bench.end(&claim, failed, 14).await;
    let State::Cancelled { run, cause, at: end } = ended.state else {
        panic!("{ended:?}");
    };
    assert_eq!((cause, end), (CancelCause::User, at(14)));
    assert_eq!(run.unwrap().token, claim.hold.token);
    assert_eq!(bench.stats().await.unwrap().queued, 0, "no retry follows");
    let asked = ["execution.cancel_requested", "execution.cancelled"];
    assert_eq!(bench.decisions().await[2..], asked);
}

pub(crate) async fn a_run_that_succeeds_all_the_same_is_a_success(bench: &Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let id = claim.hold.execution;
    bench.cancel(id, CancelCause::User, at(12)).await.unwrap();
    let ended = bench.end(&claim, Ending::Success, 13).await;
    assert_eq!(ended.status(), "SUCCESS");
}

pub(crate) async fn an_unknown_execution_is_said_to_be_unknown(bench: &Bench) {
    let id = ExecutionId::new(at(0), [7; 10]);
    let unknown = Error::NoSuchExecution(id);
    assert_eq!(bench.cancel(id, CancelCause::User, at(0)).await, Err(unknown.clone()));
    assert_eq!(bench.execution(id).await, Err(unknown));
}

pub(crate) async fn what_is_handed_back_after_a_request_to_stop_ends(bench: &Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let id = claim.hold.execution;
    bench.cancel(id, CancelCause::User, at(12)).await.unwrap();
    bench.release(&[claim.hold], at(13)).await.unwrap();
    assert_eq!(bench.status(id).await, "CANCELLED");
    assert_eq!(bench.take(20).await.len(), 0);
}

pub(crate) async fn cancelling_one_lets_the_one_behind_it_go(bench: &Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    bench.fire(10).await;
    bench.fire(20).await;
    let rows = bench.rows(crate::bench::job_id("a")).await;
    assert!(rows[0].is_held());
    bench.cancel(rows[1].id, CancelCause::User, at(21)).await.unwrap();
    let claims = bench.take(21).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.id, rows[0].id);
}

pub(crate) async fn a_fixed_delay_goes_on_after_its_run_was_cancelled(bench: &Bench) {
    let job = bench.create(after_end("a", 10)).await;
    bench.fire(10).await;
    let row = bench.row(job.spec.id).await;
    bench.cancel(row.id, CancelCause::User, at(15)).await.unwrap();
    assert_eq!(bench.fire(16).await.next, Some(at(25)));
}

pub(crate) async fn a_newer_slot_replaces_the_run_before_it(bench: &mut Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::Replace, ..every("a", 10) }).await;
    let first = bench.start(10).await;
    bench.fire(20).await;
    assert_eq!(bench.take(20).await.len(), 0, "the first has not stopped yet");
    let asked = Renewal::CancelRequested(CancelCause::Replaced);
    assert_eq!(bench.renew(&[first.hold], terms(21)).await, Ok(vec![asked]));
    bench.reopen().await;
    bench.fire(30).await;
    bench.end(&first, Ending::Cancelled, 31).await;
    let claims = bench.take(31).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.slot, at(30));
    let rows = bench.rows(job.spec.id).await;
    let statuses: Vec<_> = rows.iter().map(|row| (row.slot, row.status())).collect();
    let expected = [(at(30), "RUNNING"), (at(20), "CANCELLED"), (at(10), "CANCELLED")];
    assert_eq!(statuses, expected);
}
