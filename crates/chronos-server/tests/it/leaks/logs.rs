//! What is logged and told, at the finest level, while everything fails.

use std::fmt::Write;
use std::time::Duration;

use chronos_server::proto::{ListExecutionsRequest, ListJobsRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{
    BODY, HEADER, NOTICE_HEADER, NOTICE_QUERY, NOTICE_SIGNING, PLAIN, QUERY, SIGNING, canaries,
    secrets,
};
use crate::auth::{Someone, credentials};
use crate::client::house::Endpoint;
use crate::daemon::soon;
use crate::rest::text;
use crate::serving::Serving;

/// An address where every request gets this answer, which need not be one, and then the end.
async fn saying(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 8_192]).await;
            let _ = stream.write_all(answer).await;
        }
    });
    url
}

/// An address where nobody listens.
async fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/hook", listener.local_addr().unwrap())
}

/// All that somebody can be told about these jobs.
async fn told(someone: &Someone, jobs: &[Value]) -> String {
    let mut told = String::new();
    for path in ["/jobs?limit=1000", "/dead-letters", "/metrics", "/monitoring/jobs", "/auth/audit"]
    {
        told.push_str(&someone.get(path).await.text);
    }
    let mut grpc = someone.grpc().await;
    let listed = grpc.list_jobs(ListJobsRequest::default()).await.unwrap();
    write!(told, "{listed:?}").unwrap();
    for job in jobs {
        let id = text(&job["id"]);
        told.push_str(&someone.get(&format!("/jobs/{id}")).await.text);
        told.push_str(&someone.get(&format!("/jobs/{id}/executions")).await.text);
        let list = ListExecutionsRequest { job: id.into(), ..ListExecutionsRequest::default() };
        write!(told, "{:?}", grpc.list_executions(list).await.unwrap()).unwrap();
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_a_job_is_logged_or_told_while_everything_fails() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut process, address) = Serving::over(&data, &["--log", "trace"]).await;
    let anyone = Someone { address, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let failing = Endpoint::answering("500 Internal Server Error");
    let webhook = Endpoint::answering("503 Service Unavailable");
    let mut jobs = Vec::new();
    for (name, url) in [
        ("fails", failing.url()),
        ("refused", closed().await),
        ("breaks off", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf").await),
        ("makes no sense", saying(b"\x16\x03\x01 nonsense \xff").await),
        ("says nothing", saying(b"").await),
        ("leads on", saying(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n").await),
    ] {
        let job = canaries(name, &url, &webhook.url());
        jobs.push(ada.post("/jobs/recurring", &job).await.expect(201));
    }
    // What is refused is not repeated, either.
    for field in ["target", "notify"] {
        let mut bad = canaries("bad", &failing.url(), &webhook.url());
        bad[field]["signing_secret"] = json!(format!("{HEADER} {SIGNING} {NOTICE_SIGNING} too"));
        let (_, problem) = ada.post("/jobs/recurring", &bad).await.refused(422);
        assert!(secrets().iter().all(|secret| !problem.contains(secret)), "{problem}");
    }
    for job in &jobs {
        ada.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    }
    // Each has failed for good, and its webhook was told.
    let patience = Duration::from_secs(30);
    let request = failing.requests.recv_timeout(patience).unwrap();
    assert!(request.contains(&format!("authorization: {HEADER}\r\n")), "{request}");
    assert!(request.contains(QUERY) && request.contains(BODY), "{request}");
    for _ in &jobs {
        let notice = webhook.requests.recv_timeout(patience).unwrap();
        assert!(notice.contains(NOTICE_HEADER) && notice.contains(NOTICE_QUERY), "{notice}");
    }
    soon(async {
        while ada.get("/dead-letters").await.expect(200)["items"].as_array().unwrap().len() < 6 {}
    })
    .await;
    for (someone, sees_queries) in [(&ada, true), (&vic, false)] {
        let told = told(someone, &jobs).await;
        for secret in secrets() {
            assert!(!told.contains(secret), "{secret} is told");
        }
        assert!(told.contains(PLAIN) && told.contains("FAILED"), "{told}");
        assert_eq!(told.contains(QUERY), sees_queries);
        assert_eq!(told.contains(NOTICE_QUERY), sees_queries);
    }
    process.signal("TERM");
    let logged = process.rest_of_log().await;
    let libraries = ["\"hyper", "\"h2", "\"reqwest", "\"sqlx", "\"tonic"];
    let heard = libraries.iter().filter(|library| logged.contains(*library)).count();
    assert!(logged.contains("\"TRACE\"") && heard > 0, "the libraries are heard, too");
    assert!(logged.contains("Job failed"), "failures are logged");
    for canary in secrets().into_iter().chain([QUERY, NOTICE_QUERY, BODY]) {
        let line = logged.lines().find(|line| line.contains(canary));
        assert_eq!(line, None, "{canary} is logged");
    }
}
