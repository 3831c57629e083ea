//! Slots that come due in time, and the bounds of a schedule.

use super::*;

#[test]
fn a_slot_fires_when_it_is_due_and_not_before() {
    let mut desk = Desk::new(every_minute());
    assert_eq!(rows(&desk.plan("09:00:59.999999")), [""; 0]);
    let plan = desk.plan("09:01:00");
    assert_eq!(rows(&plan), ["09:01:00 queued"]);
    assert_eq!(summaries(&plan), ["fired for 09:01:00"]);
    assert_eq!(desk.next().unwrap(), "09:02:00");
    assert_eq!(rows(&desk.plan("09:01:00")), [""; 0]);
}

#[test]
fn a_slot_exactly_as_old_as_the_grace_is_on_time() {
    for (now, fired) in
        [("09:01:10", "09:01:00 queued"), ("09:01:10.000001", "09:01:00 skipped: missed")]
    {
        let mut desk = Desk::new(every_minute());
        assert_eq!(rows(&desk.plan(now)), [fired], "{now}");
    }
}

#[test]
fn jitter_delays_the_run_and_never_the_slot() {
    let mut desk = Desk::new(every_minute()).with(|spec| spec.jitter = Duration::from_hours(1));
    let plan = desk.plan("09:01:00");
    let run = &plan.executions[0];
    assert_eq!(run.slot, at("09:01:00"));
    assert!(run.run_at > at("09:01:00") && run.run_at < at("09:02:00"));
    assert_eq!(desk.next().unwrap(), "09:02:00");
}

#[test]
fn jitter_of_a_late_run_ends_before_the_next_slot() {
    let mut desk = Desk::new(every_minute())
        .catch_up(CatchUpPolicy::RunOnce)
        .with(|spec| spec.jitter = Duration::from_hours(1));
    let plan = desk.plan("09:05:58");
    let run = &plan.executions[0];
    assert_eq!(run.slot, at("09:05:00"));
    assert!(run.run_at >= at("09:05:58") && run.run_at < at("09:06:00"));
}

#[test]
fn the_first_slot_is_not_before_the_start_and_the_last_not_after_the_end() {
    let schedule = every_minute().starting_at(at("09:10:30")).unwrap();
    let mut desk = Desk::new(schedule.ending_at(at("09:11:30")).unwrap());
    assert_eq!(desk.next().unwrap(), "09:10:30");
    desk.run("09:10:30", Ending::Success);
    assert!(desk.job.standing.enabled);
    assert_eq!(rows(&desk.plan("09:11:30")), ["09:11:30 queued"]);
    assert_eq!((desk.next(), desk.job.standing.enabled), (None, false));
}

#[test]
fn only_fired_slots_use_up_max_runs() {
    let mut desk = Desk::new(every_minute().at_most(2).unwrap());
    desk.run("09:01:00", Ending::Success);
    assert_eq!(
        rows(&desk.plan("09:03:30")),
        ["09:02:00 skipped: missed", "09:03:00 skipped: missed"]
    );
    desk.plan("09:04:00");
    assert_eq!((desk.next(), desk.job.standing.enabled), (None, false));
    assert_eq!(desk.job.standing.tally.fired, 2);
}

#[test]
fn catching_up_stops_at_max_runs() {
    let catch_up = CatchUpPolicy::RunAllCapped(few(9));
    let mut desk = Desk::new(every_minute().at_most(2).unwrap()).catch_up(catch_up);
    assert_eq!(rows(&desk.plan("09:09:00")), ["09:01:00 queued", "09:02:00 held"]);
    assert!(!desk.job.standing.enabled);
}

#[test]
fn a_one_time_job_fires_once_and_disables_itself_however_late() {
    for (now, trigger) in [("09:30:00", Trigger::Schedule), ("17:00:00", Trigger::CatchUp)] {
        let mut desk = Desk::new(once("09:30:00"));
        let plan = desk.plan(now);
        assert_eq!(rows(&plan), ["09:30:00 queued"]);
        assert_eq!(plan.executions[0].trigger, trigger);
        assert_eq!((desk.next(), desk.job.standing.enabled), (None, false));
        assert_eq!(rows(&desk.plan("18:00:00")), [""; 0]);
    }
}

#[test]
fn a_clock_that_steps_back_fires_nothing_again() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent);
    desk.plan("09:01:00");
    assert_eq!(rows(&desk.plan("09:00:30")), [""; 0]);
    assert_eq!(rows(&desk.plan("09:01:30")), [""; 0]);
    assert_eq!(rows(&desk.plan("09:02:00")), ["09:02:00 queued"]);
}
