//! Reach: where jobs may call, said when they are made, and held to when they run.

use chronos_core::http::Reach;
use serde_json::json;

use super::{hourly, text};
use crate::daemon::house::{House, config};

/// A house whose jobs may call what these rules allow.
async fn allowing(rules: &[&str]) -> House {
    let mut config = config();
    config.scheduler.reach = Reach::public(rules.iter().map(|rule| rule.parse().unwrap()));
    House::with(config).await
}

#[tokio::test]
async fn a_job_that_calls_what_is_not_public_is_refused_with_what_to_do() {
    let house = allowing(&["10.0.0.0/8", "169.254.0.0/16"]).await;
    let long = "https://example.com/";
    for (url, host) in [
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://localhost./", "localhost."),
        ("http://192.168.0.1/", "192.168.0.1"),
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("http://metadata.google.internal/", "metadata.google.internal"),
    ] {
        let mut job = hourly("job", "");
        job["target"] = json!({"type": "http", "url": url});
        let (field, problem) = house.post("/jobs/recurring", &job).await.refused(422);
        assert_eq!(field, "target.url", "{url}: {problem}");
        assert!(problem.contains("is not public, and nobody allowed it"), "{url}: {problem}");
        assert!(problem.contains(&format!("--allow-target {host}")), "{url}: {problem}");
    }
    let mut job = hourly("job", "");
    job["target"] = json!({"type": "http", "url": long});
    let job = house.make(&job).await;
    let inwards = json!({"target": {"url": "http://127.0.0.1/"}});
    let (field, _) = house.patch(text(&job["id"]), "", &inwards).await.refused(422);
    assert_eq!(field, "target.url");
    let allowed = json!({"target": {"url": "http://10.1.2.3/"}});
    house.patch(text(&job["id"]), "", &allowed).await.expect(200);
    house.close().await;
}

#[tokio::test]
async fn a_zone_of_an_address_is_no_part_of_a_url() {
    let house = allowing(&[]).await;
    for url in ["http://[fe80::1%25eth0]/", "http://[::1%lo]/"] {
        let mut job = hourly("job", "");
        job["target"] = json!({"type": "http", "url": url});
        assert_eq!(house.post("/jobs/recurring", &job).await.refused(422).0, "target.url");
    }
    house.close().await;
}

#[tokio::test]
async fn no_job_calls_this_daemon_by_any_name() {
    let house = allowing(&["127.0.0.0/8", "localhost", "0.0.0.0"]).await;
    let port = house.address().port();
    for host in ["127.0.0.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let mut job = hourly("job", "");
        job["target"] = json!({"type": "http", "url": format!("http://{host}:{port}/jobs")});
        let (field, problem) = house.post("/jobs/recurring", &job).await.refused(422);
        assert_eq!(field, "target.url", "{problem}");
        assert!(problem.contains("are denied here"), "{problem}");
        assert!(!problem.contains("allow-target"), "it would not help: {problem}");
    }
    // What a name means shows when it is looked up.
    let mut job = hourly("job", "");
    job["target"] = json!({"type": "http", "url": format!("http://localhost:{port}/jobs")});
    let job = house.make(&job).await;
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    let run = house.wait_for(text(&run["id"]), "FAILED").await;
    assert_eq!(run["error"], "requests to localhost are denied here");
    assert_eq!(
        house.get("/jobs?recurring=true&name=job").await.expect(200)["items"][0]["id"],
        job["id"]
    );
    house.close().await;
}
