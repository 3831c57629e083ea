//! Refusals: every mistake gets the answer that says what to do, and none a 5xx.

use serde_json::json;

use super::{JSON, hourly, send, text};
use crate::daemon::house::House;

#[tokio::test]
async fn every_class_of_mistake_has_its_status() {
    let house = House::open().await;
    let address = house.address();
    let job = house.make(&hourly("a", "succeed")).await;
    let id = text(&job["id"]);
    let ghost = "01890000-0000-7000-8000-000000000000";
    for (method, path, status) in [
        ("GET", format!("/jobs/{ghost}"), 404),
        ("GET", "/jobs/nonsense".into(), 404),
        ("GET", "/jobs/%ff".into(), 400),
        ("GET", format!("/jobs/{}", id.to_uppercase()), 200),
        ("GET", format!("/jobs/{}", id.replace('-', "")), 404),
        ("GET", format!("/jobs/{{{id}}}"), 404),
        ("GET", format!("/jobs/{ghost}/executions"), 404),
        ("GET", format!("/executions/{ghost}"), 404),
        ("POST", format!("/executions/{ghost}/cancel"), 404),
        ("POST", format!("/jobs/{ghost}/run"), 404),
        ("POST", format!("/jobs/{ghost}/retry"), 404),
        ("POST", format!("/jobs/{ghost}/pause"), 404),
        ("POST", format!("/jobs/{ghost}/resume"), 404),
        ("POST", format!("/jobs/{ghost}/cancel"), 404),
        ("DELETE", format!("/jobs/{ghost}"), 404),
        ("DELETE", format!("/jobs/{id}?purge=yes"), 400),
        ("DELETE", format!("/jobs/{id}?purge=false&x=1"), 400),
        ("GET", "/nowhere".into(), 404),
        ("GET", "/jobs/".into(), 404),
        ("PUT", "/jobs".into(), 405),
        ("DELETE", "/jobs".into(), 405),
        ("GET", "/jobs/bulk".into(), 405),
        ("GET", format!("/jobs/{id}/run"), 405),
        ("POST", "/monitoring/jobs".into(), 405),
        ("POST", "/jobs".into(), 415),
    ] {
        let answer = send(address, method, &path, "", b"").await;
        if status == 200 {
            answer.expect(200);
            continue;
        }
        if status == 405 {
            assert!(answer.header("allow").is_some(), "{method} {path}");
        }
        answer.refused(status);
    }
    let allow = send(address, "PUT", &format!("/jobs/{id}"), "", b"").await;
    let allow: Vec<_> = allow.header("allow").unwrap().split(',').map(str::to_owned).collect();
    for method in ["GET", "PATCH", "DELETE"] {
        assert!(allow.contains(&method.to_owned()), "{allow:?}");
    }
    house.close().await;
}

#[tokio::test]
async fn only_json_is_taken_and_given() {
    let house = House::open().await;
    let body = hourly("a", "succeed").to_string();
    for (lines, status) in [
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type: application/x-www-form-urlencoded\r\n", 415),
        ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", 415),
        ("", 415),
        ("Content-Type: application/json\r\nAccept: text/html\r\n", 406),
        ("Content-Type: application/json\r\nAccept: application/json;q=0\r\n", 406),
        ("Content-Type: APPLICATION/JSON; charset=utf-8\r\nAccept: text/html, */*;q=0.1\r\n", 201),
    ] {
        let answer = send(house.address(), "POST", "/jobs/recurring", lines, body.as_bytes()).await;
        assert_eq!(answer.status, status, "{lines}: {}", answer.text);
        if status != 201 {
            answer.refused(status);
        }
    }
    house.close().await;
}

#[tokio::test]
async fn a_large_body_is_refused_before_it_is_read() {
    let house = House::open().await;
    let mut big = hourly("big", "succeed");
    big["payload"] = json!("x".repeat(1_100_000));
    house.post("/jobs/recurring", &big).await.refused(413);
    // Nothing of it is sent, and still there is an answer.
    let request = format!(
        "POST /jobs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{JSON}Content-Length: 2000000\r\n\r\n",
        house.address()
    );
    let answer = crate::daemon::house::raw(house.address(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    // One that does not say how large it is gets as far as the limit.
    let chunk = format!("{:x}\r\n{}\r\n", 100_000, "x".repeat(100_000)).repeat(20);
    let request = format!(
        "POST /jobs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{JSON}\
         Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n",
        house.address()
    );
    let answer = crate::daemon::house::raw(house.address(), &request).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    house.close().await;
}

/// Bodies that have broken other servers.
fn hostile() -> Vec<Vec<u8>> {
    let job = |field: &str| {
        format!(
            "{{\"schedule\": {{\"type\": \"interval\", \"seconds\": 5}}, \
          \"target\": {{\"type\": \"http\", \"url\": \"http://127.0.0.1:9/\"}}, {field}}}"
        )
    };
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(20_000), close.repeat(20_000));
    let mut bodies: Vec<Vec<u8>> = [
        String::new(),
        "null".into(),
        "[]".into(),
        "0".into(),
        "\"x\"".into(),
        "{".into(),
        "}".into(),
        "{}".into(),
        "{\"\":0}".into(),
        "\u{feff}{}".into(),
        "{} {}".into(),
        "// x\n{}".into(),
        "{'name': 'x'}".into(),
        "{\"name\": NaN}".into(),
        "{\"name\": .5}".into(),
        deep("[", "]"),
        deep("{\"a\":", "}"),
        job(&format!("\"payload\": {}", deep("[", "]"))),
        job("\"name\": \"a\", \"name\": \"b\""),
        job("\"payload\": {\"a\": 1, \"a\": 2}"),
        job("\"name\": \"\\ud800\""),
        job("\"name\": \"\\udc00\\ud800\""),
        job("\"name\": \"a\\u0000b\""),
        job("\"payload\": \"\\u0000\""),
        job("\"na\\u0000me\": 1"),
        job("\"max_retry\": 1e400"),
        job("\"max_retry\": -1e400"),
        job("\"payload\": 1e400"),
        job("\"max_retry\": 99999999999999999999999999999999"),
        job("\"max_retry\": 1.0000001"),
        job("\"max_retry\": \"3\""),
        job("\"max_retry\": null"),
        job("\"max_execution_time\": 1e300"),
        job("\"max_execution_time\": -0.0"),
        job("\"max_execution_time\": 18446744073709551615"),
        job("\"misfire_grace_seconds\": 1e-300"),
        job("\"jitter_seconds\": 18446744073709551615"),
        job("\"retry_base_seconds\": 0, \"max_retry\": 1"),
        job("\"quiet_hours_policy_id\": \"\""),
        job("\"tags\": [\"\u{202e}\"]"),
        job("\"tags\": [\"\\n\"]"),
        job("\"tags\": {\"a\": 1}"),
        job("\"overlap_policy\": {\"skip\": null}"),
        job("\"overlap_policy\": \"SKIP\""),
        job("\"max_concurrent\": 0, \"overlap_policy\": \"concurrent\""),
        job("\"__proto__\": {}"),
        job("\"owner\": \"root\""),
        job("\"id\": \"x\""),
    ]
    .map(String::into_bytes)
    .to_vec();
    for schedule in [
        "{\"type\": \"interval\", \"seconds\": -1}",
        "{\"type\": \"interval\", \"seconds\": 4294967296}",
        "{\"type\": \"interval\", \"seconds\": 18446744073709551615}",
        "{\"type\": \"one_shot\", \"at\": \"9999-12-31T23:59:59.999999Z\"}",
        "{\"type\": \"one_shot\", \"at\": \"10000-01-01T00:00:00Z\"}",
        "{\"type\": \"one_shot\", \"at\": \"0000-01-01T00:00:00Z\"}",
        "{\"type\": \"one_shot\", \"at\": \"2026-02-30T00:00:00Z\"}",
        "{\"type\": \"one_shot\", \"at\": 1700000000}",
        "{\"type\": \"cron\", \"expression\": \"\"}",
        "{\"type\": \"cron\", \"expression\": \"* * * * * * * *\"}",
        "{\"type\": \"cron\", \"expression\": \"*/0 * * * *\"}",
        "{\"type\": \"cron\", \"expression\": \"0 0 31 2 *\"}",
        "{\"type\": \"cron\", \"expression\": \"@reboot\"}",
        "{\"type\": \"cron\", \"expression\": \"0 0 1 1 * 1970\"}",
        "{\"type\": [\"cron\"]}",
        "{\"type\": null}",
        "[]",
        "null",
        "{\"type\": \"interval\", \"seconds\": 5, \"max_runs\": 18446744073709551615}",
    ] {
        let target = "{\"type\": \"http\", \"url\": \"http://127.0.0.1:9/\"}";
        bodies.push(format!("{{\"schedule\": {schedule}, \"target\": {target}}}").into());
    }
    let long = format!("{{\"type\": \"cron\", \"expression\": \"{}\"}}", "1,".repeat(100_000));
    bodies.push(format!("{{\"schedule\": {long}, \"target\": {{\"type\": \"handler\"}}}}").into());
    bodies.extend([b"\xff\xfe".to_vec(), b"{\"name\": \"\xc3\x28\"}".to_vec(), vec![0; 1_000]]);
    bodies
}

#[tokio::test]
async fn no_body_makes_the_server_fail() {
    let house = House::open().await;
    let job = house.make(&hourly("victim", "succeed")).await;
    let id = text(&job["id"]);
    let policy = house.post("/quiet-hours", &json!({"name": "victim"})).await.expect(201);
    let subscription = json!({"name": "victim", "url": "https://example.com/"});
    let subscription = house.post("/subscriptions", &subscription).await.expect(201);
    for (method, path) in [
        ("POST", "/jobs".to_owned()),
        ("POST", "/jobs/recurring".into()),
        ("PATCH", format!("/jobs/{id}")),
        ("POST", format!("/jobs/{id}/pause")),
        ("POST", "/schedules/preview".into()),
        ("POST", format!("/jobs/{id}/preview")),
        ("POST", "/quiet-hours".into()),
        ("PATCH", format!("/quiet-hours/{}", text(&policy["id"]))),
        ("POST", "/subscriptions".into()),
        ("PATCH", format!("/subscriptions/{}", text(&subscription["id"]))),
        ("POST", "/dead-letters/redrive".into()),
    ] {
        for body in hostile() {
            let answer = send(house.address(), method, &path, JSON, &body).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
            assert!((200..500).contains(&answer.status), "{method} {path} {shown}: {answer:?}");
            let status = answer.status;
            if status >= 400 {
                answer.refused(status);
            }
        }
    }
    assert_eq!(house.get("/readyz").await.status, 200);
    house.close().await;
}
