//! Message jobs: what they say is part of the plan that fires them.

use super::*;
use crate::message::Template;

fn says(schedule: Schedule) -> Desk {
    let text = "{{job_name}} {{slot}} after {{missed_count}}";
    Desk::new(schedule).with(|spec| spec.target = Template::new(Some(text), None).unwrap().into())
}

/// What a plan says, without the day.
fn said(plan: &Plan) -> Vec<String> {
    let texts = plan.messages.iter().map(|message| message.text.as_deref().unwrap_or_default());
    texts.map(|text| text.replace("2026-11-16T", "").replace('Z', "")).collect()
}

#[test]
fn a_slot_says_its_message_and_has_succeeded() {
    let mut desk = says(every_minute());
    let plan = desk.plan("09:01:02");
    assert_eq!(said(&plan), ["report 09:01:00 after 0"]);
    assert_eq!(rows(&plan), ["09:01:00 success"]);
    assert_eq!(summaries(&plan), ["fired for 09:01:00", "the run of 09:01:00 ended: success"]);
    let (message, execution) = (&plan.messages[0], &plan.executions[0]);
    assert_eq!((message.id, message.slot), (execution.id, at("09:01:00")));
    assert_eq!((message.occurred_at, message.trace), (at("09:01:02"), execution.trace_id()));
    let tally = &desk.job.standing.tally;
    assert_eq!((tally.fired, tally.succeeded, tally.last_run), (1, 1, Some(at("09:01:02"))));
    assert!(desk.live.is_empty());
    assert_eq!(desk.next().unwrap(), "09:02:00");
}

#[test]
fn missed_slots_are_counted_in_what_is_said() {
    let mut skip = says(every_minute());
    let plan = skip.plan("09:03:05");
    assert_eq!(said(&plan), ["report 09:03:00 after 0"]);
    assert_eq!(plan.executions.len(), 3, "missed slots say nothing and are recorded");
    let mut once = says(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    assert_eq!(said(&once.plan("09:04:00")), ["report 09:04:00 after 3"]);
    let mut late = says(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    assert_eq!(said(&late.plan("09:03:30")), ["report 09:03:00 after 3"]);
    let mut single = says(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    assert_eq!(said(&single.plan("09:01:30")), ["report 09:01:00 after 1"]);
    let mut all = says(every_minute()).catch_up(CatchUpPolicy::RunAllCapped(few(2)));
    let expected =
        ["report 09:01:00 after 1", "report 09:02:00 after 1", "report 09:04:00 after 0"];
    assert_eq!(said(&all.plan("09:04:00")), expected);
}

#[test]
fn missed_slots_of_a_cron_expression_are_counted_up_to_a_bound() {
    let cron = Schedule::cron("*/10 * * * * *", Zone::UTC).unwrap();
    let mut desk = says(cron.clone()).catch_up(CatchUpPolicy::RunOnce);
    assert_eq!(said(&desk.plan("09:02:05")), ["report 09:02:00 after 11"]);
    let mut desk = says(cron).catch_up(CatchUpPolicy::RunOnce);
    assert_eq!(said(&desk.plan("23:00:05")), ["report 23:00:00 after 1000"]);
}

#[test]
fn a_run_by_hand_says_it_too_and_under_its_own_key() {
    let mut desk = says(every_minute());
    desk.pause("09:00:30");
    let first = desk.run_now("09:01:00").unwrap();
    let second = desk.run_now("09:01:00").unwrap();
    assert_eq!(said(&first), ["report 09:01:00 after 0"]);
    let key = |plan: &Plan| plan.messages[0].dedupe_key;
    assert_ne!(key(&first), key(&second));
    let mut on_time = says(every_minute());
    assert_ne!(key(&first), key(&on_time.plan("09:01:00")));
}

#[test]
fn nothing_is_said_in_quiet_hours_or_while_paused() {
    let mut quiet = says(every_minute()).quiet(Mode::Skip, "09:00", "09:30");
    let plan = quiet.plan("09:01:00");
    assert_eq!(
        (plan.messages.len(), rows(&plan)),
        (0, vec!["09:01:00 skipped: quiet_hours".into()])
    );
    let mut paused = says(every_minute());
    paused.pause("09:00:30");
    assert!(paused.plan("09:01:00").messages.is_empty());
}

#[test]
fn a_schedule_that_counts_from_the_end_goes_on_from_what_was_said() {
    let mut desk = says(a_minute_after_each_end());
    assert_eq!(said(&desk.plan("09:01:05")), ["report 09:01:00 after 0"]);
    assert_eq!(desk.next().unwrap(), "09:02:05");
    assert!(desk.job.standing.enabled);
}

#[test]
fn a_job_that_speaks_once_is_over_then() {
    let mut desk = says(once("09:05:00"));
    assert_eq!(said(&desk.plan("09:05:00")), ["report 09:05:00 after 0"]);
    assert!(!desk.job.standing.enabled);
    assert_eq!(desk.plan("09:06:00").messages, []);
}

#[test]
fn a_job_that_becomes_a_message_does_not_wait_for_what_it_did_before() {
    let mut desk = Desk::new(every_minute());
    desk.plan("09:01:00");
    assert_eq!(desk.live.len(), 1);
    let mut desk = desk.with(|spec| spec.target = Template::new(Some("x"), None).unwrap().into());
    assert_eq!(desk.plan("09:02:00").messages.len(), 1);
}

#[test]
fn a_message_is_not_spread_by_jitter() {
    let spec = says(every_minute()).with(|spec| spec.jitter = Duration::from_secs(5)).job.spec;
    let refused = spec.validate().unwrap_err().to_string();
    assert!(refused.starts_with("jitter_seconds is not accepted"), "{refused}");
}
