//! The REST API of a real daemon on a free port, over real sockets.

mod backfilling;
mod bulk;
mod changing;
mod creating;
mod cutting;
mod documenting;
pub(crate) mod events;
mod explaining;
mod extremes;
mod hiding;
mod listing;
mod looping;
mod monitoring;
mod notifying;
mod once;
mod pausing;
mod previewing;
mod quiet_hours;
mod reaching;
mod refusing;
mod running;
mod tracing;
mod watching;

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::daemon::house::House;
use crate::daemon::soon;

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body, of an answer with this status.
    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// What a problem says about the field that it names first.
    #[track_caller]
    pub(super) fn refused(self, status: u16) -> (String, String) {
        let kind = self.header("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{self:?}");
        let problem = self.expect(status);
        assert_eq!(problem["status"], status);
        assert!(problem["type"].as_str().unwrap().starts_with("urn:chronos:problem:"));
        assert!(!problem["title"].as_str().unwrap().is_empty(), "{problem}");
        let field = problem["errors"][0]["field"].as_str().unwrap_or_default();
        (field.to_owned(), problem.to_string())
    }
}

/// Sends a request with these further lines in its head.
pub(super) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    lines: &str,
    body: &[u8],
) -> Answer {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{lines}\r\n"
    );
    let mut stream = soon(TcpStream::connect(address)).await.unwrap();
    // A server that refuses early may close before it has read everything.
    let _ = soon(stream.write_all(head.as_bytes())).await;
    let _ = soon(stream.write_all(body)).await;
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: head.into(), text: text.into() }
}

pub(super) const JSON: &str = "Content-Type: application/json\r\n";

impl House {
    pub(super) async fn get(&self, path: &str) -> Answer {
        send(self.address(), "GET", path, "", b"").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        send(self.address(), "POST", path, JSON, body.to_string().as_bytes()).await
    }

    /// A request that says all by its path.
    pub(super) async fn ask(&self, method: &str, path: &str) -> Answer {
        send(self.address(), method, path, "", b"").await
    }

    pub(super) async fn patch(&self, id: &str, lines: &str, body: &Value) -> Answer {
        self.patch_at(&format!("/jobs/{id}"), lines, body).await
    }

    /// A change of whatever is at this path.
    pub(super) async fn patch_at(&self, path: &str, lines: &str, body: &Value) -> Answer {
        let lines = format!("{JSON}{lines}");
        send(self.address(), "PATCH", path, &lines, body.to_string().as_bytes()).await
    }

    /// A recurring job, which is made.
    pub(super) async fn make(&self, body: &Value) -> Value {
        self.post("/jobs/recurring", body).await.expect(201)
    }

    /// The execution once it has the status.
    pub(super) async fn wait_for(&self, id: &str, status: &str) -> Value {
        soon(async {
            loop {
                let execution = self.get(&format!("/executions/{id}")).await.expect(200);
                if execution["status"] == status {
                    return execution;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

/// A job that calls a handler of the house every hour.
pub(super) fn hourly(name: &str, handler: &str) -> Value {
    json!({
        "name": name,
        "schedule": {"type": "interval", "seconds": 3_600},
        "target": {"type": "handler", "name": handler},
    })
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}
