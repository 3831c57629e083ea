//! Runs that wait with the crowd.

use super::*;
use crate::policy::{Priority, Rank};

fn anns() -> Desk {
    let desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent);
    desk.with(|spec| spec.owner = "ann".into())
}

/// Whether each run that is alive is of the crowd.
fn ranks(desk: &Desk) -> Vec<bool> {
    desk.live.iter().map(|run| run.rank.is_crowd()).collect()
}

#[test]
fn a_jobs_first_runs_go_before_the_crowd_and_the_others_join_it() {
    let mut desk = anns();
    for _ in 0..6 {
        desk.run_now("09:00:30").unwrap();
    }
    assert_eq!(ranks(&desk), [false, false, false, false, true, true]);
}

#[test]
fn a_run_does_not_pass_one_of_its_job_that_waits_with_the_crowd() {
    let mut desk = anns();
    for _ in 0..5 {
        desk.run_now("09:00:30").unwrap();
    }
    desk.live.drain(..4);
    desk.run_now("09:00:31").unwrap();
    assert_eq!(ranks(&desk), [true, true]);
    desk.live.clear();
    desk.run_now("09:00:32").unwrap();
    assert_eq!(ranks(&desk), [false]);
}

#[test]
fn every_run_of_a_job_in_the_crowd_is_of_it() {
    let desk = anns();
    let live = Live { crowd: true, ..Live::default() };
    let plan = run_now(&desk.job, &live, None, at("09:00:30")).unwrap();
    assert!(plan.executions[0].rank.is_crowd());
}

#[test]
fn runs_that_belong_to_nobody_are_no_crowd() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent);
    for _ in 0..9 {
        desk.run_now("09:00:30").unwrap();
    }
    assert_eq!(ranks(&desk), [false; 9]);
}

#[test]
fn what_is_tried_again_of_the_crowd_stays_with_it() {
    let desk = anns();
    let live = Live { crowd: true, ..Live::default() };
    let plan = run_now(&desk.job, &live, None, at("09:00:30")).unwrap();
    let run = &plan.executions[0];
    assert!(run.again(at("09:00:40")).rank.is_crowd());
    let again = redrive(&desk.job, &live, run, at("09:00:50"));
    assert!(again.executions[0].rank.is_crowd());
}

#[test]
fn what_is_told_of_the_crowd_stays_with_it() {
    for crowd in [false, true] {
        let mut desk = anns();
        desk.usual = Some(Occasions { failure: true, recovery: true, overdue: None });
        desk.run_now("09:00:30").unwrap();
        desk.live[0].rank = Rank::new(Priority::default(), crowd);
        desk.claim("09:00:30");
        let failed = Ending::Failed(crate::execution::Failure::permanent("refused"));
        let told = desk.finish(failed, "09:00:31").telling.unwrap();
        assert_eq!(told.notice.rank, Rank::new(Priority::HIGHEST, crowd));
    }
}
