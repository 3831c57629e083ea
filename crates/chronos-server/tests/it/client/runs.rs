//! `chronos scheduler run`, what is told about runs, and the figures about them.

use super::house::{Endpoint, House};

fn create(house: &House, endpoint: &Endpoint, more: &[&str]) {
    let args = ["jobs", "create", "hook", "--every", "1d", "--url", &endpoint.url()];
    house.answer(&[&args[..], more].concat());
}

#[test]
fn a_run_is_followed_to_its_success() {
    let (house, endpoint) = (House::open(), Endpoint::answering("200 OK"));
    create(&house, &endpoint, &["--body", "{\"go\":true}", "--header", "x-key: k"]);
    let text = house.answer(&["scheduler", "run", "hook"]);
    assert!(text.starts_with("SUCCESS hook in "), "{text}");
    assert!(text.ends_with(" (HTTP 200, manual)\n"), "{text}");
    let request = endpoint.requests.recv().unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-key: k\r\n") && request.ends_with("{\"go\":true}"), "{request}");
    let status = house.json(&["scheduler", "status", "hook"]);
    assert_eq!((&status["last_result"], &status["run_count"]), (&"success".into(), &1.into()));
    let listed = house.answer(&["jobs", "executions", "hook"]);
    assert!(listed.contains("   SUCCESS   ") && listed.contains("HTTP 200, manual\n"), "{listed}");
}

#[test]
fn a_run_that_fails_exits_with_3_and_says_why() {
    let (house, endpoint) = (House::open(), Endpoint::answering("404 Not Found"));
    create(&house, &endpoint, &[]);
    let output = house.command(&["scheduler", "run", "hook", "--json"]).output().unwrap();
    let (stdout, stderr) = crate::texts(&output);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.starts_with("error: the run ended FAILED: "), "{stderr}");
    let execution: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(execution["status"], "FAILED");
    assert_eq!(execution["response_code"], 404);
    let id = execution["id"].as_str().unwrap();
    let text = house.answer(&["executions", "show", id]);
    assert!(text.starts_with(&format!("FAILED {id}\n")) && text.contains("HTTP 404"), "{text}");
}

#[test]
fn retries_are_followed_to_the_last() {
    let (house, endpoint) = (House::open(), Endpoint::answering("503 Service Unavailable"));
    create(&house, &endpoint, &["--retries", "1", "--retry-base", "10ms"]);
    let output = house.command(&["scheduler", "run", "hook", "--json"]).output().unwrap();
    let execution: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &execution["retry_number"]), (Some(3), &1.into()));
    assert_eq!(endpoint.requests.iter().take(2).count(), 2);
}

#[test]
fn a_run_need_not_be_waited_for() {
    let (house, endpoint) = (House::open(), Endpoint::answering("200 OK"));
    create(&house, &endpoint, &[]);
    let text = house.answer(&["scheduler", "run", "hook", "--no-wait"]);
    assert!(text.starts_with("QUEUED hook (manual)\nSee how it goes: chronos executions show "));
    endpoint.requests.recv().unwrap();
}

#[test]
fn figures_tell_what_ran() {
    let (house, endpoint) = (House::open(), Endpoint::answering("200 OK"));
    create(&house, &endpoint, &[]);
    house.answer(&["scheduler", "run", "hook"]);
    house.answer(&["scheduler", "pause", "hook"]);
    house.answer(&["scheduler", "run", "compaction"]);
    let page = house.get("/metrics");
    for line in [
        "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8",
        "chronos_jobs 3",
        "chronos_jobs_created_total 1",
        "chronos_jobs_paused 1",
        "chronos_jobs_running 0",
        "chronos_executions_pending 0",
        "chronos_executions_running 0",
        "chronos_executions_total{status=\"success\"} 2",
        "chronos_executions_total{status=\"timed_out\"} 0",
        "chronos_retries_total 0",
        "chronos_executions_total{status=\"stuck\"} 0",
        "chronos_execution_duration_seconds_count 2",
        "chronos_worker_runs_total 2",
        "chronos_error_rate 0.0",
        "chronos_job_runs_total{job=\"compaction\"} 1",
        "chronos_job_errors_total{job=\"compaction\"} 0",
        "chronos_job_error_rate{job=\"compaction\"} 0.0",
        "chronos_job_paused{job=\"compaction\"} 0",
        "# EOF",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}: {page}");
    }
    for begin in [
        "chronos_scheduler_scan_seconds_bucket",
        "chronos_job_last_duration_seconds{job=\"compaction\"} ",
        "chronos_job_since_last_run_seconds{job=\"compaction\"} ",
    ] {
        assert!(page.lines().any(|line| line.starts_with(begin)), "{begin}: {page}");
    }
    assert!(!page.contains("hook"), "what users create has no series of its own: {page}");
}
