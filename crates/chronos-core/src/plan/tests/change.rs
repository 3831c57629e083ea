//! Pauses, resumes and edits.

use super::*;
use crate::execution::Failure;

#[test]
fn a_pause_records_its_slots_and_a_resume_never_bursts() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunAllCapped(few(9)));
    desk.pause("09:00:10");
    assert_eq!(rows(&desk.plan("09:01:00")), ["09:01:00 skipped: paused"]);
    let plan = desk.resume("09:03:30");
    assert_eq!(rows(&plan), ["09:02:00 skipped: paused", "09:03:00 skipped: paused"]);
    assert_eq!(rows(&desk.plan("09:03:30")), [""; 0]);
    assert_eq!(rows(&desk.plan("09:04:00")), ["09:04:00 queued"]);
}

#[test]
fn pausing_twice_or_resuming_twice_changes_nothing() {
    let mut desk = Desk::new(every_minute());
    assert_eq!(summaries(&desk.resume("09:00:05")), [""; 0]);
    assert_eq!(summaries(&desk.pause("09:00:10")), ["paused"]);
    assert_eq!(summaries(&desk.pause("09:00:20")), [""; 0]);
    let since = desk.job.standing.paused.as_ref().unwrap().since;
    assert_eq!(since, at("09:00:10"));
    assert_eq!(summaries(&desk.resume("09:00:30")), ["resumed"]);
}

#[test]
fn a_run_that_waits_out_its_jitter_is_skipped_by_a_pause() {
    let mut desk = Desk::new(every_minute()).with(|spec| spec.jitter = Duration::from_mins(1));
    desk.plan("09:01:00");
    let plan = desk.pause("09:01:01");
    assert_eq!(desk.alive(), [""; 0]);
    assert_eq!(summaries(&plan), ["paused", "skipped the run of 09:01:00: paused"]);
}

#[test]
fn a_slot_that_comes_due_with_the_pause_does_not_begin_either() {
    let mut desk = Desk::new(every_minute());
    assert_eq!(rows(&desk.pause("09:01:00")), ["09:01:00 skipped: paused"]);
    assert_eq!(desk.alive(), [""; 0]);
    let mut late = Desk::new(once("09:01:00"));
    assert_eq!(rows(&late.pause("09:01:00")), ["09:01:00 held"]);
    late.resume("09:05:00");
    assert_eq!(late.alive(), ["09:01:00 queued"]);
}

#[test]
fn a_pause_holds_retries_back_and_a_resume_lets_them_go() {
    let mut desk = Desk::new(every_minute()).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    desk.pause("09:01:01");
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 held"]);
    desk.resume("09:01:30");
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 queued"]);
}

#[test]
fn a_retry_that_the_pausing_step_supersedes_is_not_held_as_well() {
    let mut desk = Desk::new(every_minute()).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    let plan = desk.pause("09:02:00");
    assert_eq!(plan.withdrawals.len(), 1);
    assert_eq!(desk.alive(), [""; 0]);
}

#[test]
fn runs_that_fail_during_a_pause_keep_their_retries_until_it_ends() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent).retries(3);
    for now in ["09:01:00", "09:02:00"] {
        desk.plan(now);
        desk.claim(now);
    }
    desk.pause("09:02:10");
    for _ in 0..2 {
        desk.finish(Ending::Failed(Failure::transient("no answer")), "09:02:20");
    }
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 held", "09:02:00 attempt 2 held"]);
    desk.resume("09:02:30");
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 queued", "09:02:00 attempt 2 queued"]);
}

#[test]
fn a_paused_one_time_job_is_parked_and_fires_after_the_resume() {
    let mut desk = Desk::new(once("09:30:00"));
    desk.pause("09:10:00");
    assert_eq!(desk.job.due_at(), None);
    assert_eq!(rows(&desk.plan("10:00:00")), [""; 0]);
    desk.resume("11:00:00");
    assert_eq!(rows(&desk.plan("11:00:00")), ["09:30:00 queued"]);
}

#[test]
fn an_edit_settles_due_slots_first_under_the_job_as_it_was() {
    let mut desk = Desk::new(every_minute());
    let edited = Schedule::interval(Duration::from_mins(5), at("09:02:00")).unwrap();
    let plan = desk.edit("09:02:05", |spec| {
        spec.schedule = edited;
        spec.catch_up = CatchUpPolicy::RunOnce;
    });
    let plan = plan.unwrap();
    assert_eq!(rows(&plan), ["09:01:00 skipped: missed", "09:02:00 queued"]);
    assert_eq!(summaries(&plan).last().unwrap(), "updated to version 2");
    assert_eq!(desk.next().unwrap(), "09:07:00");
}

#[test]
fn an_edit_of_policies_keeps_the_position() {
    let mut desk = Desk::new(every_minute());
    desk.run("09:01:00", Ending::Success);
    desk.edit("09:01:30", |spec| spec.misfire_grace = Duration::ZERO).unwrap();
    assert_eq!(desk.next().unwrap(), "09:02:00");
    assert_eq!(desk.job.standing.last_slot, Some(at("09:01:00")));
    assert_eq!(desk.job.spec.version, 2);
}

#[test]
fn a_new_schedule_goes_on_after_everything_accounted_for() {
    let mut desk = Desk::new(every_minute());
    desk.run("09:05:00", Ending::Success);
    let seconds = Schedule::interval(Duration::from_secs(1), at("09:00:00")).unwrap();
    // The clock stepped back; slots up to 09:05 have had their turn.
    desk.edit("09:02:00", |spec| spec.schedule = seconds).unwrap();
    assert_eq!(desk.next().unwrap(), "09:05:01");
    let refused = desk.edit("09:06:00", |spec| spec.schedule = once("09:05:00"));
    assert!(matches!(refused, Err(Error::NeverFires { .. })));
}

#[test]
fn a_new_schedule_takes_the_place_of_what_was_held_back() {
    let mut parked = Desk::new(once("09:30:00"));
    parked.pause("09:10:00");
    let plan = parked.edit("10:00:00", |spec| spec.schedule = once("12:00:00")).unwrap();
    assert_eq!(rows(&plan), ["09:30:00 skipped: paused"]);
    assert_eq!(parked.next().unwrap(), "12:00:00");
    let mut deferred = Desk::new(once("09:30:00")).quiet(Mode::Skip, "09:00", "11:00");
    deferred.plan("09:30:00");
    let plan = deferred.edit("10:00:00", |spec| spec.schedule = once("12:00:00")).unwrap();
    assert_eq!(rows(&plan), ["09:30:00 skipped: quiet_hours"]);
    assert_eq!(deferred.job.due_at(), Some(at("12:00:00")));
}

#[test]
fn a_job_that_used_up_its_runs_needs_a_larger_limit_to_go_on() {
    let mut desk = Desk::new(every_minute().at_most(1).unwrap());
    desk.run("09:01:00", Ending::Success);
    let hourly = Schedule::interval(Duration::from_hours(1), at("09:00:00")).unwrap();
    let limited = hourly.clone().at_most(1).unwrap();
    let refused = desk.edit("09:02:00", |spec| spec.schedule = limited);
    assert!(matches!(refused, Err(Error::NeverFires { .. })));
    desk.edit("09:02:00", |spec| {
        spec.schedule = hourly.at_most(2).unwrap();
    })
    .unwrap();
    assert_eq!(desk.next().unwrap(), "10:00:00");
}

#[test]
fn an_edit_that_is_refused_says_why_and_keeps_identity_otherwise() {
    let mut desk = Desk::new(every_minute());
    let refused = desk.edit("09:00:10", |spec| spec.name = "".into());
    assert!(matches!(refused, Err(Error::Name { .. })));
    let unbounded = CatchUpPolicy::RunAllCapped(NonZeroU32::MAX);
    let refused = desk.edit("09:00:10", |spec| spec.catch_up = unbounded);
    assert!(matches!(refused, Err(Error::CatchUpCap { .. })));
    let id = desk.job.spec.id;
    let other = JobId::new(Timestamp::EPOCH, [9; 10]);
    desk.edit("09:00:10", |spec| spec.id = other).unwrap();
    assert_eq!(desk.job.spec.id, id);
}
