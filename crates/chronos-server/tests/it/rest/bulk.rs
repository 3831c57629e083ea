//! Many jobs in one request.

use serde_json::{Value, json};

use super::{Answer, hourly, send, text};
use crate::daemon::house::House;

async fn bulk(house: &House, body: &[u8]) -> Answer {
    let lines = "Content-Type: application/x-ndjson\r\n";
    send(house.address(), "POST", "/jobs/bulk", lines, body).await
}

fn told(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_line_is_answered_and_a_bad_one_holds_up_no_other() {
    let house = House::open().await;
    let once = json!({"name": "b", "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"},
        "target": {"type": "http", "url": "http://127.0.0.1:9/"}, "payload": {"x": 1}});
    let lines = [
        hourly("a", "succeed").to_string(),
        once.to_string(),
        "{\"name\": ".into(),
        String::new(),
        hourly("a", "succeed").to_string(),
        json!({"name": "c"}).to_string(),
        hourly("d", "succeed").to_string(),
    ];
    let answer = bulk(&house, lines.join("\r\n").as_bytes()).await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let told = told(&answer);
    let statuses: Vec<_> = told.iter().map(|line| (&line["line"], &line["status"])).collect();
    let expected = [(1, 201), (2, 201), (3, 400), (5, 409), (6, 422), (7, 201)];
    let expected = expected.map(|(line, status)| (json!(line), json!(status)));
    assert!(statuses.iter().copied().eq(expected.iter().map(|(line, status)| (line, status))));
    assert_eq!(told[4]["problem"]["errors"][0]["field"], "target");
    let job = house.get(&format!("/jobs/{}", text(&told[1]["id"]))).await.expect(200);
    assert_eq!((&job["name"], &job["payload"]), (&json!("b"), &json!({"x": 1})));
    house.close().await;
}

#[tokio::test]
async fn packed_lines_are_refused_before_they_are_read() {
    let house = House::open().await;
    let line = hourly("packed", "succeed").to_string();
    for encoding in ["gzip", "deflate", "br", "zstd", "identity, gzip", "GZIP"] {
        let lines =
            format!("Content-Type: application/x-ndjson\r\nContent-Encoding: {encoding}\r\n");
        let answer = send(house.address(), "POST", "/jobs/bulk", &lines, line.as_bytes()).await;
        assert!(answer.refused(415).1.contains("no content-encoding is accepted"), "{encoding}");
    }
    assert_eq!(house.get("/jobs?name=packed").await.expect(200)["items"], json!([]));
    house.close().await;
}

#[tokio::test]
async fn lines_with_a_key_are_done_once() {
    let house = House::open().await;
    let line = |key: &str, name: &str| {
        let mut job = hourly(name, "succeed");
        job["idempotency_key"] = json!(key);
        job.to_string()
    };
    let body = [line("k1", "a"), line("k2", "b"), line("k1", "a")].join("\n");
    let first = told(&bulk(&house, body.as_bytes()).await);
    let mut statuses: Vec<_> = first.iter().map(|line| line["status"].as_u64().unwrap()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201, 201]);
    let second = told(&bulk(&house, body.as_bytes()).await);
    for (one, other) in first.iter().zip(&second) {
        assert_eq!((&one["id"], &other["status"]), (&other["id"], &json!(200)));
    }
    let other = told(&bulk(&house, line("k1", "z").as_bytes()).await);
    assert_eq!(other[0]["status"], 422);
    let bad = told(&bulk(&house, line("", "z").as_bytes()).await);
    assert_eq!(bad[0]["status"], 422);
    house.close().await;
}

#[tokio::test]
async fn ten_thousand_jobs_are_made_in_one_request_and_no_more() {
    let house = House::open().await;
    let mut body = String::new();
    for number in 0..10_000 {
        body.push_str(&hourly(&format!("n{number:05}"), "succeed").to_string());
        body.push('\n');
    }
    let answers = told(&bulk(&house, body.as_bytes()).await);
    assert_eq!(answers.len(), 10_000);
    assert!(answers.iter().all(|line| line["status"] == 201));
    for (line, number) in answers.iter().zip(1..) {
        assert_eq!(line["line"], number);
    }
    // A page may lead on before it has found anything.
    let (mut found, mut path) = (0, "/jobs?name=n09999".to_owned());
    loop {
        let page = house.get(&path).await.expect(200);
        found += page["items"].as_array().unwrap().len();
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/jobs?name=n09999&cursor={cursor}");
    }
    assert_eq!(found, 1);
    body.push_str(&hourly("one too many", "succeed").to_string());
    bulk(&house, body.as_bytes()).await.refused(413);
    house.close().await;
}

#[tokio::test]
async fn what_is_too_large_or_no_text_is_refused() {
    let house = House::open().await;
    let mut long = hourly("long", "succeed");
    long["name"] = json!("x".repeat(300 * 1024));
    bulk(&house, long.to_string().as_bytes()).await.refused(413);
    let announced = "Content-Type: application/x-ndjson\r\nX: y\r\n";
    let huge = vec![b'\n'; 33 * 1024 * 1024];
    send(house.address(), "POST", "/jobs/bulk", announced, &huge).await.refused(413);
    let answers = told(&bulk(&house, b"\xff\xfe\n{}\n").await);
    assert_eq!((&answers[0]["status"], &answers[1]["status"]), (&json!(400), &json!(422)));
    let json = send(house.address(), "POST", "/jobs/bulk", super::JSON, b"{}").await;
    json.refused(415);
    assert!(told(&bulk(&house, b"").await).is_empty());
    house.close().await;
}
