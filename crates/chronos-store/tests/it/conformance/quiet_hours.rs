//! Quiet hours: policies kept, shared by jobs, and obeyed.

use chronos_core::execution::{SkipReason, State};
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::policy::quiet_hours::{Mode, WeekdaySet, Window};
use chronos_core::schedule::Zone;
use chronos_core::store::Error;
use chronos_core::{Execution, JobSpec, PolicyId};

use crate::bench::{Bench, at, every, once};

fn policy_id(number: u8) -> PolicyId {
    PolicyId::new(at(0), [number; 10])
}

/// Quiet during the first hour of the day.
fn quiet(number: u8, mode: Mode) -> QuietHours {
    QuietHours {
        id: policy_id(number),
        name: format!("night {number}"),
        zone: Zone::UTC,
        windows: vec![Window::new(WeekdaySet::EVERY_DAY, "00:00", "01:00").unwrap()],
        mode,
    }
}

fn observing(spec: JobSpec, policy: u8) -> JobSpec {
    JobSpec { quiet_hours: Some(policy_id(policy)), ..spec }
}

pub(crate) async fn policies_are_kept_in_the_order_of_their_ids(bench: &mut Bench) {
    for number in [2, 1, 3] {
        bench.put_policy(quiet(number, Mode::Skip)).await.unwrap();
    }
    bench.put_policy(quiet(2, Mode::Defer)).await.unwrap();
    bench.reopen().await;
    let expected = [quiet(1, Mode::Skip), quiet(2, Mode::Defer), quiet(3, Mode::Skip)];
    assert_eq!(bench.policies().await.unwrap(), expected);
    bench.delete_policy(policy_id(2)).await.unwrap();
    bench.reopen().await;
    assert_eq!(bench.policies().await.unwrap().len(), 2);
    assert_eq!(bench.delete_policy(policy_id(2)).await, Err(Error::NoSuchPolicy(policy_id(2))));
}

pub(crate) async fn an_unknown_policy_is_refused(bench: &Bench) {
    let unknown = Error::NoSuchPolicy(policy_id(1));
    let refused = bench.create_job(observing(every("a", 10), 1), at(0)).await;
    assert_eq!(refused, Err(unknown.clone()));
    assert_eq!(bench.jobs(None, 9).await, Ok(vec![]));
    let job = bench.create(every("a", 10)).await;
    let before = bench.answers().await;
    let change = Change::Edit(Box::new(observing(every("a", 10), 1)));
    let refused = bench.amend_job(job.spec.id, change, None, at(1)).await;
    assert_eq!(refused, Err(unknown));
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn a_policy_in_use_stays(bench: &mut Bench) {
    bench.put_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 10), 1)).await;
    let in_use = Error::PolicyInUse(vec!["a".into()]);
    assert_eq!(bench.delete_policy(policy_id(1)).await, Err(in_use.clone()));
    bench.reopen().await;
    assert_eq!(bench.delete_policy(policy_id(1)).await, Err(in_use));
    let change = Change::Edit(Box::new(every("a", 10)));
    bench.amend_job(job.spec.id, change, None, at(1)).await.unwrap();
    bench.delete_policy(policy_id(1)).await.unwrap();
    assert_eq!(bench.policies().await, Ok(vec![]));
}

pub(crate) async fn a_slot_in_quiet_hours_is_skipped_with_its_reason(bench: &mut Bench) {
    bench.put_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 1_800), 1)).await;
    bench.reopen().await;
    bench.fire(1_800).await;
    let skipped = State::Skipped { reason: SkipReason::QuietHours, at: at(1_800) };
    assert_eq!(bench.row(job.spec.id).await.state, skipped);
    assert_eq!(bench.start(3_600).await.execution.slot, at(3_600));
}

pub(crate) async fn a_deferred_slot_fires_when_quiet_hours_end(bench: &mut Bench) {
    bench.put_policy(quiet(1, Mode::Defer)).await.unwrap();
    bench.create(observing(every("a", 1_000), 1)).await;
    bench.create(observing(once("b", 10), 1)).await;
    for second in [10, 1_000] {
        bench.fire(second).await;
    }
    let fired = bench.fire(2_000).await;
    assert_eq!((fired.planned.len(), fired.next), (0, Some(at(3_600))));
    bench.reopen().await;
    assert_eq!(bench.fire(3_600).await.planned.len(), 2);
    let claims = bench.take(3_600).await;
    let slots: Vec<_> = claims.iter().map(|claim| claim.execution.slot).collect();
    assert_eq!(claims.len(), 2);
    assert!(slots.contains(&at(10)) && slots.contains(&at(1_000)));
}

pub(crate) async fn a_replaced_policy_holds_from_then_on(bench: &Bench) {
    bench.put_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 100), 1)).await;
    bench.fire(100).await;
    let open = QuietHours { windows: vec![], ..quiet(1, Mode::Skip) };
    bench.put_policy(open).await.unwrap();
    bench.fire(200).await;
    let rows = bench.rows(job.spec.id).await;
    let rows: Vec<_> = rows.iter().map(Execution::status).collect();
    assert_eq!(rows, ["QUEUED", "SKIPPED"]);
}
