//! Notices at the command line: a webhook for all jobs, and what a job asks for instead.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;

use super::house::{Endpoint, House};
use crate::{answer, refusal};

fn body(endpoint: &Endpoint) -> (String, Value) {
    let request = endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.into(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_webhook_for_all_jobs_is_told_unless_a_job_says_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (target, all) = (Endpoint::answering("404 Not Found"), Endpoint::answering("200 OK"));
    let own = Endpoint::answering("200 OK");
    let house = House::serving(&[
        "--store",
        "memory",
        "--notify-url",
        &all.url(),
        "--notify-signing-secret-file",
        secret.to_str().unwrap(),
    ]);
    let (url, hook) = (target.url(), own.url());
    let create = |name: &str, flags: &[&str]| {
        house.answer(&[&["jobs", "create", name, "--every", "1h", "--url", &url], flags].concat());
        let (code, error) = house.refusal(&["scheduler", "run", name]);
        assert_eq!(code, 3, "{error}");
    };
    create("quiet", &["--notify-on", "none"]);
    create(
        "own",
        &["--notify", &hook, "--notify-on", "failure,overdue", "--notify-overdue-after", "10m"],
    );
    create("usual", &[]);
    let (head, notice) = body(&all);
    assert_eq!((&notice["kind"], &notice["job"]["name"]), (&"failure".into(), &"usual".into()));
    assert!(head.contains("webhook-signature: v1,"), "{head}");
    let (head, notice) = body(&own);
    assert_eq!(notice["job"]["name"], "own");
    assert!(!head.contains("webhook-signature"), "{head}");
    let shown = house.answer(&["jobs", "show", "own"]);
    assert!(shown.contains(&format!("{hook}, of failure, overdue after 10 min")), "{shown}");
    assert!(house.answer(&["jobs", "show", "quiet"]).contains("nothing is told"));
    let listed = house.answer(&["jobs", "executions", "usual"]);
    assert!(listed.contains("notice of failure"), "{listed}");
    let rows = house.json(&["jobs", "executions", "usual"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["trigger"] == "notice").unwrap();
    assert_eq!(row["notice"]["kind"], "failure");
    let shown = house.answer(&["executions", "show", row["id"].as_str().unwrap()]);
    assert!(shown.contains(&format!("failure of {}", row["notice"]["about"].as_str().unwrap())));
    house.answer(&["jobs", "update", "own", "--notify-on", "recovery"]);
    let shown = house.answer(&["jobs", "show", "own"]);
    assert!(shown.contains(&format!("{hook}, of recovery\n")), "{shown}");
    assert!(all.requests.try_recv().is_err() && own.requests.try_recv().is_err());
}

#[test]
fn the_webhook_for_all_jobs_is_configured_and_checked() {
    let shown = answer(&["config", "--notify-url", "https://example.com/alerts"]);
    assert!(shown.contains("notify_url = \"https://example.com/alerts\""), "{shown}");
    assert!(shown.contains("notify_on = [\"failure\", \"recovery\"]"), "{shown}");
    assert!(shown.contains("notify_overdue_after_secs = 300"), "{shown}");
    for (flags, key) in [
        (&["--notify-url", "example.com"][..], "notify_url"),
        (&["--notify-url", "http://127.0.0.1/"], "notify_url"),
        (&["--notify-on", "success"], "notify_on"),
        (&["--notify-overdue-after-secs", "0"], "notify_overdue_after_secs"),
        (&["--notify-signing-secret-file", "/nowhere"], "notify_signing_secret_file"),
    ] {
        let refused = refusal(&[&["config"], flags].concat());
        assert!(refused.contains(key), "{flags:?}: {refused}");
    }
    let nowhere = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
        "--notify-url",
        "https://example.com",
        "--notify-signing-secret-file",
        "/nowhere",
    ];
    let output = crate::command(&nowhere).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("notify_signing_secret_file: cannot use /nowhere"), "{said}");
}
