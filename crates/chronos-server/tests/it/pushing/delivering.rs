//! What arrives: every event that is heard, signed and in its envelope, in order.

use serde_json::{Value, json};

use super::{SIGNING, Target, make, subscription, subscription_when};
use crate::daemon::house::House;
use crate::rest::events::{run, says};
use crate::rest::text;

#[tokio::test]
async fn events_arrive_in_order_as_signed_cloud_events() {
    let (house, target) = (House::open().await, Target::open().await);
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    asked["headers"] = json!({"Authorization": {"secret": "Bearer hunter2"}, "X-Team": "blue"});
    let made = make(house.address(), "/subscriptions", &asked).await;
    let job = house.make(&says("report")).await;
    for _ in 0..5 {
        run(house.address(), text(&job["id"])).await;
    }
    let came = target.until(5).await;
    let told = house.get("/events").await.expect(200);
    for (came, event) in came.iter().zip(told["items"].as_array().unwrap()) {
        assert_eq!(came.header("content-type"), "application/cloudevents+json");
        let id = text(&event["event_id"]);
        let mut envelope = came.body.clone();
        assert_eq!(envelope["data"].take(), *event, "the event as it is pulled");
        let expected = json!({
            "specversion": "1.0", "id": id, "source": format!("/jobs/{}", text(&job["id"])),
            "type": "chronos.message", "subject": "report", "time": event["occurred_at"],
            "datacontenttype": "application/json", "data": null,
        });
        assert_eq!(envelope, expected);
        assert_eq!((came.header("idempotency-key"), came.header("webhook-id")), (id, id));
        assert!(came.is_signed_with(SIGNING), "{came:?}");
        assert_eq!(came.header("authorization"), "Bearer hunter2");
        assert_eq!(came.header("x-team"), "blue");
        assert_eq!(came.header("chronos-attempt"), "1");
        assert_eq!(came.header("chronos-subscription"), text(&made["id"]));
        let trace = text(&event["correlation"]["trace_id"]);
        assert!(came.header("traceparent").starts_with(&format!("00-{trace}-")), "{came:?}");
    }
    assert_eq!(target.sequences(), [1, 2, 3, 4, 5]);
    assert_eq!(target.most_at_once(), 1);
    let told = subscription_when(house.address(), &made["id"], |it| it["delivered"] == 5).await;
    assert_eq!((&told["status"], &told["cursor"]), (&json!("active"), &json!(5)));
    assert_eq!(told["lag"], json!({"events": 0, "seconds": 0}));
    assert!(told["last_delivered_at"].is_string() && told["last_error"].is_null(), "{told}");
    assert!(!told.to_string().contains("hunter2") && !told.to_string().contains("whsec"));
    house.close().await;
}

#[tokio::test]
async fn only_what_a_filter_asks_for_is_sent() {
    let house = House::open().await;
    let mut jobs = Vec::new();
    for (name, tag) in [("nightly-a", "red"), ("nightly-b", "blue"), ("hourly-a", "red")] {
        let mut job = says(name);
        job["tags"] = json!([tag]);
        jobs.push(house.make(&job).await);
    }
    let id = |number: usize| jobs[number]["id"].clone();
    let filters = [
        (json!({}), vec![1, 2, 3]),
        (json!({"jobs": [id(1)]}), vec![2]),
        (json!({"jobs": [id(0), id(2)]}), vec![1, 3]),
        (json!({"name": "nightly-*"}), vec![1, 2]),
        (json!({"name": "*-a", "tag": "red", "jobs": [id(2)]}), vec![3]),
        (json!({"tag": "blue"}), vec![2]),
        (json!({"tag": "green"}), vec![]),
        (json!({"owner": "nobody"}), vec![]),
    ];
    let mut targets = Vec::new();
    for (number, (filter, _)) in filters.iter().enumerate() {
        let target = Target::open().await;
        let mut asked = subscription(&target);
        asked["name"] = json!(format!("number {number}"));
        asked["filter"] = filter.clone();
        let made = make(house.address(), "/subscriptions", &asked).await;
        assert_eq!(made["filter"], *filter);
        targets.push(target);
    }
    for job in &jobs {
        run(house.address(), text(&job["id"])).await;
    }
    // What is heard by all comes last, so that everyone has seen what comes before it.
    let last = Target::open().await;
    let mut asked = subscription(&last);
    asked["after"] = json!(0);
    make(house.address(), "/subscriptions", &asked).await;
    last.until(3).await;
    for ((filter, expected), target) in filters.iter().zip(&targets) {
        target.until(expected.len()).await;
        assert_eq!(target.sequences(), *expected, "{filter}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_subscription_begins_where_it_is_asked_to() {
    let house = House::open().await;
    let job = house.make(&says("report")).await;
    for _ in 0..3 {
        run(house.address(), text(&job["id"])).await;
    }
    let mut targets = Vec::new();
    for (after, first) in [(json!(0), 1), (json!(2), 3), (Value::Null, 4)] {
        let target = Target::open().await;
        let mut asked = subscription(&target);
        (asked["name"], asked["after"]) = (json!(format!("from {first}")), after);
        make(house.address(), "/subscriptions", &asked).await;
        targets.push((target, first));
    }
    run(house.address(), text(&job["id"])).await;
    for (target, first) in &targets {
        target.until_so(|came| came.last().is_some_and(|last| last.sequence() == 4)).await;
        assert_eq!(target.sequences(), (*first..=4).collect::<Vec<u64>>());
    }
    house.close().await;
}

#[tokio::test]
async fn events_of_many_jobs_keep_the_order_of_the_log() {
    let (house, target) = (House::open().await, Target::open().await);
    make(house.address(), "/subscriptions", &subscription(&target)).await;
    let mut jobs = Vec::new();
    for number in 0..4 {
        let job = house.make(&says(&format!("job {number}"))).await;
        jobs.push(text(&job["id"]).to_owned());
    }
    let address = house.address();
    let speakers = jobs.into_iter().map(|job| {
        tokio::spawn(async move {
            for _ in 0..10 {
                run(address, &job).await;
            }
        })
    });
    for speaker in speakers.collect::<Vec<_>>() {
        speaker.await.unwrap();
    }
    target.until(40).await;
    assert_eq!(target.sequences(), (1..=40).collect::<Vec<_>>());
    house.close().await;
}
