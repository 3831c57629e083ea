//! `chronos jobs` and the levers of `chronos scheduler`.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::house::House;

const URL: &str = "http://127.0.0.1:9/hook";

fn create(house: &House, name: &str) -> Value {
    let cron = ["--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin", "--url", URL];
    house.json(&[&["jobs", "create", name], &cron[..]].concat())
}

/// The jobs there are, by their names; the daemon brings two of its own.
fn names(house: &House) -> Vec<String> {
    let listed = house.json(&["jobs", "list"]);
    let name = |job: &Value| job["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = listed.as_array().unwrap().iter().map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_job_is_created_shown_listed_and_deleted() {
    let house = House::open();
    assert_eq!(names(&house), ["compaction", "prune"]);
    let cron = ["--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin", "--url", URL];
    let text = house.answer(&[&["jobs", "create", "report"], &cron[..]].concat());
    assert!(text.starts_with("Created \"report\" ("), "{text}");
    let said = "\nat 09:00, Monday to Friday, Europe/Berlin; next run in ";
    assert!(text.contains(said) && text.contains(" 09:00 +0"), "{text}");
    let text = house.answer(&["jobs", "show", "report"]);
    for part in ["report  PENDING\n", "  expression    0 9 * * 1-5\n", &format!("POST {URL}")] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = house.answer(&["jobs", "list"]);
    assert!(text.starts_with("Job          Status    Next"), "{text}");
    assert_eq!(house.answer(&["jobs", "executions", "report"]), "\"report\" has not run yet\n");
    let text = house.answer(&["jobs", "delete", "report", "--yes"]);
    assert!(text.starts_with("Deleted \"report\" ("), "{text}");
    assert_eq!(names(&house), ["compaction", "prune"]);
}

/// The spec of "full" once it has this header; names of headers know no case.
fn spec_with_header(house: &House, header: &str) -> Value {
    house.answer(&["jobs", "edit", "full", "--header", header]);
    serde_json::from_str(&house.answer(&["jobs", "show", "full", "--spec"])).unwrap()
}

#[test]
fn every_flag_reaches_the_job_and_comes_back_as_json() {
    let house = House::open();
    let args = [
        "jobs",
        "create",
        "full",
        "--every",
        "1h30m",
        "--fixed-delay",
        "--max-runs",
        "5",
        "--http",
        "put",
        URL,
        "--header",
        "X-A: 1",
        "--header",
        "x-b:two words",
        "--body",
        "{\"a\":1}",
        "--timeout",
        "500ms",
        "--expect",
        "200,204",
        "--overlap",
        "queue:3",
        "--catch-up",
        "all:7",
        "--grace",
        "20s",
        "--catch-up-window",
        "2d",
        "--jitter",
        "1m",
        "--retries",
        "4",
        "--retry-base",
        "2s",
        "--retry-max",
        "1m",
        "--max-time",
        "10m",
        "--tag",
        "red",
        "--tag",
        "blue",
    ];
    house.answer(&args);
    let spec: Value =
        serde_json::from_str(&house.answer(&["jobs", "show", "full", "--spec"])).unwrap();
    let expected = json!({
        "name": "full",
        "schedule": {"type": "interval", "seconds": 5400, "fixed_delay": true, "max_runs": 5},
        "target": {
            "type": "http", "url": URL, "method": "PUT", "headers": {"X-A": "1", "x-b": "two words"},
            "timeout_seconds": 0.5, "expected_statuses": [200, 204],
        },
        "payload": {"a": 1},
        "tags": ["blue", "red"],
        "overlap_policy": "queue",
        "max_queued": 3,
        "catch_up_policy": "run_all_capped",
        "catch_up_max": 7,
        "misfire_grace_seconds": 20,
        "catch_up_window_seconds": 172_800,
        "priority": 5,
        "jitter_seconds": 60,
        "max_retry": 4,
        "retry_base_seconds": 2,
        "retry_max_seconds": 60,
        "max_execution_time": 600,
    });
    assert_eq!(spec, expected);
    let spec = spec_with_header(&house, "x-a: 2");
    assert_eq!(spec["target"]["headers"], json!({"x-a": "2", "x-b": "two words"}));
    let spec = spec_with_header(&house, "X-A: 1");
    let mut copy = house
        .command(&["jobs", "create", "copy", "--file", "-", "--jitter", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    copy.stdin.take().unwrap().write_all(spec.to_string().as_bytes()).unwrap();
    assert!(copy.wait().unwrap().success());
    let copied: Value =
        serde_json::from_str(&house.answer(&["jobs", "show", "copy", "--spec"])).unwrap();
    let mut expected = expected;
    (expected["name"], expected["jitter_seconds"]) = ("copy".into(), 0.into());
    assert_eq!(copied, expected);
}

#[test]
fn an_update_changes_what_is_named_and_nothing_else() {
    let house = House::open();
    let before = create(&house, "report");
    let after = house.json(&["jobs", "edit", "report", "--tz", "Asia/Tokyo", "--rename", "tokyo"]);
    assert_eq!(after["name"], "tokyo");
    assert_eq!(after["schedule"]["timezone"], "Asia/Tokyo");
    assert_eq!(after["schedule"]["expression"], before["schedule"]["expression"]);
    assert_eq!((&after["id"], &after["target"]), (&before["id"], &before["target"]));
    assert_eq!(after["version"], 2);
}

#[test]
fn a_paused_job_says_so_until_it_is_resumed() {
    let house = House::open();
    create(&house, "report");
    let text = house.answer(&["scheduler", "pause", "report", "--note", "bank holiday"]);
    assert_eq!(text, "Paused \"report\" until someone says: chronos scheduler resume \"report\"\n");
    assert_eq!(house.json(&["scheduler", "status", "report"])["is_paused"], true);
    assert_eq!(house.json(&["jobs", "show", "report"])["paused"]["note"], "bank holiday");
    let text = house.answer(&["scheduler", "list"]);
    assert!(text.contains("report") && text.contains("paused"), "{text}");
    let text = house.answer(&["scheduler", "resume", "report"]);
    assert!(text.starts_with("Resumed \"report\"; next run in "), "{text}");
    let listed = house.json(&["scheduler", "list"]);
    let report = listed["jobs"].as_array().unwrap().iter().find(|job| job["job_name"] == "report");
    assert_eq!(report.unwrap()["is_paused"], false);
}

#[test]
fn lists_are_as_long_as_was_asked_for() {
    let house = House::open();
    for number in 0..5 {
        create(&house, &format!("job-{number}"));
    }
    let count = |args: &[&str]| {
        let listed = house.json(&[&["jobs", "list"], args].concat());
        listed.as_array().unwrap().len()
    };
    assert_eq!((count(&[]), count(&["--limit", "2"]), count(&["--all"])), (7, 2, 7));
    let text = house.answer(&["jobs", "list", "--limit", "2"]);
    assert!(text.ends_with("\nThere are more: --limit N shows more of them, --all shows all.\n"));
}

#[test]
fn what_a_job_is_called_cannot_move_the_cursor() {
    let house = House::open();
    house.json(&["jobs", "create", "in\u{202e}order", "--every", "1h", "--url", URL]);
    for args in
        [&["scheduler", "list"][..], &["jobs", "list"], &["jobs", "show", "in\u{202e}order"]]
    {
        let text = house.answer(args);
        assert!(text.contains("in\\u{202e}order") && !text.contains('\u{202e}'), "{text}");
    }
}
