//! Who delivers, and what its reports lead to.

use chronos_core::WorkerId;
use chronos_core::execution::{Failure, Token};
use chronos_core::subscription::{Error, Report, State, Subscription, Switch};
use futures::future::join_all;

use super::{Rack, id, new, terms};
use crate::bench::at;

fn refused(event: u64) -> Report {
    let failure = Failure::transient("answered 503 Service Unavailable");
    Report::Refused { event, failure, gone: false, tell: true }
}

pub(crate) async fn one_worker_at_a_time_holds_a_subscription(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    let lease = held.delivery.lease.as_ref().unwrap();
    assert_eq!((lease.worker.as_str(), lease.until), ("one", at(40)));
    rack.reopen().await;
    assert_eq!(rack.subscription(held.id).await.unwrap(), held);
    assert_eq!(rack.claim("other", 39).await, [], "the lease holds over a restart of the store");
    let taken = rack.claim_one("other", 40).await;
    assert_eq!((held.delivery.token, taken.delivery.token), (Token(1), Token(2)));
    rack.report(&taken, Report::Released, 41).await;
    let again = rack.claim_one("one", 41).await;
    assert_eq!(again.delivery.token, Token(3), "tokens only grow");
}

pub(crate) async fn an_old_token_is_powerless(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let old = rack.claim_one("one", 10).await;
    let new = rack.claim_one("other", 40).await;
    let lost = Err(Error::LeaseLost(old.id));
    for report in [Report::Taken(50), Report::Passed(50), refused(41), Report::Released] {
        let late = rack.report_delivery(old.hold(), report, terms(41)).await;
        assert_eq!(late, lost);
    }
    assert_eq!(rack.renew_subscriptions(&[old.hold()], terms(41)).await.unwrap(), [None]);
    assert_eq!(rack.subscription(new.id).await.unwrap(), new, "nothing of it was kept");
    rack.report(&new, Report::Released, 42).await;
    let late = rack.report_delivery(new.hold(), Report::Taken(50), terms(43)).await;
    assert_eq!(late, lost, "what was given back is nobody's");
}

pub(crate) async fn the_cursor_outlives_whoever_moved_it(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    rack.report(&held, Report::Taken(41), 11).await;
    rack.report(&held, Report::Taken(43), 12).await;
    rack.reopen().await;
    let found = rack.subscription(held.id).await.unwrap().delivery;
    assert_eq!((found.cursor, found.delivered, found.delivered_at), (43, 2, Some(at(12))));
    let taken = rack.claim_one("other", 42).await;
    assert_eq!(taken.delivery.cursor, 43);
    assert_eq!(rack.report(&taken, Report::Passed(900), 43).await.delivery.cursor, 900);
}

pub(crate) async fn renewals_are_answered_one_by_one_in_order(rack: &mut Rack) {
    for number in 1..=3 {
        rack.put(number, "ada").await;
    }
    let held = rack.claim("one", 10).await;
    assert_eq!(held.len(), 3);
    rack.delete_subscription(id(2)).await.unwrap();
    let holds: Vec<_> = held.iter().rev().map(Subscription::hold).collect();
    let answers = rack.renew_subscriptions(&holds, terms(30)).await.unwrap();
    let ids: Vec<_> = answers.iter().map(|answer| answer.as_ref().map(|it| it.id)).collect();
    assert_eq!(ids, [Some(id(3)), None, Some(id(1))]);
    assert_eq!(rack.claim("other", 59).await, [], "they hold for longer");
    assert_eq!(rack.claim("other", 60).await.len(), 2);
    assert_eq!(rack.renew_subscriptions(&[], terms(60)).await.unwrap(), []);
}

pub(crate) async fn what_failed_is_offered_when_its_time_has_come(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    let failed = rack.report(&held, refused(41), 11).await;
    let failing = failed.delivery.failing().unwrap().clone();
    assert_eq!((failing.failures, failed.delivery.cursor), (1, 40));
    rack.reopen().await;
    assert_eq!(rack.subscription(held.id).await.unwrap(), failed);
    assert_eq!(rack.claim("one", 12).await, []);
    let second = failing.next_attempt.as_secs() - at(0).as_secs() + 1;
    let again = rack.claim_one("other", second).await;
    let taken = rack.report(&again, Report::Taken(41), second).await;
    assert_eq!(taken.delivery.state, State::Active);
}

pub(crate) async fn what_is_paused_is_offered_to_nobody(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    let paused = rack.switch_subscription(held.id, Switch::Pause, at(11)).await.unwrap();
    assert!(matches!(paused.delivery.state, State::Paused { .. }));
    let taken = rack.report(&held, Report::Taken(41), 12).await;
    assert!(matches!(taken.delivery.state, State::Paused { .. }), "it stays so");
    assert_eq!(taken.delivery.cursor, 41, "and what was taken is not sent again");
    rack.report(&held, Report::Released, 13).await;
    rack.reopen().await;
    assert_eq!(rack.claim("one", 1_000).await, []);
    rack.switch_subscription(held.id, Switch::Resume, at(1_000)).await.unwrap();
    assert_eq!(rack.claim_one("one", 1_000).await.delivery.cursor, 41);
}

pub(crate) async fn a_pause_that_is_to_be_told_is_offered(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    let failure = Failure::permanent("answered 410 Gone");
    let report = Report::Refused { event: 41, failure, gone: true, tell: true };
    rack.report(&held, report, 11).await;
    rack.reopen().await;
    let told = rack.claim_one("other", 11).await;
    rack.report(&told, Report::Told(Ok(())), 12).await;
    assert_eq!(rack.claim("other", 1_000).await, []);
}

pub(crate) async fn an_edit_reaches_whoever_delivers(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    let edit = Subscription { name: "other".into(), ..new(1, "ada") };
    rack.edit_subscription(edit, None, at(11)).await.unwrap();
    let reported = rack.report(&held, Report::Taken(41), 12).await;
    assert_eq!((&*reported.name, reported.version), ("other", 2));
    let renewed = rack.renew_subscriptions(&[held.hold()], terms(13)).await.unwrap();
    assert_eq!(renewed[0].as_ref().unwrap().version, 2);
}

pub(crate) async fn what_is_deleted_is_held_by_nobody(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let held = rack.claim_one("one", 10).await;
    rack.delete_subscription(held.id).await.unwrap();
    assert_eq!(rack.renew_subscriptions(&[held.hold()], terms(11)).await.unwrap(), [None]);
    let late = rack.report_delivery(held.hold(), Report::Taken(41), terms(12)).await;
    assert_eq!(late, Err(Error::LeaseLost(held.id)));
    rack.reopen().await;
    assert_eq!(rack.subscription(held.id).await, Err(Error::NoSuchSubscription(held.id)));
    assert_eq!(rack.claim("one", 1_000).await, []);
}

pub(crate) async fn claims_keep_to_their_limit_and_none_is_given_twice(rack: &mut Rack) {
    for number in 1..=20 {
        rack.put(number, "ada").await;
    }
    let workers: Vec<_> = (0..8).map(|number| WorkerId::new(&format!("worker {number}"))).collect();
    let claims = workers.iter().map(|worker| rack.claim_subscriptions(worker, terms(10), 3));
    let mut claimed = Vec::new();
    for answer in join_all(claims).await {
        let answer = answer.unwrap();
        assert!(answer.len() <= 3);
        claimed.extend(answer.into_iter().map(|it| it.id));
    }
    claimed.extend(rack.claim("last", 10).await.into_iter().map(|it| it.id));
    claimed.extend(rack.claim("last", 10).await.into_iter().map(|it| it.id));
    claimed.sort_unstable();
    assert_eq!(claimed, (1..=20).map(id).collect::<Vec<_>>());
}
