//! What an endpoint does not take is tried again, holds back what comes after it, and pauses in the end.

use chronos_core::notice::{Notify, Occasions};
use chronos_core::{Http, Timestamp};
use serde_json::json;

use super::{Reply, Target, make, subscription, subscription_when};
use crate::daemon::house::{House, config};
use crate::rest::events::{run, says};
use crate::rest::text;

#[tokio::test]
async fn what_is_not_taken_is_tried_again_before_anything_after_it() {
    let house = House::open().await;
    let mut refusals = 2;
    let target = Target::answering(move |came| {
        let refused = came.sequence() == 2 && refusals > 0;
        refusals -= usize::from(refused);
        if refused { 503_u16.into() } else { 204_u16.into() }
    })
    .await;
    let made = make(house.address(), "/subscriptions", &subscription(&target)).await;
    let job = house.make(&says("report")).await;
    for _ in 0..4 {
        run(house.address(), text(&job["id"])).await;
    }
    let came = target.until(6).await;
    assert_eq!(target.sequences(), [1, 2, 2, 2, 3, 4]);
    let attempts: Vec<&str> = came.iter().map(|came| came.header("chronos-attempt")).collect();
    assert_eq!(attempts, ["1", "1", "2", "3", "1", "1"]);
    let ids: Vec<&str> = came[1..4].iter().map(|came| text(&came.body["id"])).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let fences: Vec<u64> =
        came.iter().map(|came| came.header("chronos-fence").parse().unwrap()).collect();
    assert!(fences.is_sorted() && fences[1] < fences[3], "{fences:?}");
    let told = subscription_when(house.address(), &made["id"], |it| it["delivered"] == 4).await;
    assert_eq!((&told["status"], &told["last_error"]), (&json!("active"), &json!(null)));
    house.close().await;
}

#[tokio::test]
async fn a_subscription_that_keeps_failing_is_paused_and_that_is_told() {
    let mut config = config();
    let webhook = Target::open().await;
    let notified = Http::new(&webhook.url().replace("/events", "/notices")).unwrap();
    config.scheduler.notify = Some(Notify { webhook: Some(notified), on: Occasions::default() });
    let house = House::with(config).await;
    let target = Target::answering(|_| 500_u16.into()).await;
    let mut asked = subscription(&target);
    asked["max_retry"] = json!(2);
    let made = make(house.address(), "/subscriptions", &asked).await;
    let job = house.make(&says("report")).await;
    for _ in 0..2 {
        run(house.address(), text(&job["id"])).await;
    }
    let is_paused = |it: &serde_json::Value| it["status"] == "paused";
    let told = subscription_when(house.address(), &made["id"], is_paused).await;
    assert_eq!((&told["pause_cause"], &told["cursor"]), (&json!("failure"), &json!(0)));
    assert_eq!(told["last_error"], "answered 500 Internal Server Error");
    assert_eq!(told["consecutive_failures"], 3);
    assert!(told["next_attempt_at"].is_null() && told["failing_since"].is_string(), "{told}");
    assert_eq!(told["lag"]["events"], 2);
    let notice = webhook.until(1).await.remove(0);
    assert_eq!(
        (notice.path.as_str(), &notice.body["kind"]),
        ("/notices", &json!("subscription_paused"))
    );
    assert_eq!(notice.body["subscription"]["id"], made["id"]);
    assert_eq!(notice.body["subscription"]["name"], "pushed");
    assert_eq!(notice.body["error"], told["last_error"]);
    assert_eq!(
        (&notice.body["at"], &notice.body["event_sequence"]),
        (&told["paused_at"], &json!(1))
    );
    assert_eq!(notice.header("idempotency-key"), text(&notice.body["id"]));
    assert_eq!(target.sequences(), [1, 1, 1]);
    target.answer(|_| 200_u16.into());
    let path = format!("/subscriptions/{}/resume", text(&made["id"]));
    house.ask("POST", &path).await.expect(200);
    target.until(5).await;
    assert_eq!(target.sequences(), [1, 1, 1, 1, 2]);
    assert_eq!(webhook.came().len(), 1, "it is told once");
    house.close().await;
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_asked_once() {
    let house = House::open().await;
    let target = Target::answering(|_| 410_u16.into()).await;
    let made = make(house.address(), "/subscriptions", &subscription(&target)).await;
    let job = house.make(&says("report")).await;
    run(house.address(), text(&job["id"])).await;
    let is_paused = |it: &serde_json::Value| it["status"] == "paused";
    let told = subscription_when(house.address(), &made["id"], is_paused).await;
    assert_eq!((&told["last_error"], target.came().len()), (&json!("answered 410 Gone"), 1));
    house.close().await;
}

#[tokio::test]
async fn an_endpoint_may_ask_for_patience_within_bounds() {
    let house = House::open().await;
    for (number, (asks, at_least, at_most)) in
        [("600", 590, 600), ("99999999", 86_390, 86_400)].into_iter().enumerate()
    {
        let reply = Reply { retry_after: Some(asks), ..429_u16.into() };
        let target = Target::answering(move |_| reply.clone()).await;
        let mut asked = subscription(&target);
        asked["name"] = json!(format!("number {number}"));
        let made = make(house.address(), "/subscriptions", &asked).await;
        let job = house.make(&says(&format!("job {number}"))).await;
        let before = now_of(&house);
        run(house.address(), text(&job["id"])).await;
        let is_failing = |it: &serde_json::Value| it["status"] == "failing";
        let told = subscription_when(house.address(), &made["id"], is_failing).await;
        let next = Timestamp::parse(text(&told["next_attempt_at"])).unwrap();
        let wait = next.since(before).as_secs();
        assert!((at_least..=at_most + 20).contains(&wait), "{asks}: {wait}");
        // An edit is tried at once, whatever was asked for before.
        target.answer(|_| 200_u16.into());
        let path = format!("/subscriptions/{}", text(&made["id"]));
        house.patch_at(&path, "", &json!({"max_retry": 3})).await.expect(200);
        target.until(2).await;
        house.ask("DELETE", &path).await;
    }
    house.close().await;
}

fn now_of(house: &House) -> Timestamp {
    house.daemon.scheduler().clock().now()
}
