//! Notices: asked for with the job, told to a real webhook, and shown with the job's executions.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};

use super::{hourly, text};
use crate::client::house::Endpoint;
use crate::daemon::house::House;
use crate::daemon::soon;

const MASK: &str = "********";
const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// A job that calls one endpoint and tells another of it.
fn told(target: &Endpoint, webhook: &Endpoint) -> Value {
    let mut job = hourly("told", "");
    job["tags"] = json!(["billing"]);
    job["target"] = json!({
        "type": "http", "url": target.url(), "headers": {"Authorization": {"secret": "hunter2"}},
    });
    job["notify"] = json!({
        "url": webhook.url(), "signing_secret": SIGNING,
        "headers": {"X-Key": {"secret": "hunter3"}, "X-Plain": "shown"},
    });
    job
}

struct Request {
    head: String,
    text: String,
    body: Value,
}

impl Request {
    async fn to(endpoint: &Endpoint) -> Self {
        let came = soon(async {
            loop {
                if let Ok(request) = endpoint.requests.try_recv() {
                    break request;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let request = came.await;
        let (head, text) = request.split_once("\r\n\r\n").unwrap();
        let body = serde_json::from_str(text).unwrap_or_default();
        Self { head: head.into(), text: text.into(), body }
    }

    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(given, _)| given.eq_ignore_ascii_case(name)).unwrap().1
    }

    /// What Standard Webhooks asks of whoever receives a message.
    fn verifies(&self) -> bool {
        let key = STANDARD.decode(SIGNING.strip_prefix("whsec_").unwrap()).unwrap();
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let signature = self.header("webhook-signature").strip_prefix("v1,").unwrap();
        let signature = STANDARD.decode(signature).unwrap();
        let signed = format!("{id}.{at}.{}", self.text);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
    }
}

async fn run(house: &House, job: &Value, status: &str) -> Value {
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    house.wait_for(text(&run["id"]), status).await
}

#[tokio::test]
async fn a_failure_and_the_recovery_after_it_are_told_with_a_signature() {
    let target = Endpoint::in_turn(&["404 Not Found"], "200 OK");
    let webhook = Endpoint::answering("200 OK");
    let house = House::open().await;
    let job = house.make(&told(&target, &webhook)).await;
    let failed = run(&house, &job, "FAILED").await;
    let notice = Request::to(&webhook).await;
    assert!(notice.verifies(), "{}", notice.head);
    assert_eq!((notice.header("x-key"), notice.header("x-plain")), ("hunter3", "shown"));
    assert_eq!(notice.header("chronos-job"), text(&job["id"]));
    assert!(notice.header("traceparent").contains(text(&failed["trace_id"])));
    let body = &notice.body;
    assert_eq!((text(&body["kind"]), text(&body["id"])), ("failure", notice.header("webhook-id")));
    assert_eq!((&body["job"]["id"], &body["job"]["name"]), (&job["id"], &job["name"]));
    assert_eq!(body["job"]["tags"], json!(["billing"]));
    let about = &body["execution"];
    assert_eq!((&about["id"], &about["error"]), (&failed["id"], &failed["error"]));
    assert_eq!((&about["status"], &about["response_code"]), (&json!("FAILED"), &json!(404)));
    assert_eq!(about["finished_at"], failed["finished_at"]);
    assert!(!body.to_string().contains("hunter"), "{body}");
    run(&house, &job, "SUCCESS").await;
    let notice = Request::to(&webhook).await;
    assert_eq!(
        (text(&notice.body["kind"]), &notice.body["consecutive_failures"]),
        ("recovery", &json!(1))
    );
    assert_eq!(notice.body["failing_since"], body["at"]);
    run(&house, &job, "SUCCESS").await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let shown = house.get(&path).await.expect(200);
    assert_eq!((&shown["counts"]["succeeded"], &shown["counts"]["failed"]), (&json!(2), &json!(1)));
    let rows = house.get(&format!("{path}/executions")).await.expect(200);
    let rows = rows["items"].as_array().unwrap().clone();
    let notices: Vec<_> = rows.iter().filter(|row| row["trigger"] == "notice").collect();
    assert_eq!((rows.len(), notices.len()), (5, 2), "the second success is no news");
    assert_eq!(notices[1]["notice"], json!({"kind": "failure", "about": failed["id"]}));
    assert_eq!(notices[1]["response_code"], 200);
    assert!(rows.iter().all(|row| row["trigger"] == "notice" || row["notice"].is_null()));
    let metrics = house.get("/metrics").await.text;
    for line in [
        "chronos_notices_total{kind=\"failure\",outcome=\"sent\"} 1",
        "chronos_notices_total{kind=\"recovery\",outcome=\"sent\"} 1",
        "chronos_notices_total{kind=\"overdue\",outcome=\"failed\"} 0",
        "chronos_executions_total{status=\"success\"} 2",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_webhook_that_is_busy_is_told_again_the_same() {
    let target = Endpoint::answering("404 Not Found");
    let webhook = Endpoint::in_turn(&["503 Service Unavailable"], "200 OK");
    let house = House::open().await;
    let job = house.make(&told(&target, &webhook)).await;
    run(&house, &job, "FAILED").await;
    let (first, second) = (Request::to(&webhook).await, Request::to(&webhook).await);
    assert!(first.verifies() && second.verifies());
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    assert_eq!((first.header("chronos-attempt"), second.header("chronos-attempt")), ("1", "2"));
    house.close().await;
}

#[tokio::test]
async fn what_is_to_be_told_is_shown_changed_and_taken_back() {
    let endpoint = Endpoint::answering("200 OK");
    let mut house = House::open().await;
    let made = house.make(&told(&endpoint, &endpoint)).await;
    let shown = json!({
        "url": endpoint.url(), "signing_secret": MASK, "on": ["failure", "recovery"],
        "headers": {"X-Key": {"secret": MASK}, "X-Plain": "shown"},
    });
    assert_eq!(made["notify"], shown);
    let id = text(&made["id"]);
    let patch = json!({"notify": {"on": ["overdue"], "headers": {"X-Plain": null}}});
    let job = house.patch(id, "", &patch).await.expect(200);
    let expected = json!({
        "url": endpoint.url(), "signing_secret": MASK, "headers": {"X-Key": {"secret": MASK}},
        "on": ["overdue"], "overdue_after_seconds": 300,
    });
    assert_eq!(job["notify"], expected);
    let contract = house.job("told").await.spec.unwrap();
    assert!(!format!("{contract:?}{job}").contains("hunter"));
    let again = house.patch(id, "", &json!({"notify": job["notify"]})).await.expect(200);
    assert_eq!(again["version"], job["version"], "what was told can be sent back");
    let elsewhere = Endpoint::answering("200 OK");
    let moved = json!({"notify": {"url": elsewhere.url()}});
    let moved = house.patch(id, "", &moved).await.expect(200);
    assert_eq!(moved["dropped_secrets"], json!(["notify.X-Key", "notify.signing_secret"]));
    let silent = house.patch(id, "", &json!({"notify": {"url": null, "on": []}})).await;
    assert_eq!(silent.expect(200)["notify"], json!({"on": []}));
    let usual = house.patch(id, "", &json!({"notify": null})).await.expect(200);
    assert_eq!(usual["notify"], Value::Null);
    house.close().await;
}

#[tokio::test]
async fn what_cannot_be_told_is_refused_by_its_field() {
    let house = House::open().await;
    for (notify, field) in [
        (json!({"url": "ftp://example.com"}), "notify.url"),
        (json!({"url": "http://169.254.169.254/latest"}), "notify.url"),
        (json!({"url": "http://user:hunter2@example.com"}), "notify.url"),
        (json!({"on": ["success"]}), "notify.on"),
        (json!({"on": "failure"}), "notify.on"),
        (json!({"overdue_after_seconds": 60}), "notify.overdue_after_seconds"),
        (json!({"on": ["overdue"], "overdue_after_seconds": 0}), "notify.overdue_after_seconds"),
        (json!({"on": ["overdue"], "overdue_after_seconds": 0.5}), "notify.overdue_after_seconds"),
        (json!({"on": ["overdue"], "overdue_after_seconds": 4e7}), "notify.overdue_after_seconds"),
        (
            json!({"url": "https://example.com", "signing_secret": "hunter2"}),
            "notify.signing_secret",
        ),
        (json!({"url": "https://example.com", "signing_secret": MASK}), "notify.signing_secret"),
        (json!({"signing_secret": SIGNING}), "notify.signing_secret"),
        (json!({"headers": {"X-Who": "us"}}), "notify.headers"),
        (json!({"url": "https://example.com", "headers": {"Host": "x"}}), "notify.headers"),
        (json!({"url": "https://example.com", "method": "GET"}), "notify.method"),
    ] {
        let mut job = hourly("told", "echo");
        job["target"] = json!({"type": "http", "url": "https://example.com"});
        job["notify"] = notify.clone();
        let (named, problem) = house.post("/jobs/recurring", &job).await.refused(422);
        assert_eq!(named, field, "{notify}: {problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
    house.close().await;
}
