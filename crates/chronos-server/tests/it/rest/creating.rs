//! Creating jobs: every field comes back as it was sent, and what was left out is told.

use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;

#[tokio::test]
async fn a_job_comes_back_as_it_was_asked_for() {
    let house = House::open().await;
    let asked = json!({
        "name": "weekday report",
        "schedule": {
            "type": "cron", "expression": "0 9 * * 1-5", "timezone": "Europe/Berlin",
            "start_at": "2096-01-01T00:00:00Z", "end_at": "2097-01-01T00:00:00Z", "max_runs": 12,
        },
        "target": {
            "type": "http", "url": "https://example.com/reports?kind=daily", "method": "PUT",
            "headers": {"X-A": "1", "X-B": "two words"}, "timeout_seconds": 10,
            "connect_timeout_seconds": 2.5, "first_byte_timeout_seconds": 5,
            "expected_statuses": [200, 202],
        },
        "payload": {"pages": 3, "a": [1.50, null, "x"]},
        "tags": ["daily", "reports"],
        "overlap_policy": "queue", "max_queued": 3,
        "catch_up_policy": "run_all_capped", "catch_up_max": 7,
        "misfire_grace_seconds": 60, "catch_up_window_seconds": 86_400.5, "jitter_seconds": 30,
        "priority": 7,
        "max_retry": 4, "retry_base_seconds": 2, "retry_max_seconds": 600,
        "max_execution_time": 90,
    });
    let made = house.post("/jobs/recurring", &asked).await;
    let location = made.header("location").unwrap().to_owned();
    assert_eq!(made.header("etag"), Some("\"1\""));
    let job = made.expect(201);
    assert_eq!(location, format!("/jobs/{}", text(&job["id"])));
    for (field, value) in asked.as_object().unwrap() {
        assert_eq!(&job[field], value, "{field}");
    }
    for (field, value) in [
        ("version", json!(1)),
        ("status", json!("PENDING")),
        ("enabled", json!(true)),
        ("paused", json!(null)),
        ("recurring", json!(true)),
        ("retry_count", json!(0)),
        ("created_by", json!("")),
        ("next_execution_time", json!("2096-01-02T08:00:00Z")),
        ("last_run_at", json!(null)),
        ("picked_by_worker", json!(false)),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    assert!(text(&job["description"]).starts_with("at 09:00, Monday to Friday, Europe/Berlin"));
    let read = house.get(&location).await;
    assert_eq!(read.header("etag"), Some("\"1\""));
    assert_eq!(read.expect(200), job);
    house.close().await;
}

#[tokio::test]
async fn a_body_is_kept_letter_by_letter() {
    let house = House::open().await;
    let target = r#""target": {"type": "http", "url": "http://127.0.0.1:9/"}"#;
    for (given, told) in [
        (r#""payload": {"z": 1.50,  "a": 1e3}"#, r#""payload":{"z": 1.50,  "a": 1e3}"#),
        (r#""payload": "plain text""#, r#""payload":"plain text""#),
        (r#""payload": "\"quoted\"""#, r#""payload":"\"quoted\"""#),
        (r#""payload": [1, 2]"#, r#""payload":[1, 2]"#),
        (r#""payload": 7"#, r#""payload":7"#),
        (r#""payload_base64": "/wA=""#, r#""payload_base64":"/wA=""#),
        (r#""payload": null"#, r#""payload":null"#),
    ] {
        let body = format!(
            "{{{target}, {given}, \"schedule\": {{\"type\": \"interval\", \"seconds\": 60}}}}"
        );
        let lines = "Content-Type: application/json; charset=utf-8\r\n";
        let made =
            super::send(house.address(), "POST", "/jobs/recurring", lines, body.as_bytes()).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert!(made.text.contains(told), "{told}: {}", made.text);
    }
    house.close().await;
}

#[tokio::test]
async fn a_one_time_job_runs_now_or_at_its_time() {
    let mut house = House::open().await;
    let now = json!({"target": {"type": "handler", "name": "succeed"}});
    let job = house.post("/jobs", &now).await.expect(201);
    assert_eq!(job["recurring"], false);
    assert_eq!(text(&job["name"]), format!("job-{}", text(&job["id"])));
    assert_eq!(job["catch_up_policy"], "run_once");
    let path = format!("/jobs/{}", text(&job["id"]));
    crate::daemon::soon(async {
        while house.get(&path).await.expect(200)["status"] != "SUCCESS" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let later = json!({
        "schedule": {"type": "one_shot", "at": "2096-12-01T10:00:00+01:00"},
        "target": {"type": "handler", "name": "succeed"},
    });
    let job = house.post("/jobs", &later).await.expect(201);
    assert_eq!(job["next_execution_time"], "2096-12-01T09:00:00Z");
    assert_eq!(job["schedule"], json!({"type": "one_shot", "at": "2096-12-01T09:00:00Z"}));
    let told = house.job(text(&job["id"])).await;
    assert_eq!(told.status, "PENDING", "gRPC tells the same job");
    house.close().await;
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let house = House::open().await;
    house.make(&hourly("same", "succeed")).await;
    let again = house.post("/jobs/recurring", &hourly("same", "succeed")).await;
    let (_, problem) = again.refused(409);
    assert!(problem.contains("same"), "{problem}");
    house.close().await;
}

/// A body that is refused, the field that is named, and a part of what is said.
type Wrong = (Value, &'static str, &'static str);

/// A good job but for this field.
fn with(field: &str, value: Value) -> Value {
    let mut job = hourly("wrong", "succeed");
    job[field] = value;
    job
}

fn http(field: &str, value: Value) -> Value {
    let mut target = json!({"type": "http", "url": "http://127.0.0.1:9/"});
    target[field] = value;
    with("target", target)
}

fn schedule(schedule: Value) -> Value {
    with("schedule", schedule)
}

fn wrong_fields() -> Vec<Wrong> {
    vec![
        (with("name", json!("")), "name", "1 to 200 characters"),
        (with("name", json!("a\nb")), "name", "1 to 200 characters"),
        (with("name", json!(7)), "name", "a string"),
        (with("nmae", json!("x")), "nmae", "name"),
        (with("created_by", json!("x")), "created_by", "name"),
        (with("tags", json!(["x", ""])), "tags", "1 to 64"),
        (
            with("tags", json!((0..21).map(|n| n.to_string()).collect::<Vec<_>>())),
            "tags",
            "at most 20",
        ),
        (with("tags", json!("x")), "tags", "a list"),
        (with("max_retry", json!(1_001)), "max_retry", "0 to 1000"),
        (with("max_retry", json!(-1)), "max_retry", "a whole number"),
        (with("max_retry", json!(99_999_999_999_u64)), "max_retry", "a whole number"),
        (with("jitter_seconds", json!(5_000_000_000_u64)), "jitter_seconds", "4294967295"),
        (with("max_execution_time", json!(0)), "max_execution_time", "positive"),
        (with("max_execution_time", json!(-1.5)), "max_execution_time", "seconds from 0"),
        (
            with("overlap_policy", json!("twice")),
            "overlap_policy",
            "skip, concurrent, queue, replace",
        ),
        (with("max_queued", json!(3)), "max_queued", ""),
        (with("catch_up_max", json!(3)), "catch_up_max", "catch_up_policy"),
        (with("quiet_hours_policy_id", json!("x")), "quiet_hours_policy_id", "policy"),
        (
            with("quiet_hours_policy_id", json!("01890000-0000-7000-8000-000000000000")),
            "quiet_hours_policy_id",
            "",
        ),
        (with("payload", json!({})), "payload", "http targets"),
        (with("target", json!({"type": "handler", "name": "nobody"})), "target.name", "succeed"),
        (with("target", json!({"type": "mail"})), "target.type", "http, handler, message"),
        (with("target", json!({"type": "http"})), "target.url", "https://"),
        (
            with("target", json!({"type": "http", "name": "x", "url": "http://a/"})),
            "target.name",
            "",
        ),
    ]
}

fn wrong_targets() -> Vec<Wrong> {
    vec![
        (http("url", json!("gopher://a/")), "target.url", "http or https"),
        (http("url", json!("http://user:pw@a/")), "target.url", "Authorization"),
        (http("method", json!("FETCH")), "target.method", "GET, POST"),
        (http("headers", json!({"Host": "x"})), "target.headers", ""),
        (http("headers", json!({"X": "a\r\nY: 1"})), "target.headers", ""),
        (http("headers", json!({"X": 1})), "target.headers.X", "a string"),
        (http("timeout_seconds", json!(0)), "target.timeout_seconds", "1ms to 3600s"),
        (http("connect_timeout_seconds", json!(4_000)), "target.connect_timeout_seconds", "3600s"),
        (http("expected_statuses", json!([99])), "target.expected_statuses", "200 to 599"),
        (http("expected_statuses", json!([70_000])), "target.expected_statuses[0]", "whole number"),
    ]
}

fn wrong_schedules() -> Vec<Wrong> {
    vec![
        (schedule(json!({"type": "cron"})), "schedule.expression", "cron expression"),
        (schedule(json!({"type": "cron", "expression": "61 * * * *"})), "schedule.expression", ""),
        (schedule(json!({"type": "cron", "expression": "0 0 30 2 *"})), "schedule.expression", ""),
        (
            schedule(json!({"type": "cron", "expression": "* * * * *", "timezone": "Europ/Paris"})),
            "schedule.timezone",
            "",
        ),
        (schedule(json!({"type": "interval"})), "schedule.seconds", "whole seconds"),
        (schedule(json!({"type": "interval", "seconds": 0})), "schedule.seconds", "whole seconds"),
        (schedule(json!({"type": "interval", "seconds": 1.5})), "schedule.seconds", "whole number"),
        (
            schedule(json!({"type": "interval", "seconds": 5, "expression": "x"})),
            "schedule.expression",
            "",
        ),
        (
            schedule(json!({"type": "interval", "seconds": 5, "max_runs": 0})),
            "schedule.max_runs",
            "1 or more",
        ),
        (
            schedule(json!({"type": "interval", "seconds": 5, "end_at": "1999-01-01T00:00:00Z"})),
            "schedule",
            "",
        ),
        (
            schedule(json!({"type": "interval", "seconds": 5, "end_at": "soon"})),
            "schedule.end_at",
            "",
        ),
        (schedule(json!({"type": "weekly"})), "schedule.type", "cron, interval, one_shot"),
        (schedule(json!({"type": "one_shot"})), "schedule.type", "POST /jobs"),
    ]
}

#[tokio::test]
async fn every_field_that_is_wrong_is_named_with_what_is_accepted() {
    let house = House::open().await;
    let wrong = [wrong_fields(), wrong_targets(), wrong_schedules()].concat();
    for (body, field, accepted) in wrong {
        let answer = house.post("/jobs/recurring", &body).await;
        let (named, problem) = answer.refused(422);
        assert_eq!(named, field, "{body}: {problem}");
        assert!(problem.contains(accepted), "{body}: {problem}");
    }
    let (field, _) = house.post("/jobs", &hourly("x", "succeed")).await.refused(422);
    assert_eq!(field, "schedule.type");
    house.close().await;
}

#[tokio::test]
async fn several_wrong_fields_are_told_at_once() {
    let house = House::open().await;
    let body = json!({
        "schedule": {"type": "interval", "seconds": 0},
        "target": {"type": "http", "url": "ftp://a/"},
        "jitter_seconds": 5_000_000_000_u64,
    });
    let problem = house.post("/jobs/recurring", &body).await.expect(422);
    let fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|error| text(&error["field"])).collect();
    assert_eq!(fields, ["schedule.seconds", "target.url", "jitter_seconds"]);
    assert_eq!(problem["errors"][1]["accepted"], "http or https");
    house.close().await;
}

#[tokio::test]
async fn a_request_is_stopped_after_five_minutes_unless_its_job_says_otherwise() {
    let house = House::open().await;
    for (number, (timeout, limit, told)) in [
        (json!(null), json!(null), json!(300)),
        (json!(null), json!(20), json!(20)),
        (json!(600), json!(null), json!(600)),
        (json!(600), json!(900), json!(900)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut job = hourly(&format!("job {number}"), "");
        job["target"] = json!({"type": "http", "url": "http://127.0.0.1:9/"});
        job["target"]["timeout_seconds"] = timeout;
        job["max_execution_time"] = limit;
        let made = house.make(&job).await;
        assert_eq!(made["max_execution_time"].as_f64(), told.as_f64(), "{made}");
    }
    let handler = house.make(&hourly("handler", "succeed")).await;
    assert_eq!(handler["max_execution_time"], json!(null));
    house.close().await;
}
