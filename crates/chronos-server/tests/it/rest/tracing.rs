//! Traces: one id from whoever asks, through the run, to its target.

use std::time::Duration;

use chronos_server::proto::RunJobRequest;
use serde_json::{Value, json};
use tonic::Request;

use super::{JSON, hourly, send, text};
use crate::client::house::Endpoint;
use crate::daemon::house::House;
use crate::daemon::soon;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn calling(endpoint: &Endpoint) -> Value {
    let mut job = hourly("traced", "");
    job["target"] = json!({"type": "http", "url": endpoint.url()});
    job["overlap_policy"] = json!("concurrent");
    job
}

/// The trace and the span that the endpoint was told.
fn told(endpoint: &Endpoint) -> (String, String) {
    let request = endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap();
    let parent = request.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    let parts: Vec<&str> = parent.split('-').collect();
    assert_eq!((parts[0], parts[3], parts.len()), ("00", "01", 4), "{parent}");
    (parts[1].into(), parts[2].into())
}

#[tokio::test]
async fn a_run_by_hand_belongs_to_the_trace_of_whoever_asked() {
    let endpoint = Endpoint::answering("200 OK");
    let mut house = House::open().await;
    let job = house.make(&calling(&endpoint)).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let (parent, key) = (format!("traceparent: {PARENT}\r\n"), "Idempotency-Key: once\r\n");
    let mut spans = Vec::new();
    for (verb, lines) in
        [("run", parent.clone()), ("run", format!("{parent}{key}")), ("retry", parent.clone())]
    {
        let path = format!("{path}/{verb}");
        let run = send(house.address(), "POST", &path, &lines, b"").await.expect(201);
        assert_eq!(run["trace_id"], TRACE);
        let run = house.wait_for(text(&run["id"]), "SUCCESS").await;
        assert_eq!(run["trace_id"], TRACE);
        let (trace, span) = told(&endpoint);
        assert_eq!(trace, TRACE);
        spans.push(span);
    }
    let mut request = Request::new(RunJobRequest { job: "traced".into() });
    request.metadata_mut().insert("traceparent", PARENT.parse().unwrap());
    let run = soon(house.client.run_job(request)).await.unwrap().into_inner();
    assert_eq!(house.until(&run.id, "SUCCESS").await.trace_id, TRACE);
    spans.push(told(&endpoint).1);
    spans.push("00f067aa0ba902b7".into());
    spans.sort_unstable();
    spans.dedup();
    assert_eq!(spans.len(), 5, "every request is a span of its own");
    house.close().await;
}

#[tokio::test]
async fn a_run_that_nobody_traces_has_a_trace_of_its_own() {
    let endpoint = Endpoint::answering("200 OK");
    let house = House::open().await;
    let job = house.make(&calling(&endpoint)).await;
    let path = format!("/jobs/{}/run", text(&job["id"]));
    let mut traces = Vec::new();
    for lines in ["", "traceparent: 00-nonsense-00f067aa0ba902b7-01\r\n"] {
        let run = send(house.address(), "POST", &path, lines, b"").await.expect(201);
        let run = house.wait_for(text(&run["id"]), "SUCCESS").await;
        assert_eq!(told(&endpoint).0, text(&run["trace_id"]));
        assert_eq!(run["trace_id"], text(&run["id"]).replace('-', ""));
        traces.push(run["trace_id"].clone());
    }
    assert_ne!(traces[0], traces[1]);
    house.close().await;
}

#[tokio::test]
async fn a_job_that_is_made_to_run_once_belongs_to_the_trace_of_whoever_made_it() {
    let endpoint = Endpoint::answering("200 OK");
    let house = House::open().await;
    let body = json!({"target": {"type": "http", "url": endpoint.url()}}).to_string();
    let lines = format!("{JSON}traceparent: {PARENT}\r\n");
    let job = send(house.address(), "POST", "/jobs", &lines, body.as_bytes()).await.expect(201);
    let path = format!("/jobs/{}/executions", text(&job["id"]));
    let run = soon(async {
        loop {
            let rows = house.get(&path).await.expect(200);
            if rows["items"][0]["status"] == "SUCCESS" {
                break rows["items"][0].clone();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(run["trace_id"], TRACE);
    assert_eq!(told(&endpoint).0, TRACE);
    house.close().await;
}
