//! Switching jobs off and on.

use chronos_core::execution::CancelCause;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::{Error, Renewal};
use chronos_core::{Execution, JobSpec};

use crate::bench::{Bench, at, every, job_id, once, terms};

pub(crate) async fn a_disabled_job_has_no_slots_and_nothing_of_it_runs_on(bench: &mut Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    let running = bench.start(10).await;
    bench.fire(20).await;
    // The slot at 30 is due by now, and settled first.
    let job = bench.amend_job(job_id("a"), Change::Disable, None, at(31)).await.unwrap();
    assert!(!job.standing.enabled);
    assert_eq!((job.standing.next_slot, job.spec.version), (None, 1));
    assert_eq!(bench.fire(100).await.planned.len(), 0);
    let rows: Vec<_> = bench.rows(job_id("a")).await.iter().map(Execution::status).collect();
    assert_eq!(rows, ["SKIPPED", "CANCELLED", "RUNNING"]);
    bench.reopen().await;
    let asked = Renewal::CancelRequested(CancelCause::User);
    assert_eq!(bench.renew(&[running.hold], terms(32)).await, Ok(vec![asked]));
    let ended = bench.end(&running, Ending::Interrupted, 33).await;
    assert_eq!(ended.status(), "CANCELLED");
    assert_eq!(bench.stats().await.unwrap().queued, 0, "nothing follows");
    assert!(bench.decisions().await.contains(&"schedule.cancelled"));
}

pub(crate) async fn an_enabled_job_goes_on_with_its_next_slot(bench: &mut Bench) {
    bench.create(every("a", 10)).await;
    bench.amend_job(job_id("a"), Change::Disable, None, at(5)).await.unwrap();
    bench.reopen().await;
    let job = bench.amend_job(job_id("a"), Change::Enable, None, at(47)).await.unwrap();
    assert_eq!((job.standing.enabled, job.standing.next_slot), (true, Some(at(50))));
    assert_eq!(bench.fire(50).await.planned.len(), 1);
    assert_eq!(bench.rows(job_id("a")).await.len(), 1, "nothing is made up for");
}

pub(crate) async fn a_one_time_job_that_was_disabled_can_still_run(bench: &Bench) {
    bench.create(once("a", 10)).await;
    bench.amend_job(job_id("a"), Change::Disable, None, at(5)).await.unwrap();
    assert_eq!(bench.fire(20).await.planned.len(), 0);
    bench.amend_job(job_id("a"), Change::Enable, None, at(30)).await.unwrap();
    let claim = bench.start(30).await;
    assert_eq!(claim.execution.slot, at(10));
    bench.end(&claim, Ending::Success, 31).await;
    let over = bench.amend_job(job_id("a"), Change::Enable, None, at(40)).await;
    assert!(matches!(over, Err(Error::Invalid(_))), "{over:?}");
}

pub(crate) async fn disabling_twice_is_the_same_as_once(bench: &Bench) {
    bench.create(every("a", 10)).await;
    bench.start(10).await;
    for change in [Change::Disable, Change::Enable] {
        bench.amend_job(job_id("a"), change.clone(), None, at(11)).await.unwrap();
        let before = bench.answers().await;
        bench.amend_job(job_id("a"), change, None, at(12)).await.unwrap();
        before.assert_same(&bench.answers().await);
    }
}
