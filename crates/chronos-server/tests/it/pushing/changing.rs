//! What is changed while events are sent: secrets, places, filters, pauses and the end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use super::{OTHER_SIGNING, Reply, SIGNING, Target, make, subscription, subscription_when};
use crate::daemon::house::House;
use crate::rest::events::{run, says};
use crate::rest::text;

#[tokio::test]
async fn a_secret_is_changed_without_a_gap() {
    let (house, target) = (House::open().await, Target::open().await);
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    let made = make(house.address(), "/subscriptions", &asked).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let job = house.make(&says("report")).await;
    let both = format!("{OTHER_SIGNING} {SIGNING}");
    let mut number = 0;
    for (secret, is_old, is_new) in [
        (None, true, false),
        (Some("********"), true, false),
        (Some(&*both), true, true),
        (Some(OTHER_SIGNING), false, true),
    ] {
        if let Some(secret) = secret {
            let change = json!({"signing_secret": secret});
            let told = house.patch_at(&path, "", &change).await.expect(200);
            assert_eq!(told["signing_secret"], "********");
        }
        run(house.address(), text(&job["id"])).await;
        number += 1;
        let came = target.until(number).await;
        let last = came.last().unwrap();
        assert_eq!(last.is_signed_with(SIGNING), is_old, "{secret:?}");
        assert_eq!(last.is_signed_with(OTHER_SIGNING), is_new, "{secret:?}");
    }
    let unsigned = house.patch_at(&path, "", &json!({"signing_secret": null})).await.expect(200);
    assert_eq!(unsigned.get("signing_secret"), None);
    run(house.address(), text(&job["id"])).await;
    let came = target.until(5).await;
    assert!(!came[4].headers.contains_key("webhook-signature"));
    house.close().await;
}

#[tokio::test]
async fn events_that_go_elsewhere_go_without_the_secrets() {
    let (house, target, elsewhere) =
        (House::open().await, Target::open().await, Target::open().await);
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    asked["headers"] = json!({"Authorization": {"secret": "hunter2"}, "X-Team": "blue"});
    let made = make(house.address(), "/subscriptions", &asked).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let moved = json!({"url": elsewhere.url()});
    let told = house.patch_at(&path, "", &moved).await.expect(200);
    assert_eq!(told["dropped_secrets"], json!(["Authorization", "signing_secret"]));
    assert_eq!(told["headers"], json!({"X-Team": "blue"}));
    let job = house.make(&says("report")).await;
    run(house.address(), text(&job["id"])).await;
    let came = elsewhere.until(1).await;
    assert!(!came[0].headers.contains_key("authorization"), "{came:?}");
    assert_eq!(target.came().len(), 0);
    house.close().await;
}

#[tokio::test]
async fn a_pause_holds_events_back_and_loses_none() {
    let (house, target) = (House::open().await, Target::open().await);
    let made = make(house.address(), "/subscriptions", &subscription(&target)).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let job = house.make(&says("report")).await;
    run(house.address(), text(&job["id"])).await;
    target.until(1).await;
    let paused = house.ask("POST", &format!("{path}/pause")).await.expect(200);
    assert_eq!((&paused["status"], &paused["pause_cause"]), (&json!("paused"), &json!("person")));
    for _ in 0..3 {
        run(house.address(), text(&job["id"])).await;
    }
    // Another one has heard them all by the time it hears the last.
    let other = Target::open().await;
    let mut asked = subscription(&other);
    (asked["name"], asked["after"]) = (json!("other"), json!(0));
    make(house.address(), "/subscriptions", &asked).await;
    other.until(4).await;
    let told = house.get(&path).await.expect(200);
    assert_eq!((&told["lag"]["events"], &told["delivered"]), (&json!(3), &json!(1)));
    assert_eq!(target.sequences(), [1]);
    let resumed = house.ask("POST", &format!("{path}/resume")).await.expect(200);
    assert_eq!(resumed["status"], "active");
    target.until(4).await;
    assert_eq!(target.sequences(), [1, 2, 3, 4]);
    house.close().await;
}

#[tokio::test]
async fn what_is_deleted_while_it_delivers_sends_nothing_after_that() {
    let let_go = Arc::new(Notify::new());
    let held = let_go.clone();
    let house = House::open().await;
    let target =
        Target::answering(move |_| Reply { held: Some(held.clone()), ..200_u16.into() }).await;
    let made = make(house.address(), "/subscriptions", &subscription(&target)).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let job = house.make(&says("report")).await;
    for _ in 0..3 {
        run(house.address(), text(&job["id"])).await;
    }
    target.until(1).await;
    assert_eq!(house.ask("DELETE", &path).await.status, 204);
    house.get(&path).await.refused(404);
    target.answer(|_| 200_u16.into());
    let_go.notify_one();
    // Whoever came later has heard everything by now.
    let other = Target::open().await;
    let mut asked = subscription(&other);
    asked["after"] = json!(0);
    make(house.address(), "/subscriptions", &asked).await;
    other.until(3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(target.sequences(), [1]);
    house.close().await;
}

#[tokio::test]
async fn an_edit_holds_for_what_has_not_been_sent() {
    let let_go = Arc::new(Notify::new());
    let held = let_go.clone();
    let house = House::open().await;
    let target =
        Target::answering(move |_| Reply { held: Some(held.clone()), ..200_u16.into() }).await;
    let elsewhere = Target::open().await;
    let made = make(house.address(), "/subscriptions", &subscription(&target)).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let mut jobs = Vec::new();
    for name in ["one", "two", "three"] {
        let job = house.make(&says(name)).await;
        run(house.address(), text(&job["id"])).await;
        jobs.push(job["id"].clone());
    }
    target.until(1).await;
    let edit = json!({"url": elsewhere.url(), "filter": {"jobs": [jobs[2]]}});
    let edited = house.patch_at(&path, "If-Match: \"1\"\r\n", &edit).await.expect(200);
    assert_eq!(edited["version"], 2);
    let_go.notify_one();
    elsewhere.until(1).await;
    assert_eq!((target.sequences(), elsewhere.sequences()), (vec![1], vec![3]));
    // A filter that hears more hears what comes after what was looked at, also while nothing happens.
    house.patch_at(&path, "", &json!({"filter": {"jobs": [jobs[1]]}})).await.expect(200);
    run(house.address(), text(&jobs[1])).await;
    elsewhere.until(2).await;
    assert_eq!(elsewhere.sequences(), [3, 4]);
    let told = subscription_when(house.address(), &made["id"], |it| it["delivered"] == 3).await;
    assert_eq!(told["cursor"], 4);
    house.close().await;
}
