//! Schedules that count from the end of each run.

use super::*;
use crate::execution::Failure;

#[test]
fn the_next_slot_counts_from_the_end_however_the_run_ended() {
    for ending in [
        Ending::Success,
        Ending::Failed(Failure::permanent("no")),
        Ending::TimedOut,
        Ending::Cancelled,
        Ending::Skipped("nothing to do".into()),
    ] {
        let mut desk = Desk::new(a_minute_after_each_end());
        desk.plan("09:01:00");
        assert_eq!(desk.next(), None);
        assert!(desk.job.standing.enabled);
        desk.claim("09:01:00");
        desk.finish(ending.clone(), "09:04:07");
        assert_eq!(desk.next().unwrap(), "09:05:07", "{ending:?}");
    }
}

#[test]
fn the_next_slot_waits_for_the_last_retry() {
    let mut desk = Desk::new(a_minute_after_each_end()).retries(1);
    desk.run("09:01:00", Ending::TimedOut);
    assert_eq!(desk.next(), None);
    desk.claim("09:01:10");
    desk.finish(Ending::TimedOut, "09:01:20");
    assert_eq!(desk.next().unwrap(), "09:02:20");
}

#[test]
fn a_skipped_slot_is_followed_from_the_time_it_was_skipped() {
    let mut desk = Desk::new(a_minute_after_each_end());
    desk.run_now("09:00:50");
    assert_eq!(rows(&desk.plan("09:01:03")), ["09:01:00 skipped: overlap"]);
    assert_eq!(desk.next().unwrap(), "09:02:03");
}

#[test]
fn a_missed_slot_is_one_slot_however_long_ago() {
    for (catch_up, fired) in [
        (CatchUpPolicy::Skip, "09:01:00 skipped: missed"),
        (CatchUpPolicy::RunOnce, "09:01:00 queued"),
        (CatchUpPolicy::RunAllCapped(few(5)), "09:01:00 queued"),
    ] {
        let mut desk = Desk::new(a_minute_after_each_end()).catch_up(catch_up);
        let plan = desk.plan("12:00:00");
        assert_eq!(rows(&plan), [fired], "{catch_up:?}");
        assert_eq!(plan.decisions.len(), 1);
    }
}

#[test]
fn a_run_that_ends_too_late_for_another_is_the_last() {
    let mut desk = Desk::new(a_minute_after_each_end().ending_at(at("09:03:00")).unwrap());
    desk.run("09:01:00", Ending::Success);
    assert_eq!(desk.next().unwrap(), "09:02:00");
    desk.plan("09:02:00");
    desk.claim("09:02:00");
    desk.finish(Ending::Success, "09:02:01");
    assert_eq!((desk.next(), desk.job.standing.enabled), (None, false));
}

#[test]
fn a_clock_that_steps_back_never_repeats_a_slot() {
    let mut desk = Desk::new(a_minute_after_each_end());
    desk.plan("09:01:00");
    desk.claim("09:01:00");
    desk.finish(Ending::Success, "09:00:00");
    assert_eq!(desk.next().unwrap(), "09:02:00");
}

#[test]
fn a_withdrawn_run_is_followed_from_its_withdrawal() {
    let mut paused = Desk::new(a_minute_after_each_end());
    paused.plan("09:01:00");
    paused.pause("09:01:30");
    assert_eq!(paused.next().unwrap(), "09:02:30");
    let mut replaced = Desk::new(a_minute_after_each_end()).overlap(OverlapPolicy::Replace);
    replaced.plan("09:01:00");
    replaced.run_now("09:01:30");
    assert_eq!(replaced.next().unwrap(), "09:02:30");
}
