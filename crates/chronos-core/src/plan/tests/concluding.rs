//! What the end of a run leads to.

use super::*;
use crate::execution::{CancelCause, Failure};

fn transient() -> Ending {
    Ending::Failed(Failure::transient("no answer"))
}

fn begun(max_retry: u32) -> Desk {
    let mut desk = Desk::new(every_minute()).retries(max_retry);
    desk.plan("09:01:00");
    desk.claim("09:01:00");
    desk
}

#[test]
fn each_ending_has_its_state_its_next_attempt_and_its_letter() {
    let table = [
        (Ending::Success, "success", false, false),
        (transient(), "failed", true, false),
        (Ending::Failed(Failure::permanent("refused")), "failed", false, true),
        (Ending::TimedOut, "timed_out", true, false),
        (Ending::Stuck, "stuck", true, false),
        (Ending::Cancelled, "cancelled", false, false),
        (Ending::Skipped("nothing new".into()), "skipped: nothing new", false, false),
        (Ending::Interrupted, "cancelled", true, false),
    ];
    for (ending, state, again, dead_letter) in table {
        let concluded = begun(1).finish(ending.clone(), "09:01:09");
        assert_eq!(row(&concluded.ended), format!("09:01:00 {state}"));
        assert_eq!(concluded.again.is_some(), again, "{ending:?}");
        assert_eq!(concluded.dead_letter, dead_letter, "{ending:?}");
    }
}

#[test]
fn a_retry_waits_its_delay_and_the_last_failure_is_a_dead_letter() {
    let mut desk = begun(1);
    let again = desk.finish(transient(), "09:01:09").again.unwrap();
    let delay = again.run_at.since(at("09:01:09"));
    assert!(delay >= Duration::from_secs(4) && delay <= Duration::from_secs(6), "{delay:?}");
    assert_eq!((again.attempt, again.retry, again.lost), (2, 1, 0));
    desk.claim("09:01:15");
    let concluded = desk.finish(transient(), "09:01:20");
    assert_eq!((concluded.again, concluded.dead_letter), (None, true));
    assert_eq!(desk.job.standing.tally.failed_in_a_row, 2);
    assert_eq!(desk.job.standing.tally.last_error.as_deref(), Some("no answer"));
}

#[test]
fn a_target_may_ask_for_a_longer_delay_up_to_the_ceiling() {
    for (asked, waits) in [(30, 30), (999_999_999, 3_600)] {
        let mut failure = Failure::transient("busy");
        failure.retry_after = Some(Duration::from_secs(asked));
        let again = begun(1).finish(Ending::Failed(failure), "09:01:09").again.unwrap();
        assert_eq!(again.run_at.since(at("09:01:09")), Duration::from_secs(waits));
    }
}

#[test]
fn a_lost_run_comes_again_three_times_without_using_up_retries() {
    let mut desk = begun(0);
    for lost in 1..=3 {
        let again = desk.finish(Ending::Stuck, "09:01:30").again.unwrap();
        assert_eq!((again.lost, again.retry, again.attempt), (lost, 0, lost + 1));
        assert_eq!(again.run_at, at("09:01:30"));
        desk.claim("09:01:30");
    }
    let concluded = desk.finish(Ending::Stuck, "09:01:40");
    assert_eq!((concluded.again, concluded.dead_letter), (None, true));
}

#[test]
fn an_interrupted_run_comes_again_and_uses_up_nothing() {
    let mut desk = begun(0);
    for attempt in 2..10 {
        let concluded = desk.finish(Ending::Interrupted, "09:01:30");
        let cause = match concluded.ended.state {
            State::Cancelled { cause, .. } => Some(cause),
            _ => None,
        };
        assert_eq!(cause, Some(CancelCause::Shutdown));
        let again = concluded.again.unwrap();
        assert_eq!((again.attempt, again.retry, again.lost), (attempt, 0, 0));
        desk.claim("09:01:30");
    }
}

#[test]
fn whoever_was_asked_to_stop_never_comes_again() {
    for ending in [transient(), Ending::TimedOut, Ending::Stuck, Ending::Interrupted] {
        let mut desk = begun(9);
        if let State::Running(running) = &mut desk.live[0].state {
            running.cancel = Some(CancelCause::User);
        }
        let concluded = desk.finish(ending.clone(), "09:01:09");
        assert_eq!(row(&concluded.ended), "09:01:00 cancelled", "{ending:?}");
        assert_eq!((concluded.again, concluded.dead_letter), (None, false));
    }
}

#[test]
fn a_run_that_was_asked_to_stop_and_made_it_is_a_success() {
    let mut desk = begun(9);
    if let State::Running(running) = &mut desk.live[0].state {
        running.cancel = Some(CancelCause::User);
    }
    let concluded = desk.finish(Ending::Success, "09:01:09");
    assert_eq!(row(&concluded.ended), "09:01:00 success");
}

#[test]
fn a_run_of_a_deleted_job_ends_and_leads_to_nothing() {
    let desk = begun(9);
    let alone = Live::default();
    let concluded =
        conclude(None, &desk.live[0], &alone, transient(), Report::at(at("09:01:09"))).unwrap();
    assert_eq!(row(&concluded.ended), "09:01:00 failed");
    assert_eq!((concluded.again, concluded.standing), (None, None));
}

#[test]
fn what_does_not_run_has_no_end() {
    let mut desk = Desk::new(every_minute());
    desk.plan("09:01:00");
    let report = Report::at(at("09:02:00"));
    let ended = conclude(Some(&desk.job), &desk.live[0], &Live::default(), Ending::Success, report);
    assert_eq!(ended, None);
}

#[test]
fn the_run_that_waits_behind_goes_before_a_retry() {
    let mut desk = begun(9).overlap(OverlapPolicy::QUEUE);
    desk.plan("09:02:00");
    let concluded = desk.finish(transient(), "09:02:10");
    assert_eq!(concluded.again, None);
    assert_eq!(desk.alive(), ["09:02:00 queued"]);
}

#[test]
fn a_run_never_ends_before_it_began_even_if_the_clock_steps_back() {
    let concluded = begun(0).finish(Ending::Success, "09:00:00");
    let run = concluded.ended.run().unwrap();
    assert_eq!(run.duration(), Duration::ZERO);
}

#[test]
fn a_run_took_what_was_measured_wherever_the_clock_was_set_to() {
    for clock in ["08:00:00", "09:01:09", "23:00:00"] {
        let desk = begun(0);
        let took = Duration::from_millis(9_250);
        let report = Report { took: Some(took), ..Report::at(at(clock)) };
        let concluded =
            conclude(Some(&desk.job), &desk.live[0], &Live::default(), Ending::Success, report)
                .unwrap();
        assert_eq!(concluded.ended.run().unwrap().duration(), took);
        assert_eq!(concluded.standing.unwrap().tally.last_duration, Some(took));
    }
}

#[test]
fn a_success_ends_a_row_of_failures() {
    let mut desk = begun(1);
    desk.finish(transient(), "09:01:09");
    desk.claim("09:01:20");
    desk.finish(Ending::Success, "09:01:30");
    let tally = &desk.job.standing.tally;
    assert_eq!((tally.succeeded, tally.failed, tally.failed_in_a_row), (1, 1, 0));
    assert_eq!((tally.last_run, &tally.last_error), (Some(at("09:01:20")), &None));
}
