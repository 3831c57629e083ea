//! Firing: due slots become executions, each once, each accounted for.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::{SkipReason, State, Trigger};
use chronos_core::plan::Ending;
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::schedule::Zone;
use chronos_core::store::Fired;
use chronos_core::{JobSpec, Schedule};

use crate::bench::{Bench, after_end, at, every, job_id, once};

fn names(fired: &Fired) -> String {
    let names = fired.planned.iter().map(|planned| &*planned.spec.name);
    names.collect::<Vec<_>>().concat()
}

pub(crate) async fn due_jobs_fire_oldest_first_up_to_the_limit(bench: &Bench) {
    for (name, slot) in [("a", 30), ("b", 10), ("c", 20), ("d", 99)] {
        bench.create(once(name, slot)).await;
    }
    let fired = bench.fire_due(at(35), 2, None).await.unwrap();
    assert_eq!(names(&fired), "bc");
    assert_eq!(fired.next, Some(at(30)), "there is more to do at once");
    let fired = bench.fire_due(at(35), 2, None).await.unwrap();
    assert_eq!(names(&fired), "a");
    assert_eq!(fired.next, Some(at(99)));
    let fired = bench.fire_due(at(35), 2, None).await.unwrap();
    assert_eq!(names(&fired), "");
    assert_eq!(fired.next, Some(at(99)));
}

pub(crate) async fn nothing_fires_before_its_slot(bench: &Bench) {
    bench.create(every("a", 10)).await;
    let just_before = at(10).before(Duration::from_micros(1));
    let fired = bench.fire_due(just_before, 9, None).await.unwrap();
    assert_eq!((names(&fired).as_str(), fired.next), ("", Some(at(10))));
    let fired = bench.fire_due(at(10), 9, None).await.unwrap();
    assert_eq!((names(&fired).as_str(), fired.next), ("a", Some(at(20))));
}

pub(crate) async fn a_fired_slot_is_an_execution_that_waits(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let fired = bench.fire(10).await;
    let planned = &fired.planned[0];
    assert_eq!(planned.spec, job.spec);
    let row = bench.row(job.spec.id).await;
    assert_eq!(planned.plan.executions, std::slice::from_ref(&row));
    assert_eq!((row.slot, row.run_at), (at(10), at(10)));
    assert_eq!((row.attempt, row.retry, row.trigger), (1, 0, Trigger::Schedule));
    assert_eq!(row.state, State::Queued { held: false });
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing, planned.plan.standing);
    assert_eq!(standing.last_slot, Some(at(10)));
    assert_eq!(standing.next_slot, Some(at(20)));
    assert_eq!(standing.tally.fired, 1);
    let audit = bench.audit(1, 9).await.unwrap();
    assert_eq!((audit[0].job, audit[0].at), (Some(job.spec.id), at(10)));
    let decisions: Vec<_> = audit.into_iter().map(|event| event.decision).collect();
    assert_eq!(decisions, planned.plan.decisions);
}

pub(crate) async fn two_planners_fire_each_slot_once(bench: &mut Bench) {
    for number in 0..20 {
        bench.create(every(&format!("j{number:02}"), 10)).await;
    }
    let (one, other) = (bench.handle(), bench.handle());
    let plan = |store: std::sync::Arc<dyn chronos_core::Store>| async move {
        let mut fired = 0;
        for second in [10, 15, 20, 30] {
            for _ in 0..10 {
                let step = store.fire_due(at(second), 3, None).await.unwrap();
                fired += step.planned.len();
                tokio::task::yield_now().await;
            }
        }
        fired
    };
    let (one, other) = tokio::join!(tokio::spawn(plan(one)), tokio::spawn(plan(other)));
    assert_eq!(one.unwrap() + other.unwrap(), 60);
    for number in 0..20 {
        let rows = bench.rows(job_id(&format!("j{number:02}"))).await;
        let slots: Vec<_> = rows.iter().map(|row| row.slot).collect();
        assert_eq!(slots, [at(30), at(20), at(10)]);
    }
}

pub(crate) async fn a_missed_slot_is_recorded_with_its_reason(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.fire(35).await;
    let rows = bench.rows(job.spec.id).await;
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[0].slot, rows[0].status()), (at(30), "QUEUED"));
    for row in &rows[1..] {
        let missed = State::Skipped { reason: SkipReason::Missed, at: at(35) };
        assert_eq!(row.state, missed);
    }
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!((standing.tally.skipped, standing.tally.fired), (2, 1));
    let missed = ["schedule.missed"; 2].as_slice();
    let audit = bench.decisions().await;
    assert_eq!(audit, [&["schedule.created"], missed, &["schedule.fired"]].concat());
}

pub(crate) async fn a_slot_that_overlaps_is_recorded_with_its_reason(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let running = bench.start(10).await;
    bench.fire(20).await;
    let rows = bench.rows(job.spec.id).await;
    let overlap = State::Skipped { reason: SkipReason::Overlap, at: at(20) };
    assert_eq!(rows[0].state, overlap);
    bench.end(&running, Ending::Success, 25).await;
    assert_eq!(bench.start(30).await.execution.slot, at(30));
}

pub(crate) async fn caught_up_slots_run_in_order_one_behind_the_other(bench: &Bench) {
    bench
        .create(JobSpec { catch_up: CatchUpPolicy::run_all_capped(2).unwrap(), ..every("a", 10) })
        .await;
    let first = bench.start(45).await;
    assert_eq!((first.execution.slot, &first.execution.trigger), (at(10), &Trigger::CatchUp));
    bench.end(&first, Ending::Success, 46).await;
    let claims = bench.take(46).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.slot, at(20));
}

pub(crate) async fn a_long_absence_is_recorded_within_bounds(bench: &Bench) {
    let job = bench.create(every("a", 1)).await;
    bench.fire(5_000).await;
    let audit = bench.audit(0, 10_000).await.unwrap();
    let mut covered = 0;
    for event in &audit {
        match &event.decision {
            Decision::Skipped { slots, .. } => covered += slots.count.unwrap(),
            Decision::Fired { .. } => covered += 1,
            _ => {}
        }
    }
    assert_eq!(covered, 5_000);
    assert!(bench.rows(job.spec.id).await.len() < 1_100);
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.next_slot, Some(at(5_001)));
}

pub(crate) async fn more_slots_than_one_plan_holds_fire_once_each(bench: &Bench) {
    let job = bench
        .create(JobSpec {
            overlap: OverlapPolicy::Concurrent,
            misfire_grace: Duration::from_hours(1),
            ..every("a", 1)
        })
        .await;
    let mut planned = Vec::new();
    for _ in 0..3 {
        let fired = bench.fire_due(at(2_500), 10, None).await.unwrap();
        let plans = fired.planned.into_iter();
        planned.extend(plans.flat_map(|planned| planned.plan.executions));
    }
    let slots: BTreeSet<_> = planned.iter().map(|execution| execution.slot).collect();
    assert_eq!((planned.len(), slots.len()), (2_500, 2_500));
    let audit = bench.audit(0, 10_000).await.unwrap();
    assert_eq!(audit.len(), 2_501, "each firing is decided once");
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.tally.fired, 2_500);
}

pub(crate) async fn a_fixed_delay_counts_from_the_end_of_the_run(bench: &mut Bench) {
    let job = bench.create(after_end("a", 10)).await;
    let running = bench.start(10).await;
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!((standing.enabled, standing.next_slot), (true, None));
    let fired = bench.fire(25).await;
    assert_eq!((names(&fired).as_str(), fired.next), ("", None));
    bench.reopen().await;
    bench.end(&running, Ending::Success, 27).await;
    let fired = bench.fire(36).await;
    assert_eq!((names(&fired).as_str(), fired.next), ("", Some(at(37))));
    assert_eq!(bench.start(37).await.execution.slot, at(37));
}

pub(crate) async fn a_one_time_job_fires_once_even_late(bench: &Bench) {
    let job = bench.create(once("a", 10)).await;
    let claim = bench.start(500).await;
    assert_eq!(claim.execution.slot, at(10));
    bench.end(&claim, Ending::Success, 501).await;
    let fired = bench.fire(1_000).await;
    assert_eq!((names(&fired).as_str(), fired.next), ("", None));
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!((standing.enabled, standing.next_slot), (false, None));
}

pub(crate) async fn a_bounded_schedule_ends(bench: &Bench) {
    let bounded = every("a", 10).schedule.at_most(2).unwrap();
    let job = bench
        .create(JobSpec { schedule: bounded, overlap: OverlapPolicy::Concurrent, ..every("a", 10) })
        .await;
    for second in [10, 20, 30] {
        bench.fire(second).await;
    }
    let rows = bench.rows(job.spec.id).await;
    assert_eq!(rows.len(), 2);
    assert!(!bench.job(job.spec.id).await.unwrap().standing.enabled);
}

pub(crate) async fn jitter_moves_the_run_and_not_the_slot(bench: &Bench) {
    let job = bench.create(JobSpec { jitter: Duration::from_mins(1), ..every("a", 100) }).await;
    bench.fire(100).await;
    let row = bench.row(job.spec.id).await;
    assert_eq!(row.slot, at(100));
    assert!(row.run_at > at(100), "the chance of no jitter is one in 60,000");
    assert!(row.run_at < at(160));
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.next_slot, Some(at(200)));
}

pub(crate) async fn cron_jobs_keep_their_place_over_a_restart(bench: &mut Bench) {
    let schedule = Schedule::cron("0 0 9 * * *", Zone::parse("Europe/Berlin").unwrap());
    let job = bench.create(JobSpec { schedule: schedule.unwrap(), ..every("a", 10) }).await;
    let nine = at(8 * 3_600);
    assert_eq!(job.standing.next_slot, Some(nine));
    bench.reopen().await;
    bench.fire_due(nine, 9, None).await.unwrap();
    bench.reopen().await;
    let standing = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(standing.last_slot, Some(nine));
    assert_eq!(standing.next_slot, Some(at(32 * 3_600)));
}
