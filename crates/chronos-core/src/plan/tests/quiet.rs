//! Slots inside quiet hours.

use super::*;

#[test]
fn a_recurring_slot_inside_the_window_is_skipped() {
    let mut desk = Desk::new(every_minute()).quiet(Mode::Skip, "09:02", "09:04");
    desk.run("09:01:00", Ending::Success);
    assert_eq!(rows(&desk.plan("09:02:00")), ["09:02:00 skipped: quiet_hours"]);
    assert_eq!(rows(&desk.plan("09:03:59")), ["09:03:00 skipped: quiet_hours"]);
    assert_eq!(rows(&desk.plan("09:04:00")), ["09:04:00 queued"]);
}

#[test]
fn deferring_runs_the_first_slot_of_the_window_at_its_end_and_skips_the_others() {
    let mut desk = Desk::new(every_minute()).quiet(Mode::Defer, "09:01", "09:03");
    let plan = desk.plan("09:01:00");
    assert_eq!(summaries(&plan), ["quiet hours hold 09:01:00 back until 09:03:00"]);
    assert_eq!(desk.job.due_at(), Some(at("09:03:00")));
    assert_eq!(rows(&desk.plan("09:02:30")), [""; 0]);
    let plan = desk.plan("09:03:00");
    assert_eq!(
        rows(&plan),
        ["09:01:00 queued", "09:02:00 skipped: quiet_hours", "09:03:00 skipped: overlap"]
    );
    assert_eq!(plan.executions[0].run_at, at("09:03:00"));
    assert_eq!(desk.job.standing.deferred_until, None);
}

#[test]
fn a_one_time_job_is_never_lost_to_quiet_hours() {
    let mut desk = Desk::new(once("09:30:00"))
        .quiet(Mode::Skip, "09:00", "17:00")
        .catch_up(CatchUpPolicy::Skip);
    assert_eq!(rows(&desk.plan("09:30:00")), [""; 0]);
    assert!(desk.job.standing.enabled);
    let plan = desk.plan("17:00:00");
    assert_eq!(rows(&plan), ["09:30:00 queued"]);
    assert_eq!(plan.executions[0].trigger, Trigger::Schedule);
}

#[test]
fn jitter_of_a_deferred_run_ends_before_the_next_slot() {
    let mut desk = Desk::new(every_minute())
        .quiet(Mode::Defer, "09:01", "09:03")
        .overlap(OverlapPolicy::Concurrent)
        .with(|spec| spec.jitter = Duration::from_hours(1));
    desk.plan("09:01:00");
    let run_at = desk.plan("09:03:00").executions[0].run_at;
    assert!(run_at >= at("09:03:00") && run_at < at("09:04:00"), "{run_at}");
}

#[test]
fn a_pause_ends_a_deferral_with_its_slot() {
    let mut desk = Desk::new(every_minute())
        .quiet(Mode::Defer, "09:01", "09:03")
        .with(|spec| spec.jitter = Duration::from_secs(1));
    desk.plan("09:01:00");
    desk.pause("09:02:30");
    assert_eq!(rows(&desk.plan("09:04:30")).len(), 4);
    desk.resume("09:04:40");
    let plan = desk.plan("09:05:00");
    assert!(plan.executions[0].run_at >= at("09:05:00"), "{plan:?}");
}
