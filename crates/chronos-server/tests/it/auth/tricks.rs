//! Tricks: other spellings of paths and methods, and headers of tokens that ask for more, change nothing.

use std::io::ErrorKind;
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::forging::{claims_of, token};
use super::{Estate, KEY, Someone};
use crate::rest::{hourly, text};

/// Somebody's job, and a viewer who would like to change it.
async fn viewer() -> (Estate, Someone, Someone, Value) {
    let (estate, ada) = Estate::open().await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let job = ada.post("/jobs/recurring", &hourly("precious", "succeed")).await.expect(201);
    (estate, ada, vic, job)
}

#[tokio::test]
async fn a_header_or_a_parameter_makes_no_other_method_of_a_read() {
    let (estate, ada, vic, job) = viewer().await;
    let path = format!("/jobs/{}", text(&job["id"]));
    for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"] {
        for method in ["DELETE", "PATCH", "POST"] {
            let lines = format!("{name}: {method}\r\n");
            assert_eq!(vic.send("GET", &path, &lines, b"").await.expect(200), job);
            // Nor does it make a read of what changes something.
            let lines = format!("{name}: GET\r\n");
            vic.send("DELETE", &path, &lines, b"").await.refused(403);
            vic.get(&format!("/jobs?{name}={method}")).await.refused(400);
        }
    }
    for method in ["delete", "Delete", "DELETE\u{9}", "DELETEX", "PURGE", "PROPFIND", "TRACE"] {
        let status = vic.ask(method, &path).await.status;
        assert!(matches!(status, 400 | 403 | 405), "{method}: {status}");
    }
    assert_eq!(ada.get(&path).await.expect(200), job);
    estate.close().await;
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_past_the_table() {
    let (estate, ada, vic, job) = viewer().await;
    let (id, host) = (text(&job["id"]), vic.address);
    let upper = id.to_uppercase();
    for path in [
        format!("/jobs/{id}"),
        format!("/jobs/{upper}"),
        format!("/jobs/{id}/"),
        format!("//jobs/{id}"),
        format!("/jobs//{id}"),
        format!("/./jobs/{id}"),
        format!("/%2e/jobs/{id}"),
        format!("/jobs/%2e/{id}"),
        format!("/jobs/x/../{id}"),
        format!("/jobs/x/%2e%2e/{id}"),
        format!("/jobs%2f{id}"),
        format!("/%6aobs/{id}"),
        format!("/JOBS/{id}"),
        format!("/jobs/{id};x=1"),
        format!("/jobs/{id}%00"),
        format!("/jobs/{id}?purge=true"),
        format!("/docs/../jobs/{id}"),
        format!("/auth/login/../../jobs/{id}"),
        format!("http://{host}/jobs/{id}"),
    ] {
        let status = vic.ask("DELETE", &path).await.status;
        assert!(matches!(status, 400 | 403 | 404 | 405 | 421), "{path}: {status}");
    }
    for path in [
        "/users",
        "/users/",
        "//users",
        "/./users",
        "/%75sers",
        "/USERS",
        "/users%2f",
        "/jobs/../users",
        "/jobs/%2e%2e/users",
        "/users;x",
        "/auth/audit",
        "/auth/audit/",
        "/auth//audit",
        "/auth/%61udit",
        "/auth/Audit",
    ] {
        let answer = vic.get(path).await;
        assert!(matches!(answer.status, 400 | 403 | 404), "{path}: {}", answer.status);
        assert!(!answer.text.contains("\"username\""), "{path}: {}", answer.text);
    }
    assert_eq!(ada.get(&format!("/jobs/{id}")).await.expect(200), job);
    estate.close().await;
}

#[tokio::test]
async fn no_spelling_of_a_method_of_grpc_leads_past_the_table() {
    let (estate, ada, vic, job) = viewer().await;
    let id = text(&job["id"]);
    // Field 1, the job, in a frame: what DeleteJob would take.
    let mut frame = vec![0, 0, 0, 0, 38, 10, 36];
    frame.extend(id.as_bytes());
    for path in [
        "/chronos.v1.Scheduler/DeleteJob",
        "/chronos.v1.Scheduler/DeleteJob/",
        "/chronos.v1.Scheduler//DeleteJob",
        "//chronos.v1.Scheduler/DeleteJob",
        "/chronos.v1.Scheduler/%44eleteJob",
        "/chronos.v1.Scheduler/deletejob",
        "/chronos.v1.scheduler/DeleteJob",
        "/chronos.v1.Scheduler/GetJob/../DeleteJob",
        "/chronos.v1.Scheduler/DeleteJob?x=/chronos.v1.Scheduler/GetJob",
        "/grpc.health.v1.Health/../chronos.v1.Scheduler/DeleteJob",
    ] {
        let lines = "Content-Type: application/grpc\r\nTE: trailers\r\n";
        let answer = vic.send("POST", path, lines, &frame).await;
        let code = answer.header("grpc-status");
        assert!(matches!(code, Some("7" | "12")), "{path}: {answer:?}");
    }
    assert_eq!(ada.get(&format!("/jobs/{id}")).await.expect(200), job);
    // The same frame does what it says for whoever may.
    let lines = "Content-Type: application/grpc\r\nTE: trailers\r\n";
    let done = ada.send("POST", "/chronos.v1.Scheduler/DeleteJob", lines, &frame).await;
    assert_eq!(done.status, 200, "{done:?}");
    ada.get(&format!("/jobs/{id}")).await.refused(404);
    estate.close().await;
}

#[tokio::test]
async fn a_token_that_names_a_key_elsewhere_is_refused_and_nobody_goes_there() {
    let (estate, ada) = Estate::open().await;
    let claims = claims_of(ada.token.as_ref().unwrap()).to_string();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let url = format!("http://{}/keys", elsewhere.local_addr().unwrap());
    let own = URL_SAFE_NO_PAD.encode(KEY);
    for (name, value) in [
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("jwk", json!({"kty": "oct", "alg": "HS256", "k": own})),
        ("x5c", json!([own])),
        ("x5t", json!(own)),
        ("kid", json!(url)),
        ("kid", json!("../../../../etc/passwd")),
        ("kid", json!("/dev/zero")),
        ("kid", json!("' OR 1=1; DROP TABLE chronos.users; --")),
        ("kid", json!("k".repeat(10 * 1024))),
        ("kid", json!({"a": [1]})),
    ] {
        let header = json!({"typ": "JWT", "alg": "HS256", name: value}).to_string();
        let forged = token(&header, &claims, KEY);
        let answer = ada.with_token(&*forged).get("/jobs").await;
        assert_eq!(answer.status, 401, "{name}: {}", answer.text);
        assert!(!answer.text.contains("kkkk") && !answer.text.contains("passwd"), "{answer:?}");
    }
    let nobody = elsewhere.accept().unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock, "somebody came for a key");
    ada.get("/jobs").await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn a_token_of_a_megabyte_is_refused_before_it_is_looked_at() {
    let (estate, ada) = Estate::open().await;
    let huge = "x".repeat(1_000_000);
    for token in [huge.clone(), format!("{}.{huge}", ada.token.clone().unwrap())] {
        // A server that refuses early may close before it has read everything.
        let status = ada.with_token(token).get("/jobs").await.status;
        assert!(matches!(status, 431 | 0), "{status}");
    }
    for length in [2_049, 8_000] {
        ada.with_token("x".repeat(length)).get("/jobs").await.refused(401);
    }
    ada.get("/jobs").await.expect(200);
    estate.close().await;
}
