//! Idempotency keys: a request that is sent again is done once.

use serde_json::{Value, json};

use super::{JSON, hourly, send, text};
use crate::daemon::house::{House, get};
use crate::serving::Serving;

async fn keyed(house: &House, path: &str, key: &str, body: &Value) -> super::Answer {
    let lines = format!("{JSON}Idempotency-Key: {key}\r\n");
    send(house.address(), "POST", path, &lines, body.to_string().as_bytes()).await
}

#[tokio::test]
async fn the_same_request_answers_the_same_job() {
    let house = House::open().await;
    let body = hourly("k", "succeed");
    let first = keyed(&house, "/jobs/recurring", "abc", &body).await;
    assert_eq!(first.header("idempotent-replayed"), None);
    let first = first.expect(201);
    let second = keyed(&house, "/jobs/recurring", "abc", &body).await;
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.header("location"), Some(&*format!("/jobs/{}", text(&first["id"]))));
    assert_eq!(second.expect(200), first);
    let other = keyed(&house, "/jobs/recurring", "abc", &hourly("other", "succeed")).await;
    assert_eq!(other.refused(422).0, "Idempotency-Key");
    let elsewhere = keyed(&house, "/jobs", "abc", &body).await;
    assert_eq!(elsewhere.status, 422, "{}", elsewhere.text);
    let path = format!("/jobs/{}?purge=true", text(&first["id"]));
    assert_eq!(house.ask("DELETE", &path).await.status, 204);
    keyed(&house, "/jobs/recurring", "abc", &body).await.refused(410);
    for key in ["a b", "", "\u{e9}", &"x".repeat(256)] {
        let (field, _) = keyed(&house, "/jobs/recurring", key, &body).await.refused(400);
        assert_eq!(field, "Idempotency-Key");
    }
    house.close().await;
}

#[tokio::test]
async fn requests_at_once_make_one_job_and_one_run() {
    let house = House::open().await;
    let body = json!({
        "schedule": {"type": "interval", "seconds": 60},
        "target": {"type": "handler", "name": "succeed"}, "tags": ["raced"],
    });
    let (house_ref, body_ref) = (&house, &body);
    let made = (0..16).map(|_| keyed(house_ref, "/jobs/recurring", "race", body_ref));
    let made = futures::future::join_all(made).await;
    let created = made.iter().filter(|answer| answer.status == 201).count();
    let replayed = made.iter().filter(|answer| answer.status == 200).count();
    assert_eq!((created, replayed), (1, 15));
    let page = house.get("/jobs?tag=raced").await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let path = format!("/jobs/{}/run", text(&page["items"][0]["id"]));
    let path = path.as_str();
    let runs = (0..8).map(|_| async move {
        let lines = "Idempotency-Key: run-1\r\n";
        let answer = send(house_ref.address(), "POST", path, lines, b"").await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text);
        text(&answer.json()["id"]).to_owned()
    });
    let mut runs = futures::future::join_all(runs).await;
    runs.dedup();
    assert_eq!(runs.len(), 1);
    house.close().await;
}

#[tokio::test]
async fn a_key_is_known_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let body = json!({
        "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"},
        "target": {"type": "http", "url": "http://127.0.0.1:9/"},
    });
    let mut ids = Vec::new();
    for status in [201, 200] {
        let (mut process, address) = Serving::over(&data.path().join("data"), &[]).await;
        let lines = format!("{JSON}Idempotency-Key: over\r\n");
        let answer = send(address, "POST", "/jobs", &lines, body.to_string().as_bytes()).await;
        ids.push(text(&answer.expect(status)["id"]).to_owned());
        assert_eq!(get(address, &format!("/jobs/{}", ids[0])).await.0, 200);
        process.signal("TERM");
        assert_eq!(process.code().await, Some(0));
    }
    assert_eq!(ids[0], ids[1]);
}
