//! Ten years of missed slots cost no more than a few thousand rows, and those before a job was made nothing.

use super::*;

const TEN_YEARS: Duration = Duration::from_hours(10 * 365 * 24);

/// Every-second schedules, one by calendar and one by arithmetic.
fn every_second() -> [Schedule; 2] {
    [
        Schedule::cron("* * * * * *", Zone::UTC).unwrap(),
        Schedule::interval(Duration::from_secs(1), at("09:00:00")).unwrap(),
    ]
}

fn plan_after_ten_years(desk: &Desk) -> Plan {
    let now = at("09:00:00").after(TEN_YEARS);
    let planned = desk.act(|job, live| plan(job, live, now));
    assert!(planned.standing.next_slot > Some(now), "{:?}", planned.standing);
    planned
}

fn ranges(plan: &Plan) -> usize {
    let ranges = plan.decisions.iter().filter(|made| match made {
        Decision::Skipped { slots, .. } => slots.first != slots.last,
        _ => false,
    });
    ranges.count()
}

#[test]
fn a_backlog_of_ten_years_is_a_thousand_rows_and_one_range() {
    // The slots within the grace fire or overlap, one row each.
    const ON_TIME: usize = 11;
    for schedule in every_second() {
        for (catch_up, passed_over, expected_ranges) in [
            (CatchUpPolicy::Skip, MAX_ROWS, 1),
            (CatchUpPolicy::RunOnce, 0, 0),
            (CatchUpPolicy::RunAllCapped(few(7)), MAX_ROWS, 1),
            (CatchUpPolicy::RunAllCapped(few(1_000)), MAX_ROWS, 1),
        ] {
            let desk = Desk::new(schedule.clone()).catch_up(catch_up);
            let planned = plan_after_ten_years(&desk);
            assert_eq!(planned.executions.len(), passed_over + ON_TIME, "{catch_up:?}");
            assert_eq!(ranges(&planned), expected_ranges, "{catch_up:?}");
            assert_eq!(planned.decisions.len(), planned.executions.len() + expected_ranges);
        }
    }
}

#[test]
fn a_job_that_began_years_before_it_was_made_has_nothing_to_catch_up() {
    let [cron, interval] = every_second();
    let delay = Schedule::fixed_delay(Duration::from_secs(1), at("09:00:00")).unwrap();
    for schedule in [cron, interval, delay] {
        let schedule = schedule.starting_at(at("09:00:00").before(TEN_YEARS / 2)).unwrap();
        for catch_up in [
            CatchUpPolicy::Skip,
            CatchUpPolicy::RunOnce,
            CatchUpPolicy::RunAllCapped(few(CatchUpPolicy::MAX_CAP)),
        ] {
            let mut desk = Desk::new(schedule.clone()).catch_up(catch_up);
            let made = desk.plan("09:00:00");
            assert_eq!((made.executions, made.decisions), (vec![], vec![]), "{catch_up:?}");
            assert_eq!(desk.next().unwrap(), "09:00:01");
            let first = desk.plan("09:00:01");
            assert_eq!(rows(&first), ["09:00:01 queued"], "{catch_up:?}");
            assert_eq!(first.decisions.len(), 1, "{catch_up:?}");
            assert_eq!((first.standing.tally.fired, first.standing.tally.skipped), (1, 0));
        }
    }
}

#[test]
fn a_job_whose_start_is_moved_years_back_has_nothing_to_catch_up() {
    let all = CatchUpPolicy::RunAllCapped(few(CatchUpPolicy::MAX_CAP));
    let mut desk = Desk::new(once("12:00:00")).catch_up(all);
    let [cron, _] = every_second();
    let schedule = cron.starting_at(at("09:00:00").before(TEN_YEARS / 2)).unwrap();
    let moved = desk.edit("09:30:00", |spec| spec.schedule = schedule).unwrap();
    assert_eq!(moved.executions, vec![]);
    assert_eq!(rows(&desk.plan("09:30:01")), ["09:30:01 queued"]);
}

#[test]
fn a_pause_of_ten_years_is_a_thousand_rows_and_one_range() {
    for schedule in every_second() {
        let mut desk = Desk::new(schedule);
        desk.pause("09:00:00");
        let planned = plan_after_ten_years(&desk);
        assert_eq!((planned.executions.len(), ranges(&planned)), (MAX_ROWS, 1));
    }
}

#[test]
fn ranges_of_intervals_know_how_many_slots_they_cover() {
    let [_, interval] = every_second();
    let planned = plan_after_ten_years(&Desk::new(interval));
    assert_eq!(planned.standing.tally.skipped + 11, TEN_YEARS.as_secs() + 10);
}

#[test]
fn a_grace_of_a_day_fires_a_thousand_slots_at_a_time() {
    let [_, interval] = every_second();
    let mut desk = Desk::new(interval)
        .overlap(OverlapPolicy::Concurrent)
        .with(|spec| spec.misfire_grace = Duration::from_hours(24));
    assert_eq!(desk.plan("09:20:00").executions.len(), MAX_ROWS);
    assert!(desk.job.due_at().unwrap() <= at("09:20:00"));
    assert_eq!(desk.plan("09:20:00").executions.len(), 200);
    assert_eq!(desk.next().unwrap(), "09:20:01");
}
