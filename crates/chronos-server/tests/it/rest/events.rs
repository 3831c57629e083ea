//! Message events over REST: pulled, waited for and streamed, from any cursor.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{send, text};
use crate::daemon::house::House;
use crate::daemon::soon;

/// A job that says something whenever it is asked to.
pub(crate) fn says(name: &str) -> Value {
    json!({
        "name": name,
        "schedule": {"type": "interval", "seconds": 86_400},
        "target": {"type": "message", "template": {
            "text": "{{job_name}} for {{slot}}",
            "structured": {"missed": "{{missed_count}}", "list": [1, "{{job_name}}"]},
        }},
    })
}

/// Runs a job by hand; gives back the execution.
pub(crate) async fn run(address: SocketAddr, job: &str) -> Value {
    send(address, "POST", &format!("/jobs/{job}/run"), "", b"").await.expect(201)
}

/// The complete events among the first bytes of a stream, and where it says to go on.
pub(crate) async fn stream(
    address: SocketAddr,
    path: &str,
    lines: &str,
    bytes: usize,
) -> (Vec<Value>, Option<u64>) {
    let mut connection = soon(TcpStream::connect(address)).await.unwrap();
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{lines}\r\n");
    soon(connection.write_all(head.as_bytes())).await.unwrap();
    let mut read = Vec::new();
    let mut part = connection.take(bytes as u64);
    // Cut off after so many bytes, or once nothing more comes.
    while let Ok(Ok(1..)) =
        tokio::time::timeout(Duration::from_millis(300), part.read_buf(&mut read)).await
    {}
    let read = String::from_utf8_lossy(&read).into_owned();
    let (mut events, mut cursor) = (Vec::new(), None);
    let Some((head, body)) = read.split_once("\r\n\r\n") else {
        return (events, cursor);
    };
    assert!(head.contains(" 200 ") && head.contains("text/event-stream"), "{head}");
    let mut blocks: Vec<&str> = body.split("\n\n").collect();
    // The last one may have been cut off.
    blocks.pop();
    for block in blocks {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        cursor = field("id: ").and_then(|id| id.parse().ok()).or(cursor);
        events.extend(field("data: ").map(|data| serde_json::from_str(data).unwrap()));
    }
    (events, cursor)
}

pub(crate) fn sequences(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event: &Value| event["sequence"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_message_job_says_what_its_template_says_in_the_documented_shape() {
    let house = House::open().await;
    let made = house.make(&says("report")).await;
    assert_eq!(made["target"]["template"]["text"], "{{job_name}} for {{slot}}");
    assert_eq!(made["target"]["template"]["structured"]["list"], json!([1, "{{job_name}}"]));
    let id = text(&made["id"]);
    let run = run(house.address(), id).await;
    assert_eq!((&run["status"], &run["trigger"]), (&json!("SUCCESS"), &json!("manual")));
    let listed = house.get(&format!("/jobs/{id}/executions")).await.expect(200);
    assert_eq!(listed["items"][0]["id"], run["id"]);
    let page = house.get("/events").await.expect(200);
    assert_eq!((&page["next_cursor"], &page["more"]), (&json!("1"), &json!(false)));
    let event = &page["items"][0];
    let slot = text(&run["scheduled_for"]);
    let key = text(&event["correlation"]["dedupe_key"]);
    assert_eq!(key.len(), 64);
    let expected = json!({
        "event_id": run["id"],
        "schema_version": 1,
        "occurred_at": run["finished_at"],
        "source": {"channel": "scheduler", "connector_id": id},
        "actor": "",
        "content": {
            "text": format!("report for {slot}"),
            "structured": {"missed": "0", "list": [1, "report"]},
        },
        "context": {"timezone": "UTC"},
        "correlation": {"trace_id": run["trace_id"], "dedupe_key": key},
        "slot": slot,
        "sequence": 1,
    });
    assert_eq!(*event, expected);
    let figures = house.get("/metrics").await.text;
    assert!(figures.contains("executions_total{status=\"success\"} 1"), "{figures}");
    house.close().await;
}

#[tokio::test]
async fn what_cannot_be_said_is_refused_by_its_field() {
    let house = House::open().await;
    let refused = async |change: &dyn Fn(&mut Value)| {
        let mut job = says("report");
        change(&mut job);
        house.post("/jobs/recurring", &job).await.refused(422)
    };
    let (field, text) = refused(&|job| job["target"]["template"]["text"] = json!("{{user}}")).await;
    assert_eq!(field, "target.template.text");
    assert!(
        text.contains("unknown placeholder \\\"user\\\"") && text.contains("{{missed_count}}"),
        "{text}"
    );
    let structured = json!({"a": ["{{slot"]});
    let (field, _) =
        refused(&|job| job["target"]["template"]["structured"] = structured.clone()).await;
    assert_eq!(field, "target.template.structured");
    for (change, named) in [
        (json!({"type": "message"}), "target.template"),
        (json!({"type": "message", "template": {}}), "target.template"),
        (json!({"type": "message", "template": {"text": 1}}), "target.template.text"),
        (json!({"type": "message", "template": {"words": "x"}}), "target.template.words"),
        (json!({"type": "message", "template": {"text": "x"}, "url": "http://x"}), "target.url"),
        (
            json!({"type": "http", "url": "https://example.com", "template": {"text": "x"}}),
            "target.template",
        ),
    ] {
        let mut job = says("report");
        job["target"] = change;
        let answer = house.post("/jobs/recurring", &job).await;
        let status = answer.status;
        assert!(status == 422 || status == 400, "{answer:?}");
        assert_eq!(answer.refused(status).0, named);
    }
    let (field, _) = refused(&|job| job["jitter_seconds"] = json!(5)).await;
    assert_eq!(field, "jitter_seconds");
    let (field, _) = refused(&|job| job["payload"] = json!("x")).await;
    assert_eq!(field, "payload");
    house.close().await;
}

#[tokio::test]
async fn parameters_that_make_no_sense_are_named() {
    let house = House::open().await;
    for path in ["/events", "/events/stream"] {
        for (query, field) in [
            ("after=x", "after"),
            ("after=-1", "after"),
            ("after=99999999999999999999999", "after"),
            ("after=9223372036854775807", "after"),
            ("after=1", "after"),
            ("job=x", "job"),
            ("color=red", "color"),
        ] {
            let answer = house.get(&format!("{path}?{query}")).await;
            assert_eq!(answer.refused(400).0, field, "{path}?{query}");
        }
    }
    for query in ["wait=26", "wait=x", "wait=-1"] {
        assert_eq!(house.get(&format!("/events?{query}")).await.refused(400).0, "wait");
    }
    assert_eq!(house.get("/events?limit=0").await.refused(400).0, "limit");
    let lines = "Last-Event-ID: x\r\n";
    let answer = send(house.address(), "GET", "/events/stream", lines, b"").await;
    assert_eq!(answer.refused(400).0, "Last-Event-ID");
    house.close().await;
}

#[tokio::test]
async fn a_pull_waits_for_the_next_event_and_no_longer() {
    let house = House::open().await;
    let id = text(&house.make(&says("report")).await["id"]).to_owned();
    let none = house.get("/events?wait=1").await.expect(200);
    assert_eq!((&none["items"], &none["next_cursor"]), (&json!([]), &json!("0")));
    let address = house.address();
    let waiting = tokio::spawn(async move {
        send(address, "GET", "/events?after=latest&wait=25", "", b"").await.expect(200)
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    run(address, &id).await;
    let page = tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next_cursor"]), (1, &json!("1")));
    // A daemon that stops keeps nobody waiting, and is not kept.
    let waiting = tokio::spawn(async move {
        send(address, "GET", "/events?after=1&wait=25", "", b"").await.expect(200)
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    tokio::time::timeout(Duration::from_secs(5), house.close()).await.unwrap();
    assert_eq!(waiting.await.unwrap()["items"], json!([]));
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was_cut_off() {
    let house = House::open().await;
    let id = text(&house.make(&says("report")).await["id"]).to_owned();
    let other = text(&house.make(&says("other")).await["id"]).to_owned();
    let address = house.address();
    let (events, cursor) = stream(address, "/events/stream", "", 9_000).await;
    assert_eq!((events.len(), cursor), (0, Some(0)), "whoever hears nothing knows where it is");
    for _ in 0..3 {
        run(address, &id).await;
        run(address, &other).await;
    }
    let (events, cursor) = stream(address, "/events/stream", "Last-Event-ID: 2\r\n", 99_000).await;
    assert_eq!((sequences(&events), cursor), (vec![3, 4, 5, 6], Some(6)));
    let path = format!("/events/stream?after=0&job={id}");
    let (events, _) = stream(address, &path, "", 99_000).await;
    assert_eq!(sequences(&events), [1, 3, 5]);
    let listed = house.get(&format!("/events?job={other}&limit=2")).await.expect(200);
    assert_eq!(sequences(listed["items"].as_array().unwrap()), [2, 4]);
    house.close().await;
}
