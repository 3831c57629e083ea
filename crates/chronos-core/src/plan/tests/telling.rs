//! When a notice is owed, about what, and what it leaves alone.

use super::*;
use crate::Http;
use crate::execution::Failure;
use crate::job::Failing;
use crate::notice::{self, Kind, Notice, Notify};

const ALL: Occasions =
    Occasions { failure: true, recovery: true, overdue: Some(Duration::from_mins(5)) };

fn transient() -> Ending {
    Ending::Failed(Failure::transient("no answer"))
}

fn permanent() -> Ending {
    Ending::Failed(Failure::permanent("refused"))
}

fn told(on: Occasions) -> Desk {
    let webhook = Some(Http::new("https://example.com/hook").unwrap());
    Desk::new(every_minute()).with(|spec| spec.notify = Some(Box::new(Notify { webhook, on })))
}

fn kind(telling: Option<&Telling>) -> Option<Kind> {
    telling.map(|telling| telling.notice.notice().unwrap().kind)
}

/// Takes every notice off the desk, as if it had been sent.
fn send(desk: &mut Desk) {
    desk.live.retain(|live| live.notice().is_none());
}

#[test]
fn a_run_that_fails_for_good_and_the_first_success_after_it_are_told() {
    let table: [(Ending, Option<Kind>, Option<u32>); 11] = [
        (Ending::Success, None, None),
        (permanent(), Some(Kind::Failure), Some(1)),
        (permanent(), Some(Kind::Failure), Some(2)),
        (Ending::Cancelled, None, Some(2)),
        (Ending::Skipped("nothing new".into()), None, Some(2)),
        (Ending::Success, Some(Kind::Recovery), None),
        (Ending::Success, None, None),
        (transient(), Some(Kind::Failure), Some(1)),
        (Ending::TimedOut, Some(Kind::Failure), Some(2)),
        (Ending::Success, Some(Kind::Recovery), None),
        (Ending::Interrupted, None, None),
    ];
    let mut desk = told(ALL);
    for (minute, (ending, owed, failures)) in (1..).zip(table) {
        let concluded = desk.run(&format!("09:{minute:02}:00"), ending.clone());
        assert_eq!(kind(concluded.telling.as_ref()), owed, "{ending:?} at {minute}");
        let failing = desk.job.standing.failing;
        assert_eq!(failing.map(|failing| failing.failures), failures, "{ending:?} at {minute}");
        send(&mut desk);
    }
}

#[test]
fn a_run_that_will_be_tried_again_is_not_told_until_its_last_attempt() {
    let mut desk = told(ALL).retries(1);
    assert_eq!(desk.run("09:01:00", transient()).telling, None);
    desk.claim("09:01:10");
    let concluded = desk.finish(transient(), "09:01:20");
    let notice = concluded.telling.unwrap().notice;
    let Notice { at: decided, about, failing, .. } = notice.notice().unwrap().clone();
    assert_eq!((decided, about.attempt, &*about.status), (at("09:01:20"), 2, "FAILED"));
    assert_eq!((about.execution, about.error.as_deref()), (concluded.ended.id, Some("no answer")));
    assert_eq!(failing, Some(Failing { since: at("09:01:20"), failures: 1 }));
    assert_eq!(notice.trace_id(), concluded.ended.trace_id());
}

#[test]
fn a_recovery_tells_since_when_and_how_often_runs_failed() {
    let mut desk = told(ALL);
    for clock in ["09:01:00", "09:02:00"] {
        desk.run(clock, permanent());
        send(&mut desk);
    }
    let recovery = desk.run("09:03:00", Ending::Success).telling.unwrap();
    let failing = recovery.notice.notice().unwrap().failing;
    assert_eq!(failing, Some(Failing { since: at("09:01:00"), failures: 2 }));
}

#[test]
fn who_is_told_is_said_by_the_job_or_else_by_the_scheduler() {
    let only = |failure| Occasions { failure, ..Occasions::NONE };
    let hook = || Some(Http::new("https://example.com/hook").unwrap());
    let own = |webhook, on| Some(Box::new(Notify { webhook, on }));
    for (of_job, usual, owed) in [
        (None, None, false),
        (None, Some(only(true)), true),
        (None, Some(only(false)), false),
        (own(hook(), only(true)), None, true),
        (own(hook(), only(false)), Some(only(true)), false),
        // A job without a webhook of its own is told of where all others are, if they are.
        (own(None, only(true)), None, false),
        (own(None, only(true)), Some(only(false)), true),
        (own(None, Occasions::NONE), Some(only(true)), false),
    ] {
        let mut desk = Desk::new(every_minute()).with(|spec| spec.notify = of_job.clone());
        desk.usual = usual;
        let telling = desk.run("09:01:00", permanent()).telling;
        assert_eq!(telling.is_some(), owed, "{of_job:?} {usual:?}");
    }
}

#[test]
fn a_notice_is_no_run_of_its_job() {
    let mut desk = told(ALL);
    desk.run("09:01:00", permanent());
    let before = desk.job.clone();
    assert_eq!(desk.alive(), ["09:01:00 notice of failure queued"]);
    assert_eq!(crate::job::Status::of(&desk.job, &desk.live), crate::job::Status::Pending);
    desk.claim("09:01:01");
    let sent = desk.finish(Ending::Success, "09:01:02");
    assert_eq!((sent.telling, sent.dead_letter), (None, false));
    assert_eq!(desk.job, before, "not even its tally moved");
}

#[test]
fn a_run_waits_for_no_notice_and_takes_none_back() {
    for overlap in [OverlapPolicy::Skip, OverlapPolicy::Queue(few(1)), OverlapPolicy::Replace] {
        let mut desk = told(ALL).overlap(overlap);
        desk.run("09:01:00", permanent());
        desk.claim("09:01:01");
        let plan = desk.plan("09:02:00");
        assert_eq!(plan.withdrawals, []);
        assert_eq!(plan.executions.iter().map(row).collect::<Vec<_>>(), ["09:02:00 queued"]);
        desk.pause("09:02:01");
        desk.change(Change::Disable, "09:02:02").unwrap();
        let notice = desk.live.iter().find(|live| live.notice().is_some()).unwrap();
        assert!(
            notice.running().unwrap().cancel.is_none(),
            "what has happened is told all the same"
        );
    }
}

#[test]
fn a_notice_is_tried_again_and_its_last_failure_leads_to_nothing() {
    let mut desk = told(ALL);
    desk.run("09:01:00", permanent());
    let mut clock = at("09:01:00");
    for attempt in 1.. {
        let lease =
            Lease { worker: WorkerId::new("w"), token: Token(1), expires_at: Timestamp::MAX };
        desk.live[0].state = State::Running(Running::begin(lease, clock));
        let report = Report::at(clock);
        let notice = desk.live.remove(0);
        let ended = conclude(Some(&desk.job), &notice, &Live::default(), transient(), report);
        let ended = ended.unwrap();
        assert_eq!((ended.telling, ended.dead_letter), (None, false));
        let Some(again) = ended.again else {
            assert_eq!(attempt, notice::RETRY.max_retry + 1);
            break;
        };
        assert!(again.notice().is_some() && again.attempt == attempt + 1);
        clock = again.run_at;
        desk.live.push(again);
    }
}

#[test]
fn a_webhook_that_is_out_of_order_gathers_one_notice_of_each_kind() {
    let mut desk = told(ALL);
    for minute in 1..30 {
        desk.run(&format!("09:{minute:02}:00"), permanent());
        // The notice is sent at once, and not taken.
        desk.live.sort_by_key(|live| live.retry);
        desk.claim(&format!("09:{minute:02}:01"));
        desk.finish(transient(), &format!("09:{minute:02}:02"));
        assert_eq!(desk.live.len(), 1, "{:?}", desk.alive());
    }
    let failing = desk.live[0].notice().unwrap().failing.unwrap();
    assert_eq!(failing.failures, 29, "the newest tells what the others would");
}

fn overdue_at(desk: &Desk, clock: &str) -> Option<Overdue> {
    desk.act(|job, live| overdue(job, &desk.live[0], live, at(clock)))
}

#[test]
fn a_run_that_has_not_begun_in_time_is_told_once() {
    let mut desk = told(ALL);
    desk.plan("09:01:00");
    assert_eq!(overdue_at(&desk, "09:05:59"), None);
    let told = overdue_at(&desk, "09:06:00").unwrap();
    let notice = told.telling.unwrap().notice;
    let about = notice.notice().unwrap().about.clone();
    assert_eq!((about.execution, &*about.status), (desk.live[0].id, "QUEUED"));
    desk.live[0] = told.execution;
    assert_eq!(overdue_at(&desk, "09:30:00"), None, "once");
}

#[test]
fn a_run_that_began_or_is_tried_again_is_not_overdue() {
    let mut desk = told(ALL).retries(3);
    desk.plan("09:01:00");
    desk.claim("09:05:00");
    assert_eq!(overdue_at(&desk, "09:30:00"), None, "it runs");
    desk.finish(transient(), "09:30:00");
    assert_eq!(overdue_at(&desk, "10:30:00"), None, "it began, and waits to be tried again");
}

#[test]
fn jitter_and_quiet_hours_are_no_delay_but_an_intent() {
    let mut desk = told(ALL).with(|spec| spec.jitter = Duration::from_secs(59));
    desk.plan("09:01:00");
    let begins = desk.live[0].run_at;
    assert!(begins > at("09:01:00"));
    assert_eq!(desk.live[0].overdue_at, Some(begins.after(Duration::from_mins(5))));
    let mut desk = told(ALL).quiet(Mode::Defer, "09:01", "09:31");
    desk.plan("09:01:00");
    let plan = desk.plan("09:31:00");
    assert!(plan.executions.iter().all(|row| row.notice().is_none()), "{plan:?}");
    assert_eq!(desk.live[0].overdue_at, Some(at("09:36:00")));
}

#[test]
fn a_run_that_a_person_keeps_waiting_is_not_overdue() {
    let mut desk = told(ALL).with(|spec| spec.schedule = once("09:01:00"));
    desk.job.standing.next_slot = Some(at("09:01:00"));
    desk.plan("09:01:00");
    desk.pause("09:02:00");
    let looked = overdue_at(&desk, "09:06:00").unwrap();
    assert_eq!((looked.telling, looked.execution.overdue_at), (None, Some(at("09:11:00"))));
    desk.live[0] = looked.execution;
    desk.resume("09:07:00");
    assert!(overdue_at(&desk, "09:11:00").unwrap().telling.is_some());
}

#[test]
fn slots_that_nobody_fired_in_time_are_told_together_about_the_newest() {
    for (catch_up, about) in [
        (CatchUpPolicy::Skip, "09:25:00 skipped: missed"),
        (CatchUpPolicy::RunOnce, "09:30:00 queued"),
        (CatchUpPolicy::RunAllCapped(few(2)), "09:25:00 skipped: missed"),
    ] {
        let mut desk = told(ALL).catch_up(catch_up);
        let plan = desk.plan("09:30:00");
        let notices: Vec<_> = plan.executions.iter().filter_map(Execution::notice).collect();
        assert_eq!(notices.len(), 1, "{catch_up:?}");
        let told = notices[0].about.execution;
        let told = plan.executions.iter().find(|row| row.id == told).unwrap();
        assert_eq!((row(told).as_str(), told.overdue_at), (about, None));
    }
    // Two minutes are missed, which is no five.
    let plan = told(ALL).plan("09:03:00");
    assert!(plan.executions.iter().all(|row| row.notice().is_none()));
}

#[test]
fn a_wait_without_end_or_beginning_is_refused() {
    for (after, refused) in [(0, true), (1, false), (366 * 86_400, false), (366 * 86_401, true)] {
        let on = Occasions { overdue: Some(Duration::from_secs(after)), ..ALL };
        let spec = told(on).job.spec;
        assert_eq!(spec.validate().is_err(), refused, "{after}");
    }
    let stray = Occasions::of(&[Kind::Failure], Some(Duration::from_secs(9))).unwrap_err();
    assert!(stray.to_string().starts_with("notify.overdue_after is not accepted"), "{stray}");
    assert_eq!(Occasions::of(&Kind::ALL, None), Ok(ALL));
}
