//! Quiet hours: policies kept, shared by jobs, and obeyed.

use std::collections::BTreeMap;

use chronos_core::execution::{SkipReason, State};
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::policy::quiet_hours::{Date, Exception, Mode, WeekdaySet, Window};
use chronos_core::schedule::Zone;
use chronos_core::store::{Error, Observer, Observers};
use chronos_core::{Execution, Job, JobSpec, PolicyId};

use crate::bench::{Bench, at, every, once};

fn policy_id(number: u8) -> PolicyId {
    PolicyId::new(at(0), [number; 10])
}

/// Quiet during the first hour of the day.
fn quiet(number: u8, mode: Mode) -> QuietHours {
    QuietHours {
        windows: vec![Window::new(WeekdaySet::EVERY_DAY, "00:00", "01:00").unwrap()],
        mode,
        ..QuietHours::new(policy_id(number), &format!("night {number}"), Zone::UTC, at(0))
    }
}

fn observing(spec: JobSpec, policy: u8) -> JobSpec {
    JobSpec { quiet_hours: Some(policy_id(policy)), ..spec }
}

pub(crate) async fn policies_page_in_the_order_of_their_ids(bench: &mut Bench) {
    for number in [2, 1, 3] {
        bench.create_policy(quiet(number, Mode::Skip)).await.unwrap();
    }
    bench.reopen().await;
    let all = [1, 2, 3].map(|number| quiet(number, Mode::Skip));
    assert_eq!(bench.policies(None, 9).await.unwrap(), all);
    assert_eq!(bench.policies(None, 2).await.unwrap(), all[..2]);
    assert_eq!(bench.policies(Some(policy_id(2)), 9).await.unwrap(), all[2..]);
    assert_eq!(bench.policies(Some(policy_id(3)), 9).await, Ok(vec![]));
    assert_eq!(bench.policy(policy_id(2)).await.as_ref(), Ok(&all[1]));
    bench.delete_policy(policy_id(2), at(9)).await.unwrap();
    bench.reopen().await;
    let unknown = Error::NoSuchPolicy(policy_id(2));
    assert_eq!(bench.policies(None, 9).await.unwrap().len(), 2);
    assert_eq!(bench.policy(policy_id(2)).await, Err(unknown.clone()));
    assert_eq!(bench.delete_policy(policy_id(2), at(9)).await, Err(unknown.clone()));
    let edited = bench.edit_policy(quiet(2, Mode::Skip), None, at(1)).await;
    assert_eq!(edited, Err(unknown));
}

pub(crate) async fn a_policy_keeps_all_that_it_says(bench: &mut Bench) {
    let date = |text| Date::parse(text).unwrap();
    let policy = QuietHours {
        owner: "ada".into(),
        zone: Zone::parse("Europe/Berlin").unwrap(),
        windows: vec![
            Window::new(WeekdaySet::WEEKDAYS, "22:00", "07:00").unwrap(),
            Window::new(WeekdaySet::WEEKEND, "00:00", "24:00").unwrap(),
        ],
        exceptions: BTreeMap::from([
            (date("2026-12-24"), Exception::Quiet),
            (date("2026-12-31"), Exception::Open),
        ]),
        ..quiet(1, Mode::Defer)
    };
    bench.create_policy(policy.clone()).await.unwrap();
    bench.reopen().await;
    assert_eq!(bench.policy(policy.id).await, Ok(policy));
}

pub(crate) async fn an_edit_keeps_what_identifies_a_policy_and_counts_versions(bench: &mut Bench) {
    let made = QuietHours { owner: "ada".into(), ..quiet(1, Mode::Skip) };
    bench.create_policy(made.clone()).await.unwrap();
    let edit = QuietHours { owner: "bob".into(), name: "nights".into(), ..quiet(1, Mode::Defer) };
    let edited = bench.edit_policy(edit, Some(1), at(7)).await.unwrap();
    let expected = QuietHours {
        name: "nights".into(),
        mode: Mode::Defer,
        version: 2,
        updated_at: at(7),
        ..made
    };
    assert_eq!(edited, expected);
    bench.reopen().await;
    let stale = bench.edit_policy(quiet(1, Mode::Skip), Some(1), at(8)).await;
    let name = "nights".into();
    assert_eq!(stale, Err(Error::PolicyConflict { name, expected: 1, current: 2 }));
    assert_eq!(bench.policy(policy_id(1)).await, Ok(expected));
}

pub(crate) async fn names_of_policies_are_unique_and_bounded(bench: &Bench) {
    bench.create_policy(quiet(1, Mode::Skip)).await.unwrap();
    bench.create_policy(quiet(2, Mode::Skip)).await.unwrap();
    let before = bench.answers().await;
    let taken = Err(Error::PolicyNameTaken("night 1".into()));
    let twin = QuietHours { id: policy_id(3), ..quiet(1, Mode::Skip) };
    assert_eq!(bench.create_policy(twin).await, taken);
    let again = QuietHours { name: "other".into(), ..quiet(1, Mode::Skip) };
    let refused = bench.create_policy(again).await;
    assert!(matches!(refused, Err(Error::PolicyNameTaken(_))), "an id is taken once: {refused:?}");
    let renamed = QuietHours { name: "night 1".into(), ..quiet(2, Mode::Skip) };
    assert_eq!(bench.edit_policy(renamed, None, at(1)).await.map(drop), taken);
    let nameless = QuietHours { name: "".into(), ..quiet(3, Mode::Skip) };
    let refused = bench.create_policy(nameless.clone()).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let nameless = QuietHours { id: policy_id(1), ..nameless };
    let refused = bench.edit_policy(nameless, None, at(1)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    before.assert_same(&bench.answers().await);
    // Its own name is no other's.
    bench.edit_policy(quiet(2, Mode::Defer), None, at(2)).await.unwrap();
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
    bench.create_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 10), 1)).await;
    let spec = JobSpec { owner: "ada".into(), ..observing(every("b", 10), 1) };
    let other = bench.create_job(spec, at(0)).await.unwrap();
    let observer = |job: &Job| {
        let JobSpec { id, owner, name, .. } = job.spec.as_ref().clone();
        Observer { id, owner, name }
    };
    let mut first = vec![observer(&job), observer(&other)];
    first.sort_by_key(|observer| observer.id);
    let in_use = |first: Vec<Observer>| {
        Err(Error::PolicyInUse(Box::new(Observers { count: first.len() as u64, first })))
    };
    assert_eq!(bench.delete_policy(policy_id(1), at(9)).await, in_use(first.clone()));
    bench.reopen().await;
    assert_eq!(bench.delete_policy(policy_id(1), at(9)).await, in_use(first));
    bench.delete_job(other.spec.id, at(1)).await.unwrap();
    assert_eq!(bench.delete_policy(policy_id(1), at(9)).await, in_use(vec![observer(&job)]));
    let change = Change::Edit(Box::new(every("a", 10)));
    bench.amend_job(job.spec.id, change, None, at(1)).await.unwrap();
    bench.delete_policy(policy_id(1), at(9)).await.unwrap();
    assert_eq!(bench.policies(None, 9).await, Ok(vec![]));
}

pub(crate) async fn of_many_jobs_that_observe_a_policy_the_first_are_told(bench: &Bench) {
    bench.create_policy(quiet(1, Mode::Skip)).await.unwrap();
    let most = Observers::TOLD;
    for number in 0..=most {
        bench.create(observing(every(&format!("job {number}"), 10), 1)).await;
    }
    let Err(Error::PolicyInUse(observers)) = bench.delete_policy(policy_id(1), at(9)).await else {
        panic!("it is in use");
    };
    assert_eq!((observers.count, observers.first.len()), (most as u64 + 1, most));
    assert!(observers.first.is_sorted_by_key(|observer| observer.id));
}

pub(crate) async fn a_date_apart_is_obeyed(bench: &mut Bench) {
    // Instants of the suite begin with 1970 or later; the first day of them is open.
    let today = Date::from(at(0).to_datetime().date_naive());
    let exceptions = BTreeMap::from([(today, Exception::Open)]);
    bench.create_policy(QuietHours { exceptions, ..quiet(1, Mode::Skip) }).await.unwrap();
    bench.create(observing(every("a", 1_800), 1)).await;
    bench.reopen().await;
    assert_eq!(bench.start(1_800).await.execution.slot, at(1_800));
}

pub(crate) async fn a_slot_in_quiet_hours_is_skipped_with_its_reason(bench: &mut Bench) {
    bench.create_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 1_800), 1)).await;
    bench.reopen().await;
    bench.fire(1_800).await;
    let skipped = State::Skipped { reason: SkipReason::QuietHours, at: at(1_800) };
    assert_eq!(bench.row(job.spec.id).await.state, skipped);
    assert_eq!(bench.start(3_600).await.execution.slot, at(3_600));
}

pub(crate) async fn a_deferred_slot_fires_when_quiet_hours_end(bench: &mut Bench) {
    bench.create_policy(quiet(1, Mode::Defer)).await.unwrap();
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

pub(crate) async fn an_edited_policy_holds_from_then_on(bench: &Bench) {
    bench.create_policy(quiet(1, Mode::Skip)).await.unwrap();
    let job = bench.create(observing(every("a", 100), 1)).await;
    bench.fire(100).await;
    let open = QuietHours { windows: vec![], ..quiet(1, Mode::Skip) };
    bench.edit_policy(open, None, at(150)).await.unwrap();
    bench.fire(200).await;
    let rows = bench.rows(job.spec.id).await;
    let rows: Vec<_> = rows.iter().map(Execution::status).collect();
    assert_eq!(rows, ["QUEUED", "SKIPPED"]);
}
