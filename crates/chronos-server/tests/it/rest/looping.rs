//! Loops: a job that asks for itself, by a way that nobody can know for the scheduler's own.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::{hourly, send, text};
use crate::daemon::house::House;
use crate::daemon::soon;

const PARENT: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";

/// Another port that leads to the same place, as a load balancer's does.
async fn relay(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut server = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

/// A job that calls the way by which it is run, by this verb.
async fn loop_of(house: &House, name: &str, verb: &str) -> Value {
    let mut job = hourly(name, "");
    job["target"] = json!({"type": "http", "url": "https://example.com/"});
    job["overlap_policy"] = json!("concurrent");
    job["max_retry"] = json!(3);
    let id = text(&house.make(&job).await["id"]).to_owned();
    let url = format!("http://{}/jobs/{id}/{verb}", relay(house.address()).await);
    // The endpoint of a run must not wait for the run that it asks for.
    house
        .patch(&id, "", &json!({"target": {"url": url}, "max_execution_time": 30}))
        .await
        .expect(200)
}

async fn executions(house: &House, job: &Value) -> Vec<Value> {
    let path = format!("/jobs/{}/executions?limit=100", text(&job["id"]));
    house.get(&path).await.expect(200)["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_job_that_runs_itself_is_stopped_after_a_few_rounds() {
    let house = House::open().await;
    let job = loop_of(&house, "loop", "run").await;
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    let ended = soon(async {
        loop {
            let runs = executions(&house, &job).await;
            let is_over = |run: &Value| matches!(text(&run["status"]), "SUCCESS" | "FAILED");
            if runs.iter().any(|run| run["status"] == "FAILED") && runs.iter().all(is_over) {
                return runs;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The one that was asked for, and ten in its trace; the last of them was refused another, for good.
    assert_eq!(ended.len(), 11, "{ended:#?}");
    let refused: Vec<&Value> = ended.iter().filter(|run| run["status"] == "FAILED").collect();
    assert_eq!(refused.len(), 1, "{ended:#?}");
    assert_eq!(refused[0]["error"], "answered 409 Conflict");
    let trace = text(&run["trace_id"]);
    assert!(ended.iter().all(|run| run["trace_id"] == trace), "{ended:#?}");
    house.close().await;
}

#[tokio::test]
async fn a_run_that_a_run_asks_for_too_often_is_refused_with_what_is_wrong() {
    let mut house = House::open().await;
    let job = house
        .make(&json!({
            "name": "often", "schedule": {"type": "interval", "seconds": 3_600},
            "target": {"type": "handler", "name": "succeed"}, "overlap_policy": "concurrent",
        }))
        .await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let of_a_run = format!("{PARENT}Chronos-Execution-Id: x\r\n");
    for _ in 0..10 {
        let run = send(house.address(), "POST", &format!("{path}/run"), &of_a_run, b"").await;
        house.wait_for(text(&run.expect(201)["id"]), "SUCCESS").await;
    }
    for verb in ["run", "retry"] {
        let path = format!("{path}/{verb}");
        let refused = send(house.address(), "POST", &path, &of_a_run, b"").await;
        let problem = refused.expect(409);
        assert_eq!(problem["type"], "urn:chronos:problem:loop", "{problem}");
        let detail = text(&problem["detail"]);
        assert!(detail.starts_with("runs ask for runs in a loop: "), "{problem}");
        assert!(detail.contains(" of job \"often\" belong to the trace 4bf92f35"), "{problem}");
        let untold = send(house.address(), "POST", &path, "Chronos-Execution-Id: x\r\n", b"").await;
        assert!(text(&untold.expect(409)["detail"]).contains("without its traceparent"));
        // Whoever is no run may ask as often as they like.
        let run = send(house.address(), "POST", &path, PARENT, b"").await.expect(201);
        house.wait_for(text(&run["id"]), "SUCCESS").await;
    }
    let request = chronos_server::proto::RunJobRequest { job: "often".into() };
    let mut request = tonic::Request::new(request);
    let parent = PARENT.trim_start_matches("traceparent: ").trim_end();
    request.metadata_mut().insert("traceparent", parent.parse().unwrap());
    request.metadata_mut().insert("chronos-execution-id", "x".parse().unwrap());
    let refused = soon(house.client.run_job(request)).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition, "{refused}");
    house.close().await;
}
