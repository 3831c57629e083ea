//! Claims about single steps of a store that histories brought to light.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::{Failure, Report};
use chronos_core::plan::Ending;
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, retry};
use chronos_core::store::{Claim, Error, Finish, Renewal, Terms};
use chronos_core::{Schedule, Store, Timestamp, WorkerId};

use super::lab::{LEASE, Lab, seconds};

async fn claim(lab: &Lab, now: Timestamp) -> Vec<Claim> {
    let terms = Terms { now, lease: LEASE };
    let worker = WorkerId::new("worker");
    lab.store.claim(&worker, terms, 100.into()).await.unwrap().claims
}

async fn finish(lab: &Lab, claims: &[Claim], ending: Ending, at: Timestamp) {
    let finishes = claims.iter().map(|claim| Finish {
        hold: claim.hold,
        ending: ending.clone(),
        report: Report::at(at),
    });
    let answers = lab.store.finish(finishes.collect(), at).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_was_handed_back_is_worth_nothing() {
    let lab = Lab::new();
    let now = lab.now();
    let job = lab.job("job", lab.every(60), |_| {}, || async {}).await;
    lab.store.run_now(job.spec.id, None, now).await.unwrap();
    let stale = claim(&lab, now).await[0].hold;
    lab.store.release(&[stale], now).await.unwrap();
    let taken = claim(&lab, now).await;
    assert_eq!(taken[0].hold.execution, stale.execution);
    assert!(taken[0].hold.token > stale.token);

    let terms = Terms { now, lease: LEASE };
    let renewals = lab.store.renew(&[stale], terms).await.unwrap();
    assert_eq!(renewals, [Renewal::Lost]);
    lab.store.release(&[stale], now).await.unwrap();
    assert!(lab.store.save_checkpoint(&stale, vec![]).await.is_err());
    let late = Finish { hold: stale, ending: Ending::Success, report: Report::at(now) };
    let answers = lab.store.finish(vec![late], now).await.unwrap();
    assert_eq!(answers, [Err(Error::LeaseLost(stale.execution))]);
    finish(&lab, &taken, Ending::Success, now).await;
}

#[tokio::test(start_paused = true)]
async fn runs_of_one_job_that_end_in_one_step_all_count() {
    let lab = Lab::new();
    let now = lab.now();
    let concurrent = |spec: &mut chronos_core::JobSpec| spec.overlap = OverlapPolicy::Concurrent;
    let job = lab.job("job", lab.every(60), concurrent, || async {}).await;
    for _ in 0..3 {
        lab.store.run_now(job.spec.id, None, now).await.unwrap();
    }
    let claims = claim(&lab, now).await;
    finish(&lab, &claims, Ending::Success, now).await;
    let job = lab.store.job(job.spec.id).await.unwrap();
    assert_eq!(job.standing.tally.succeeded, 3);
}

#[tokio::test(start_paused = true)]
async fn a_job_still_due_after_a_full_plan_is_not_planned_anew() {
    let lab = Lab::new();
    let job = lab.job("job", lab.every(1), |_| {}, || async {}).await;
    let now = lab.now().after(seconds(1_500));
    lab.store.fire_due(now, 100, None).await.unwrap();
    let mut seen = BTreeSet::new();
    for event in lab.store.audit(0, 10_000).await.unwrap() {
        let (Decision::Skipped { slots, .. }, true) =
            (&event.decision, event.job == Some(job.spec.id))
        else {
            continue;
        };
        assert!(seen.insert(slots.first), "{event:?}");
    }
    let standing = lab.store.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.tally.fired + standing.tally.skipped, 1_500);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_was_lost_goes_before_the_run_held_behind_it() {
    let lab = Lab::new();
    let now = lab.now();
    let queue = |spec: &mut chronos_core::JobSpec| {
        spec.overlap = OverlapPolicy::QUEUE;
        spec.retry = retry::Policy::up_to(1);
    };
    let job = lab.job("job", lab.every(3_600), queue, || async {}).await;
    lab.store.run_now(job.spec.id, None, now).await.unwrap();
    let first = claim(&lab, now).await;
    let failed = Ending::Failed(Failure::transient("no"));
    finish(&lab, &first, failed, now).await;

    let later = now.after(seconds(60));
    let retry = claim(&lab, later).await;
    assert_eq!(retry[0].execution.retry, 1);
    lab.store.run_now(job.spec.id, None, later).await.unwrap();
    let expired = later.after(LEASE);
    lab.store.reap(expired, 100).await.unwrap();
    let claims = claim(&lab, expired).await;
    let slots: Vec<_> =
        claims.iter().map(|claim| (claim.execution.slot, claim.execution.attempt)).collect();
    assert_eq!(slots, [(now, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_fixed_delay_catches_up_its_own_slot_and_never_steps_back() {
    let lab = Lab::new();
    let now = lab.now();
    let schedule = Schedule::fixed_delay(seconds(10), now).unwrap();
    let schedule = schedule.ending_at(now.after(seconds(120))).unwrap();
    let once = |spec: &mut chronos_core::JobSpec| spec.catch_up = CatchUpPolicy::RunOnce;
    let job = lab.job("job", schedule, once, || async {}).await;

    // Its slot is at ten seconds, whatever has become of the time meanwhile.
    let late = now.after(seconds(45));
    lab.store.fire_due(late, 100, None).await.unwrap();
    let claims = claim(&lab, late).await;
    assert_eq!(claims[0].execution.slot, now.after(seconds(10)));
    finish(&lab, &claims, Ending::Success, late).await;
    let second = late.after(seconds(10));
    let standing = lab.store.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.next_slot, Some(second));

    lab.store.fire_due(second, 100, None).await.unwrap();
    let claims = claim(&lab, second).await;
    let set_back = now.before(Duration::from_hours(1));
    finish(&lab, &claims, Ending::Success, set_back).await;
    let standing = lab.store.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.next_slot, Some(second.after(seconds(10))));

    let last = now.after(seconds(115));
    lab.store.fire_due(last, 100, None).await.unwrap();
    let claims = claim(&lab, last).await;
    finish(&lab, &claims, Ending::Success, last).await;
    let standing = lab.store.job(job.spec.id).await.unwrap().standing;
    assert_eq!((standing.next_slot, standing.enabled), (None, false));
}
