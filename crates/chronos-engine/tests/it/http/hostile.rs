//! Hostile endpoints: whatever they answer costs this machine little, and no run hangs on it.

use std::time::Duration;

use chronos_core::execution::Response;
use chronos_engine::{Execution, Http};

use super::environment::is_within;
use super::server::{Answer, Server};
use super::{LONG, Lab, bombs, passing, response_of};

/// Far less than a flood brings, and more than the buffers of two sockets hold.
pub(super) const FEW: usize = 16 << 20;

async fn called(server: &Server, timeout: Duration) -> Execution {
    let request = Http::new(&server.url("/")).unwrap().with_timeout(timeout).unwrap();
    tokio::time::timeout(LONG, Lab::calling(request).await.run_once()).await.unwrap()
}

/// An answer that begins like this and goes on like this for ever.
async fn flood(head: &str, piece: &str) -> Server {
    let (head, piece) = (head.as_bytes().to_vec(), piece.repeat(64).into_bytes());
    Server::answering(Answer::Endless(head, piece, Duration::ZERO)).await
}

#[tokio::test]
async fn a_head_without_end_is_given_up() {
    let long = "x".repeat(1_024);
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n", "x-flood: and again\r\n"),
        ("HTTP/1.1 200 OK\r\nx-flood: ", long.as_str()),
        ("HTTP/1.1 200 ", long.as_str()),
        ("", long.as_str()),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;", long.as_str()),
    ] {
        let server = flood(head, piece).await;
        let why = passing(&called(&server, LONG).await);
        assert!(why.starts_with("no full answer from 127.0.0.1:"), "{head}: {why}");
        server.until(|seen| seen.closed == 1).await;
        assert!(server.seen().written < FEW, "{head}: {}", server.seen().written);
    }
}

#[tokio::test]
async fn answers_before_the_answer_use_up_the_time_of_the_request() {
    for answer in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let answer = Answer::Endless(Vec::new(), answer.into(), Duration::from_millis(1));
        let server = Server::answering(answer).await;
        let why = passing(&called(&server, Duration::from_millis(200)).await);
        assert!(why.contains("within 200ms"), "{why}");
    }
}

#[tokio::test]
async fn a_connection_is_not_switched_to_another_protocol() {
    let switched = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    let server = flood(switched, "noise").await;
    let execution = called(&server, Duration::from_secs(2)).await;
    assert_eq!(execution.status(), "FAILED", "{execution:?}");
    assert!(server.seen().written < FEW, "{}", server.seen().written);
}

#[tokio::test]
async fn what_comes_after_the_body_is_not_read_as_the_next_answer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    let server = flood(head, "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged").await;
    let lab = Lab::calling(Http::new(&server.url("/")).unwrap()).await;
    for _ in 0..3 {
        let execution = lab.run_once().await;
        assert_eq!(response_of(&execution).body.as_ref(), b"hello");
    }
    assert_eq!(server.seen().requests.last().unwrap().connection, 3);
}

#[tokio::test]
async fn a_small_body_that_unpacks_to_a_large_one_stays_small() {
    for (packed, bomb) in [
        ("gzip", bombs::gzip()),
        ("gzip, gzip", bombs::gzip_within_gzip()),
        ("br", bombs::brotli()),
        ("zstd", bombs::zstd()),
    ] {
        assert!(bomb.len() < Response::MAX_BODY, "{packed}");
        let lines = format!("content-encoding: {packed}\r\ncontent-length: {}", bomb.len());
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n");
        let server = Server::answering(Answer::Bytes([head.as_bytes(), &bomb].concat())).await;
        let execution = called(&server, LONG).await;
        let response = response_of(&execution);
        assert_eq!((response.body.as_ref(), response.truncated), (&*bomb, false), "{packed}");
        assert!(server.seen().requests[0].all("accept-encoding").is_empty());
    }
}

/// Kilobytes that this process has in memory.
pub(super) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// `CHRONOS_HOSTILE_GIB` says how much is poured out; 64 MiB unless told.
#[tokio::test]
async fn memory_stays_as_it_is_however_much_is_poured_out() {
    if !is_within("http::hostile::memory_stays_as_it_is_however_much_is_poured_out", &[]) {
        return;
    }
    let gib = std::env::var("CHRONOS_HOSTILE_GIB").map(|text| text.parse::<usize>().unwrap());
    let poured = gib.map_or(64 << 20, |gib| gib << 30);
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let answer = Answer::Endless(head, vec![b'x'; 1 << 20], Duration::ZERO);
    let server = Server::answering(answer).await;
    let lab = Lab::calling(Http::new(&server.url("/")).unwrap()).await;
    // Until as many bodies are kept as ever are.
    for _ in 0..120 {
        assert!(response_of(&lab.run_once().await).truncated);
    }
    let (before, until) = (resident(), server.seen().written + poured);
    while server.seen().written < until {
        assert!(response_of(&lab.run_once().await).truncated);
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 * 1_024, "{grown} KiB more for {poured} bytes");
}
