//! Runs that someone asks for.

use super::*;

#[test]
fn a_manual_run_ignores_pause_jitter_and_schedule_and_keeps_the_cadence() {
    let mut desk = Desk::new(every_minute()).with(|spec| spec.jitter = Duration::from_mins(1));
    desk.pause("09:00:10");
    let plan = desk.run_now("09:00:30").unwrap();
    assert_eq!(rows(&plan), ["09:00:30 by hand queued"]);
    assert_eq!(plan.executions[0].run_at, at("09:00:30"));
    assert_eq!(desk.next().unwrap(), "09:01:00");
    assert_eq!(desk.job.standing.tally.fired, 0);
}

#[test]
fn two_manual_runs_at_one_instant_stay_two() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent);
    let first = desk.run_now("09:00:30").unwrap();
    let second = desk.run_now("09:00:30").unwrap();
    assert_ne!(first.executions[0].id, second.executions[0].id);
}

#[test]
fn a_manual_run_respects_the_overlap_policy() {
    let table: [(OverlapPolicy, &[&str]); 4] = [
        (OverlapPolicy::Skip, &["09:01:00 running"]),
        (OverlapPolicy::Concurrent, &["09:01:00 running", "09:01:30 by hand queued"]),
        (OverlapPolicy::QUEUE, &["09:01:00 running", "09:01:30 by hand held"]),
        (OverlapPolicy::Replace, &["09:01:00 stopping", "09:01:30 by hand held"]),
    ];
    for (policy, alive) in table {
        let mut desk = Desk::new(every_minute()).overlap(policy);
        desk.plan("09:01:00");
        desk.claim("09:01:00");
        let admitted = desk.run_now("09:01:30").is_some();
        assert_eq!(desk.alive(), alive, "{policy:?}");
        assert_eq!(admitted, policy != OverlapPolicy::Skip);
        assert_eq!(desk.job.standing.tally.manual, u64::from(admitted));
    }
}

#[test]
fn a_manual_run_takes_the_place_of_a_waiting_retry() {
    let mut desk = Desk::new(every_minute()).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    desk.run_now("09:01:01").unwrap();
    assert_eq!(desk.alive(), ["09:01:01 by hand queued"]);
}

#[test]
fn a_manual_run_passes_by_what_a_pause_keeps_waiting() {
    let mut desk = Desk::new(once("09:01:00")).with(|spec| spec.jitter = Duration::from_hours(1));
    desk.plan("09:01:00");
    desk.pause("09:01:01");
    assert!(desk.run_now("09:02:00").is_some());
    assert_eq!(desk.alive(), ["09:01:00 held", "09:02:00 by hand queued"]);
    desk.resume("09:03:00");
    assert_eq!(desk.alive(), ["09:01:00 held", "09:02:00 by hand queued"]);
    desk.claim("09:03:00");
    desk.finish(Ending::Success, "09:03:10");
    assert_eq!(desk.alive(), ["09:01:00 queued"]);
}
