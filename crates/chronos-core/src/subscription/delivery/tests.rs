//! What reports make of a subscription.

use super::*;
use crate::Http;
use crate::policy::retry;

fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(second)
}

fn terms(second: i64) -> Terms {
    Terms { now: at(second), lease: Duration::from_secs(30) }
}

fn subscription() -> Subscription {
    let id = SubscriptionId::from_bytes([7; 16]);
    let endpoint = Http::new("https://example.com/events").unwrap();
    let new = Subscription::new(id, "billing", endpoint, 40, at(0));
    let retry = retry::Policy { max_retry: 2, ..retry::Policy::NONE };
    Subscription { retry, ..new }
}

fn claimed(second: i64) -> Subscription {
    subscription().claimed(&WorkerId::new("one"), terms(second)).unwrap()
}

fn refused(event: u64) -> Report {
    let failure = Failure::transient("answered 503 Service Unavailable");
    Report::Refused { event, failure, gone: false, tell: true }
}

#[test]
fn one_worker_at_a_time_has_it_and_its_token_grows() {
    let one = claimed(10);
    assert_eq!(one.delivery.token, Token(1));
    let other = WorkerId::new("other");
    assert_eq!(one.claimed(&other, terms(39)), None, "the lease holds");
    let taken = one.claimed(&other, terms(40)).unwrap();
    assert_eq!(taken.delivery.token, Token(2));
    assert!(taken.is_held_by(taken.hold()) && !taken.is_held_by(one.hold()));
    let longer = one.renewed(terms(30));
    assert_eq!(longer.claimed(&other, terms(59)), None, "it was extended");
}

#[test]
fn the_cursor_passes_what_was_taken_and_never_goes_back() {
    let taken = claimed(10).reported(Report::Taken(42), terms(11));
    assert_eq!((taken.delivery.cursor, taken.delivery.delivered), (42, 1));
    assert_eq!(taken.delivery.delivered_at, Some(at(11)));
    let passed = taken.reported(Report::Passed(50), terms(12));
    assert_eq!((passed.delivery.cursor, passed.delivery.delivered), (50, 1));
    assert_eq!(passed.reported(Report::Passed(45), terms(13)).delivery.cursor, 50);
    let refused = passed.reported(refused(51), terms(13));
    assert_eq!(refused.delivery.cursor, 50, "what was not taken is not passed");
}

#[test]
fn what_is_not_taken_is_tried_again_and_then_the_subscription_is_paused() {
    let mut failing = claimed(0).reported(refused(41), terms(0));
    let mut waits = Vec::new();
    while let State::Failing(state) = &failing.delivery.state {
        assert_eq!(failing.delivery.lease, None, "the next attempt may be another's");
        assert_eq!((state.since, state.event), (at(0), 41));
        let next = state.next_attempt;
        assert_eq!(failing.delivery.free_at(), Some(next));
        waits.push(next.since(at(0)));
        let terms = Terms { now: next, ..terms(0) };
        let again = failing.claimed(&WorkerId::new("one"), terms).unwrap();
        failing = again.reported(refused(41), terms);
    }
    assert_eq!(waits.len(), 2, "one more than is tried again");
    let State::Paused { cause: Cause::Failure { failing: last, notice }, .. } =
        &failing.delivery.state
    else {
        panic!("{failing:?}");
    };
    assert_eq!(last.failures, 3);
    assert!(notice.is_some(), "that is told");
    let told = failing.reported(Report::Told(Ok(())), terms(100));
    assert_eq!(told.delivery.free_at(), None, "and then there is nothing to do");
    let resumed = told.switched(Switch::Resume, at(101));
    assert_eq!((resumed.delivery.cursor, &resumed.delivery.state), (40, &State::Active));
}

#[test]
fn a_notice_that_is_not_taken_is_given_up_in_the_end() {
    let paused = Subscription { retry: retry::Policy::NONE, ..claimed(0) };
    let mut paused = paused.reported(refused(41), terms(0));
    let mut tries = 0;
    while let Some(next) = paused.delivery.free_at() {
        let terms = Terms { now: next, ..terms(0) };
        paused = paused.claimed(&WorkerId::new("one"), terms).unwrap();
        paused = paused.reported(Report::Told(Err(Failure::transient("no"))), terms);
        tries += 1;
    }
    assert_eq!(tries, notice::RETRY.max_retry + 1);
}

#[test]
fn an_endpoint_may_ask_for_patience_within_bounds_and_may_be_gone() {
    let asks = |wait| {
        let failure = Failure { retry_after: Some(wait), ..Failure::transient("later") };
        let report = Report::Refused { event: 41, failure, gone: false, tell: false };
        claimed(0).reported(report, terms(0)).delivery.failing().unwrap().next_attempt
    };
    assert_eq!(asks(Duration::from_mins(10)), at(600));
    assert_eq!(asks(Duration::from_hours(1_000)), at(24 * 3_600));
    assert!(asks(Duration::from_millis(1)) >= at(4), "never sooner than it would be anyway");
    let failure = Failure::permanent("answered 410 Gone");
    let report = Report::Refused { event: 41, failure, gone: true, tell: false };
    let paused = claimed(0).reported(report, terms(0));
    assert!(matches!(paused.delivery.state, State::Paused { .. }));
    assert_eq!(paused.delivery.free_at(), None, "nobody is to be told");
}

#[test]
fn another_event_that_fails_begins_anew() {
    let first = claimed(0).reported(refused(41), terms(0));
    let again = first.claimed(&WorkerId::new("one"), terms(60)).unwrap();
    let after = again.reported(Report::Taken(41), terms(61));
    assert_eq!(after.delivery.state, State::Active);
    let second = after.reported(refused(42), terms(62));
    assert_eq!(second.delivery.failing().unwrap().failures, 1);
}

#[test]
fn what_a_person_paused_stays_paused_whatever_comes_of_what_is_under_way() {
    let paused = claimed(0).switched(Switch::Pause, at(1));
    assert_eq!(paused.delivery.free_at(), None);
    let taken = paused.reported(Report::Taken(41), terms(2));
    assert_eq!(taken.delivery.cursor, 41, "what was taken is not sent again");
    for report in [Report::Taken(41), refused(41), Report::Released] {
        let after = paused.reported(report, terms(2));
        let cause = Cause::Person;
        assert_eq!(after.delivery.state, State::Paused { since: at(1), cause });
    }
    assert_eq!(paused.switched(Switch::Pause, at(9)), paused);
}

#[test]
fn an_edit_keeps_how_far_it_has_come_and_is_tried_at_once() {
    let failing = claimed(0).reported(refused(41), terms(0));
    let edit = Subscription { name: "other".into(), owner: "mallory".into(), ..subscription() };
    let edited = failing.edited(edit, at(1));
    assert_eq!((&*edited.name, &*edited.owner, edited.version), ("other", "", 2));
    assert_eq!(edited.delivery.free_at(), Some(at(1)));
    assert_eq!(edited.delivery.failing().unwrap().failures, 1);
}
