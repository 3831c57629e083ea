//! What an endpoint is sent, byte by byte.

use std::time::Duration;

use chronos_engine::{Http, Method};

use super::server::{Answer, Server};
use super::{Lab, response_of, run_of};

#[tokio::test]
async fn a_request_says_what_was_asked_for_and_which_run_it_serves() {
    let server = Server::answering(Answer::ok("done")).await;
    let request = Http::new(&server.url("/hook?kind=daily"))
        .and_then(|http| http.with_header("X-Note", "tabs\tand \"quotes\" and ~"))
        .and_then(|http| http.with_body(r#"{"pages": 3}"#))
        .unwrap();
    let lab = Lab::calling(request).await;
    let execution = lab.run_once().await;
    assert_eq!(execution.status(), "SUCCESS");

    let request = server.seen().requests.remove(0);
    assert_eq!(request.line(), "POST /hook?kind=daily HTTP/1.1");
    assert_eq!(request.body, br#"{"pages": 3}"#);
    for (name, value) in [
        ("Host", server.address.to_string()),
        ("Content-Length", "12".into()),
        ("Content-Type", "application/json".into()),
        ("User-Agent", format!("chronos/{}", env!("CARGO_PKG_VERSION"))),
        ("X-Note", "tabs\tand \"quotes\" and ~".into()),
        ("Chronos-Execution-Id", execution.id.to_string()),
        ("Chronos-Attempt", "1".into()),
        ("Chronos-Fence", run_of(&execution).token.0.to_string()),
        ("Chronos-Job", execution.job.to_string()),
        ("Chronos-Scheduled-For", execution.slot.to_string()),
        ("Idempotency-Key", execution.id.to_string()),
        ("traceparent", trace_of(&execution)),
    ] {
        assert_eq!(request.header(name), value, "{name}");
    }
    // Nobody asks for what nobody would unpack.
    assert!(request.all("Accept-Encoding").is_empty());

    let response = response_of(&execution);
    assert_eq!((response.status, &*response.body, response.truncated), (200, &b"done"[..], false));
    let took = run_of(&execution).took;
    assert!(Duration::ZERO < response.took && response.took <= took, "{response:?} of {took:?}");
}

/// The trace of a first attempt: its own id, and a span from the same.
fn trace_of(execution: &chronos_engine::Execution) -> String {
    let id = execution.id.to_string().replace('-', "");
    format!("00-{id}-{}-01", &id[12..28])
}

#[tokio::test]
async fn usual_headers_give_way_to_those_asked_for() {
    let server = Server::answering(Answer::ok("")).await;
    let request = Http::new(&server.url("/"))
        .and_then(|http| http.with_header("user-agent", "mine"))
        .and_then(|http| http.with_header("content-type", "text/plain"))
        .and_then(|http| http.with_header("X-Twice", "one"))
        .and_then(|http| http.with_header("X-Twice", "two"))
        .and_then(|http| http.with_body("hello"))
        .unwrap();
    Lab::calling(request).await.run_once().await;
    let request = server.seen().requests.remove(0);
    assert_eq!(request.header("User-Agent"), "mine");
    assert_eq!(request.header("Content-Type"), "text/plain");
    assert_eq!(request.all("X-Twice"), ["one", "two"]);
}

#[tokio::test]
async fn each_method_is_sent_as_it_is() {
    let server = Server::answering(Answer::status(200, "")).await;
    for method in Method::ALL {
        let request = Http::new(&server.url("/")).unwrap().with_method(method).unwrap();
        let execution = Lab::calling(request).await.run_once().await;
        assert_eq!(execution.status(), "SUCCESS", "{method:?}");
        let request = server.seen().requests.pop().unwrap();
        assert_eq!(request.line(), format!("{} / HTTP/1.1", method.as_str()));
        assert!(request.all("Content-Type").is_empty());
    }
}

#[tokio::test]
async fn nothing_in_a_url_can_split_a_request() {
    let server = Server::answering(Answer::ok("")).await;
    let path = "/a b%0d%0aX-Evil: 1?q=%0D%0A\" HTTP/1.1&u=ü#part";
    let request = Http::new(&server.url(path)).unwrap();
    assert_eq!(Lab::calling(request).await.run_once().await.status(), "SUCCESS");
    let seen = server.seen();
    assert_eq!(seen.requests.len(), 1);
    let line = "POST /a%20b%0d%0aX-Evil:%201?q=%0D%0A%22%20HTTP/1.1&u=%C3%BC HTTP/1.1";
    assert_eq!(seen.requests[0].line(), line);
    assert!(seen.requests[0].all("X-Evil").is_empty());
}

#[tokio::test]
async fn the_key_is_one_for_all_attempts_at_a_slot_and_another_for_the_next() {
    let busy = Answer::status(503, "");
    let answers = vec![busy.clone(), busy, Answer::ok("")];
    let server = Server::in_turn(answers).await;
    let lab = Lab::retrying(Http::new(&server.url("/")).unwrap(), 5).await;
    let attempts = lab.run().await;
    let statuses: Vec<_> = attempts.iter().map(|attempt| response_of(attempt).status).collect();
    assert_eq!(statuses, [503, 503, 200]);
    lab.run().await;

    let requests = server.seen().requests;
    let all = |name: &str| -> Vec<String> {
        requests.iter().map(|request| request.header(name).to_owned()).collect()
    };
    assert_eq!(all("Chronos-Attempt"), ["1", "2", "3", "1"]);
    let keys = all("Idempotency-Key");
    assert!(keys[0] == keys[1] && keys[1] == keys[2], "{keys:?}");
    assert_ne!(keys[2], keys[3]);
    let fences: Vec<u64> =
        all("Chronos-Fence").iter().map(|fence| fence.parse().unwrap()).collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
    let mut ids = all("Chronos-Execution-Id");
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn runs_share_a_connection() {
    let server = Server::answering(Answer::ok("hello")).await;
    let lab = Lab::calling(Http::new(&server.url("/")).unwrap()).await;
    for _ in 0..3 {
        assert_eq!(lab.run_once().await.status(), "SUCCESS");
    }
    let connections: Vec<_> = server.seen().requests.iter().map(|r| r.connection).collect();
    assert_eq!(connections, [1, 1, 1]);
}
