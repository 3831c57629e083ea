use super::*;
use crate::schedule::Zone;

#[test]
fn what_cannot_be_meant_is_refused_with_the_field_and_what_is_accepted() {
    let mut desk = Desk::every(10);
    desk.plan(100);
    let usual = Asked::from(at(0));
    let to = |second| Some(at(second));
    for (asked, says) in [
        (Asked { cap: 0, ..usual }, "cap of the backfill: 0 is not accepted; use 1 to 100000"),
        (Asked { cap: 100_001, ..usual }, "use 1 to 100000"),
        (Asked { rate: Rate { at_once: 0, ..Rate::default() }, ..usual }, "rate.at_once"),
        (Asked { rate: Rate { per_minute: Some(0), ..Rate::default() }, ..usual }, "per_minute"),
        (Asked { from: Timestamp::from_secs(-1), ..usual }, "1970-01-01T00:00:00Z or later"),
        (Asked { to: to(0), ..usual }, "it is not after from"),
        (Asked { from: at(51), to: to(59), ..usual }, "has no slot from"),
        (Asked { from: at(200), ..usual }, "has come no further than"),
        (Asked { to: to(1_000), ..usual }, "is still to come"),
    ] {
        let problem = desk.ask(&asked, 101).unwrap_err();
        assert!(problem.contains(says), "{problem}");
    }
}

#[test]
fn a_slot_that_the_schedule_has_still_to_account_for_is_refused_though_it_is_past() {
    let desk = Desk::every(10);
    let asked = Asked { to: Some(at(21)), ..Asked::from(at(0)) };
    let problem = desk.ask(&asked, 25).unwrap_err();
    assert!(problem.contains("has come, and is still the schedule's"), "{problem}");
    let mut desk = desk;
    desk.plan(25);
    assert_eq!(desk.ask(&asked, 25).unwrap().total, 2);
}

#[test]
fn without_an_end_it_goes_as_far_as_the_schedule_has_come() {
    let mut desk = Desk::every(10);
    desk.plan(35);
    let backfill = desk.ask(&Asked::from(at(0)), 39).unwrap();
    assert_eq!((backfill.total, backfill.beyond_cap), (3, false));
    assert_eq!(backfill.upcoming(9), [at(10), at(20), at(30)]);
}

#[test]
fn jobs_without_a_past_to_tell_are_refused_with_the_reason() {
    let once = Desk::on(Schedule::one_shot(at(10)));
    let problem = once.ask(&Asked::from(at(0)), 100).unwrap_err();
    assert!(problem.contains("runs once"), "{problem}");
    let delay = Schedule::fixed_delay(Duration::from_secs(10), at(0)).unwrap();
    let problem = Desk::on(delay).ask(&Asked::from(at(0)), 100).unwrap_err();
    assert!(problem.contains("fixed_delay"), "{problem}");
}

#[test]
fn a_cron_job_has_slots_from_before_it_was_made() {
    let schedule = Schedule::cron("0 * * * *", Zone::UTC).unwrap();
    let desk = Desk::on(schedule);
    let asked = Asked { to: Some(at(0)), ..Asked::from(at(-86_400)) };
    assert_eq!(desk.ask(&asked, 1).unwrap().total, 24);
}

#[test]
fn the_cap_takes_the_first_in_its_order_and_says_that_there_are_more() {
    let mut desk = Desk::every(10);
    desk.plan(1_000);
    let capped = Asked { cap: 2, to: Some(at(100)), ..Asked::from(at(0)) };
    let oldest = desk.ask(&capped, 1_001).unwrap();
    assert_eq!((oldest.total, oldest.beyond_cap), (2, true));
    assert_eq!(oldest.upcoming(9), [at(10), at(20)]);
    let newest = desk.ask(&Asked { order: Order::NewestFirst, ..capped }, 1_001).unwrap();
    assert_eq!(newest.upcoming(9), [at(90), at(80)]);
}

#[test]
fn a_job_on_another_schedule_by_now_is_refused() {
    let mut desk = Desk::every(10);
    desk.plan(100);
    let backfill = desk.ask(&Asked::from(at(0)), 101).unwrap();
    assert_eq!(backfill.check(&desk.job, at(102)), Ok(()));
    let desk = desk.with(|spec| {
        spec.schedule = Schedule::interval(Duration::from_secs(20), at(0)).unwrap();
    });
    let refused = backfill.check(&desk.job, at(102));
    assert_eq!(refused, Err(Error::ScheduleChanged("report".into())));
}
