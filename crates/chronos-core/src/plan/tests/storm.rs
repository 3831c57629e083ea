//! What thousands of jobs catch up together.

use super::*;

fn every_second() -> Schedule {
    Schedule::interval(Duration::from_secs(1), at("09:00:00")).unwrap()
}

/// Plans a job a while after it was made, as one of many.
fn plan_in(storm: &mut Storm, desk: &Desk, clock: &str) -> Plan {
    let now = at(clock);
    let live = Live { terse: storm.is_terse(now), begins: storm.begins(now), ..Live::default() };
    let planned = plan(&desk.job, &live, now);
    storm.count(&planned, now);
    planned
}

#[test]
fn the_first_of_many_tell_of_their_slots_one_by_one_and_the_others_in_short() {
    let (mut storm, desk) = (Storm::default(), Desk::new(every_second()));
    let rows: Vec<usize> =
        (0..60).map(|_| plan_in(&mut storm, &desk, "12:00:00").executions.len()).collect();
    // Eleven seconds of the backlog are still on time, of which one fires and ten overlap.
    let on_time = 11;
    assert!(rows[..49].iter().all(|rows| *rows == MAX_ROWS + on_time), "{rows:?}");
    assert!(rows[50..].iter().all(|rows| *rows == Storm::FEW_ROWS + on_time), "{rows:?}");
    let terse = plan_in(&mut storm, &desk, "12:00:00");
    assert_eq!(terse.standing.tally.skipped, 3 * 3_600 - 1, "none is forgotten");
    let later = plan_in(&mut storm, &desk, "12:01:01");
    assert_eq!(later.executions.len(), MAX_ROWS + on_time, "a storm passes");
}

#[test]
fn many_caught_up_runs_begin_one_after_another_and_each_before_its_jobs_next_slot() {
    let mut storm = Storm::default();
    let hourly = Schedule::interval(Duration::from_hours(1), at("09:00:00")).unwrap();
    let desk = Desk::new(hourly).catch_up(CatchUpPolicy::RunOnce);
    let begins: Vec<Timestamp> =
        (0..3_000).map(|_| plan_in(&mut storm, &desk, "10:30:00").executions[0].run_at).collect();
    assert!(begins[..=1_000].iter().all(|run_at| *run_at == at("10:30:00")));
    assert_eq!(begins[2_000], at("10:30:01"));
    assert_eq!(begins[2_999], at("10:30:01.999"));
    let busy = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    let planned = plan_in(&mut storm, &busy, "10:30:59.5");
    assert_eq!(planned.executions[0].run_at, at("10:30:59.5"), "the storm has passed");
    for _ in 0..4_000 {
        plan_in(&mut storm, &desk, "10:30:59.5");
    }
    let planned = plan_in(&mut storm, &busy, "10:30:59.5");
    assert_eq!(planned.executions[0].run_at, at("10:30:59.75"), "well before the next slot");
    let back = plan_in(&mut storm, &busy, "10:20:30");
    assert_eq!(back.executions[0].run_at, at("10:20:30"), "a clock put back delays nothing");
}
