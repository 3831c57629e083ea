//! What answers mean, and that none of them can do harm.

use std::time::Duration;

use chronos_core::execution::Response;
use chronos_engine::{Http, NewJob};
use tokio::net::TcpListener;

use super::server::{Answer, Server};
use super::{Lab, failure_of, lasting, passing, response_of, run_of, seldom};

const SHORT: Duration = Duration::from_millis(300);

fn to(server: &Server) -> Http {
    Http::new(&server.url("/hook?token=hunter2")).unwrap()
}

#[tokio::test]
async fn statuses_end_a_run_as_they_mean() {
    for (status, expected, is_success) in [
        (200, vec![], true),
        (299, vec![], true),
        (404, vec![200, 404], true),
        (304, vec![304], true),
        (200, vec![404], false),
        (404, vec![], false),
    ] {
        let server = Server::answering(Answer::status(status, "")).await;
        let request = to(&server).with_expected(expected).unwrap();
        let execution = Lab::calling(request).await.run_once().await;
        assert_eq!(execution.status() == "SUCCESS", is_success, "{status}");
        assert_eq!(response_of(&execution).status, status);
    }
}

#[tokio::test]
async fn an_answer_that_will_repeat_is_not_asked_for_again() {
    let server = Server::answering(Answer::status(404, "")).await;
    let attempts = Lab::retrying(to(&server), 5).await.run().await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(lasting(&attempts[0]), "answered 404 Not Found");
    assert_eq!(server.seen().requests.len(), 1);
}

#[tokio::test]
async fn an_answer_that_may_pass_is_asked_for_again_until_retries_are_used_up() {
    for status in [408, 425, 429, 500, 503] {
        let server = Server::answering(Answer::status(status, "")).await;
        let attempts = Lab::retrying(to(&server), 1).await.run().await;
        assert_eq!(attempts.len(), 2, "{status}");
        for attempt in &attempts {
            assert!(passing(attempt).starts_with(&format!("answered {status} ")));
        }
        assert_eq!(server.seen().requests.len(), 2);
    }
}

#[tokio::test]
async fn an_endpoint_that_asks_for_patience_gets_it() {
    for (asked, waits) in [("3600", 3_600), ("999999999", 86_400), ("-1", 0), ("soon", 0)] {
        let lines = format!("retry-after: {asked}\r\n");
        let server = Server::answering(Answer::status(429, &lines)).await;
        let delays = (Duration::from_millis(2), Duration::from_hours(2_400));
        let job = seldom().http(to(&server)).retries(1).retry_delay(delays.0, delays.1);
        let lab = Lab::with(job).await;
        let first = lab.run_job("call").await.unwrap();
        let slot = lab.store().execution(first).await.unwrap().slot;
        let attempts = lab.past(|attempts| attempts.len() == 2, slot).await;
        let waited = attempts[1].run_at.since(run_of(&attempts[0]).finished_at);
        assert_eq!(waited.as_secs(), waits, "{asked}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let inside = Server::answering(Answer::ok("inside")).await;
    let (absolute, relative) = (inside.url("/"), format!("//{}/", inside.address));
    for status in [301, 302, 303, 307, 308] {
        for location in [
            "/elsewhere",
            &absolute,
            &relative,
            "http://169.254.169.254/latest/meta-data/",
            "file:///etc/passwd",
            "gopher://127.0.0.1:6379/_FLUSHALL",
        ] {
            let lines = format!("location: {location}\r\n");
            let server = Server::answering(Answer::status(status, &lines)).await;
            let execution = Lab::calling(to(&server)).await.run_once().await;
            let text = lasting(&execution);
            assert!(text.ends_with("redirects are not followed"), "{location}: {text}");
            assert_eq!(response_of(&execution).status, status, "{location}");
            assert_eq!(server.seen().requests.len(), 1, "{location}");
        }
    }
    assert_eq!(inside.seen().requests.len(), 0);
}

#[tokio::test]
async fn an_endpoint_that_does_not_finish_in_time_has_failed_in_a_way_that_may_pass() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec();
    let often = Duration::from_millis(20);
    let going_on = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
    for (answer, status) in [
        (Answer::Silence, None),
        (Answer::Bytes(b"HTTP/1.1 200 OK\r\n".to_vec()), None),
        (Answer::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), b"y".to_vec(), often), None),
        (Answer::Endless(Vec::new(), going_on, Duration::from_millis(1)), None),
        (Answer::Bytes(head.clone()), Some(200)),
        (Answer::Endless(head, b"x".to_vec(), often), Some(200)),
    ] {
        let server = Server::answering(answer.clone()).await;
        let request = to(&server).with_timeout(SHORT).unwrap();
        let execution = Lab::calling(request).await.run_once().await;
        let expected = format!("no full answer from {} within 300ms", server.address);
        assert_eq!(passing(&execution), expected, "{answer:?}");
        assert!(run_of(&execution).took >= SHORT, "{answer:?}");
        let response = run_of(&execution).response.as_deref();
        assert_eq!(response.map(|response| response.status), status, "{answer:?}");
        // Nobody goes on listening.
        server.until(|seen| seen.closed == 1).await;
    }
}

#[tokio::test]
async fn an_answer_must_begin_in_its_time_and_may_go_on_longer() {
    let silent = Server::answering(Answer::Silence).await;
    let request = to(&silent).with_first_byte_timeout(Some(SHORT)).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    let expected = format!("no answer from {} began within 300ms", silent.address);
    assert_eq!(passing(&execution), expected);
    silent.until(|seen| seen.closed == 1).await;
    let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    let slow = Answer::Endless(head, b"x".to_vec(), Duration::from_millis(20));
    let slow = Server::answering(slow).await;
    let request = to(&slow).with_timeout(SHORT * 2).unwrap();
    let request = request.with_first_byte_timeout(Some(SHORT)).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    assert_eq!(response_of(&execution).status, 200, "it began");
    assert!(run_of(&execution).took >= SHORT * 2);
}

#[tokio::test]
async fn a_connection_must_be_made_in_its_time() {
    // The handshake is a part of it, and this peer never shakes hands.
    let silent = Server::answering(Answer::Silence).await;
    let request = Http::new(&format!("https://{}/", silent.address)).unwrap();
    let request = request.with_connect_timeout(Some(SHORT)).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    let expected = format!("no connection to {} within 300ms", silent.address);
    assert_eq!(passing(&execution), expected);
}

#[tokio::test]
async fn a_time_limit_of_the_job_is_another_matter() {
    let server = Server::answering(Answer::Silence).await;
    let job = seldom().http(to(&server)).max_execution_time(SHORT);
    let execution = Lab::with(job).await.run_once().await;
    assert_eq!(execution.status(), "TIMED_OUT");
    server.until(|seen| seen.closed == 1).await;
}

#[tokio::test]
async fn a_body_without_end_is_cut_and_its_connection_closed() {
    let piece = vec![b'x'; 16 * 1024];
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
    ] {
        let answer = Answer::Endless(head.into(), piece.clone(), Duration::ZERO);
        let server = Server::answering(answer).await;
        let execution = Lab::calling(to(&server)).await.run_once().await;
        assert_eq!(execution.status(), "SUCCESS");
        let response = response_of(&execution);
        assert_eq!((response.body.len(), response.truncated), (Response::MAX_BODY, true));
        server.until(|seen| seen.closed == 1).await;
        // What the kernel buffers for both sides, and nothing like what was on offer.
        let written = server.seen().written;
        assert!(written < 32 * 1024 * 1024, "{written}");
    }
}

#[tokio::test]
async fn a_body_that_just_fits_is_whole_and_kept_as_it_came() {
    let body: Vec<u8> = (0..=255).cycle().take(Response::MAX_BODY).collect();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let server = Server::answering(Answer::Bytes([head.as_bytes(), &body].concat())).await;
    let execution = Lab::calling(to(&server)).await.run_once().await;
    let response = response_of(&execution);
    assert_eq!((&*response.body, response.truncated), (&*body, false));
}

#[tokio::test]
async fn packed_bodies_stay_packed() {
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n";
    let server =
        Server::answering(Answer::Bytes([head.as_bytes(), b"\x1f\x8b\x08\0"].concat())).await;
    let execution = Lab::calling(to(&server)).await.run_once().await;
    assert_eq!(&*response_of(&execution).body, b"\x1f\x8b\x08\0");
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_makes_no_sense_may_pass() {
    let long_line = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1024 * 1024));
    let many_lines = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000));
    for answer in [
        String::new(),
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf".into(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n".into(),
        "SSH-2.0-OpenSSH_9.2\r\n".into(),
        "HTTP/1.1 0 None\r\n\r\n".into(),
        long_line,
        many_lines,
    ] {
        let server = Server::answering(Answer::Last(answer.clone().into_bytes())).await;
        let execution = Lab::calling(to(&server)).await.run_once().await;
        let text = passing(&execution);
        let begins = format!("no full answer from {}: ", server.address);
        assert!(text.starts_with(&begins) && text.len() < 300, "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_may_come_back() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let request = Http::new(&format!("http://{address}/hook?token=hunter2")).unwrap();
    let lab = Lab::retrying(request, 1).await;
    let attempts = lab.run().await;
    assert_eq!(attempts.len(), 2);
    let text = passing(&attempts[0]);
    assert_eq!(text, format!("no connection to {address}: Connection refused (os error 111)"));
    assert_eq!(run_of(&attempts[0]).response, None);
}

#[tokio::test]
async fn a_host_without_an_address_may_get_one() {
    // No label of a name may be this long, so no name server needs to be asked.
    let host = "x".repeat(64);
    let request = Http::new(&format!("http://{host}.invalid/hook?token=hunter2")).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    let text = passing(&execution);
    assert!(text.starts_with(&format!("no connection to {host}.invalid: ")), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn an_endpoint_that_speaks_no_tls_is_not_trusted() {
    let server = Server::answering(Answer::ok("")).await;
    let url = format!("https://{}/", server.address);
    let request = Http::new(&url).unwrap().with_timeout(SHORT).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    assert!(passing(&execution).starts_with("no "), "{:?}", failure_of(&execution));
    assert!(server.seen().requests.is_empty());
}

#[tokio::test]
async fn a_deaf_endpoint_holds_up_no_other() {
    let (deaf, quick) =
        (Server::answering(Answer::Silence).await, Server::answering(Answer::ok("")).await);
    let lab = Lab::calling(to(&quick)).await;
    let deaf_job = NewJob::named("deaf").every(Duration::from_hours(24)).http(to(&deaf));
    let overlap = chronos_engine::OverlapPolicy::Concurrent;
    lab.schedule(deaf_job.overlap(overlap)).await.unwrap();
    for _ in 0..50 {
        lab.run_job("deaf").await.unwrap();
    }
    deaf.until(|seen| seen.requests.len() == 50).await;
    assert_eq!(lab.run_once().await.status(), "SUCCESS");
}
