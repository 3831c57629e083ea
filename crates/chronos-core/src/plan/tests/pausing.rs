//! Pauses that end by themselves, and what is written about them.

use super::*;
use crate::job::Pause;

#[test]
fn a_pause_ends_by_itself_and_the_slot_of_its_end_fires() {
    let mut desk = Desk::new(every_minute());
    let plan = desk.pause_until("09:00:10", "09:03:00");
    assert_eq!(summaries(&plan), ["paused until 09:03:00: moving house"]);
    let plan = desk.plan("09:01:00");
    assert_eq!(rows(&plan), ["09:01:00 skipped: paused"]);
    assert_eq!(plan.executions[0].note(), Some("moving house"));
    assert_eq!(summaries(&plan), ["skipped the run of 09:01:00: paused (moving house)"]);
    desk.plan("09:02:00");
    assert_eq!(desk.job.due_at(), Some(at("09:03:00")));
    let plan = desk.plan("09:03:00");
    assert_eq!(rows(&plan), ["09:03:00 queued"]);
    assert_eq!(summaries(&plan)[0], "resumed by itself");
    assert_eq!(desk.job.standing.paused, None);
}

#[test]
fn a_pause_that_ended_while_nobody_looked_ended_in_its_own_time() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunAllCapped(few(9)));
    desk.pause_until("09:00:10", "09:02:30");
    let plan = desk.plan("09:04:05");
    assert_eq!(
        rows(&plan),
        [
            "09:01:00 skipped: paused",
            "09:02:00 skipped: paused",
            "09:03:00 queued",
            "09:04:00 skipped: overlap",
        ]
    );
    assert_eq!(desk.next().unwrap(), "09:05:00");
}

#[test]
fn a_pause_ends_between_two_slots_that_are_far_apart() {
    let hourly = Schedule::interval(Duration::from_hours(1), at("09:00:00")).unwrap();
    let mut desk = Desk::new(hourly).retries(3);
    desk.run("10:00:00", Ending::TimedOut);
    desk.pause_until("10:00:01", "10:20:00");
    assert_eq!(desk.alive(), ["10:00:00 attempt 2 held"]);
    assert_eq!(desk.job.due_at(), Some(at("10:20:00")));
    let plan = desk.plan("10:20:00");
    assert_eq!((rows(&plan), plan.leads_on()), (vec![], true));
    assert_eq!(desk.alive(), ["10:00:00 attempt 2 queued"]);
    assert_eq!(desk.job.due_at(), Some(at("11:00:00")));
}

#[test]
fn a_parked_one_time_job_fires_when_its_pause_ends() {
    let mut desk = Desk::new(once("09:30:00"));
    desk.pause_until("09:10:00", "10:00:00");
    assert_eq!(desk.job.due_at(), Some(at("10:00:00")));
    assert_eq!(rows(&desk.plan("09:45:00")), [""; 0]);
    assert_eq!(rows(&desk.plan("10:00:00")), ["09:30:00 queued"]);
}

#[test]
fn the_retry_of_a_job_that_is_over_goes_on_when_the_pause_ends() {
    let mut desk = Desk::new(once("09:01:00")).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    desk.pause_until("09:01:01", "09:30:00");
    assert!(!desk.job.standing.enabled);
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 held"]);
    desk.plan("09:30:00");
    assert_eq!(desk.alive(), ["09:01:00 attempt 2 queued"]);
    assert_eq!(desk.job.due_at(), None);
}

#[test]
fn a_pause_that_ends_inside_quiet_hours_leaves_the_slot_to_them() {
    let mut desk = Desk::new(every_minute()).quiet(Mode::Skip, "09:02", "09:04");
    desk.pause_until("09:00:10", "09:02:00");
    desk.plan("09:01:00");
    let plan = desk.plan("09:02:00");
    assert_eq!(rows(&plan), ["09:02:00 skipped: quiet_hours"]);
    assert_eq!(desk.job.standing.paused, None);
}

#[test]
fn a_pause_is_settled_before_a_change_that_comes_after_its_end() {
    let mut desk = Desk::new(every_minute());
    desk.pause_until("09:00:10", "09:01:30");
    let plan = desk.pause("09:02:05");
    assert_eq!(rows(&plan), ["09:01:00 skipped: paused", "09:02:00 skipped: paused"]);
    let pause = desk.job.standing.paused.clone().unwrap();
    assert_eq!((pause.since, pause.resume_at, pause.note), (at("09:02:05"), None, None));
}

#[test]
fn what_is_said_about_a_pause_can_be_changed_and_its_beginning_cannot() {
    let mut desk = Desk::new(every_minute());
    desk.pause("09:00:10");
    let plan = desk.pause_until("09:00:20", "09:30:00");
    assert_eq!(summaries(&plan), ["paused until 09:30:00: moving house"]);
    assert_eq!(desk.pause_until("09:00:30", "09:30:00").decisions, []);
    assert_eq!(desk.pause("09:00:40").decisions, []);
    let said = Pause {
        since: at("09:00:10"),
        note: Some("moving house".into()),
        resume_at: Some(at("09:30:00")),
    };
    assert_eq!(desk.job.standing.paused, Some(said));
    assert_eq!(summaries(&desk.resume("09:00:50")), ["resumed"]);
    assert_eq!(desk.job.due_at(), Some(at("09:01:00")));
}

#[test]
fn a_pause_that_cannot_be_meant_is_refused() {
    let mut desk = Desk::new(every_minute());
    let past = Change::Pause { note: None, resume_at: Some(at("09:00:10")) };
    assert!(matches!(desk.change(past, "09:00:10"), Err(Error::ResumeAt { .. })));
    let long = Change::Pause { note: Some("x".repeat(1_001).into()), resume_at: None };
    assert!(matches!(desk.change(long, "09:00:10"), Err(Error::PauseNote { given: 1_001 })));
    assert_eq!(desk.job.standing.paused, None);
}

#[test]
fn quiet_hours_that_are_missing_hold_nothing_back_and_say_so() {
    let policy = PolicyId::new(Timestamp::EPOCH, [7; 10]);
    let mut desk = Desk::new(every_minute()).with(|spec| spec.quiet_hours = Some(policy));
    let plan = desk.plan("09:01:00");
    assert_eq!(rows(&plan), ["09:01:00 queued"]);
    assert_eq!(plan.decisions[0], Decision::PolicyMissing { policy });
    assert_eq!(plan.decisions[0].kind(), "schedule.policy_missing");
    // One that is there and holds nothing is no reason to warn.
    let mut desk = desk.quiet(Mode::Skip, "12:00", "13:00");
    assert_eq!(desk.plan("09:02:00").decisions.len(), 1);
}
