//! An outage of hours: a daemon that was away, on either store, makes up for it as each job says and tells so.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use chronos_pgtest::Cluster;
use serde_json::{Value, json};

use crate::cluster::clocks::faketime;
use crate::cluster::nodes::Database;
use crate::daemon::house::get;
use crate::rest::{JSON, send, text};
use crate::serving::{Serving, serve};

/// Five minutes after the sixth of the slots that are an hour apart.
const AWAY: i64 = 6 * 3_600 + 300;

/// The jobs, each with what it asks for beside the rest.
/// The daemon's own jobs that would have slots meanwhile have none.
const RARELY: [&str; 2] = ["--index-commit-cron", "0 0 0 1 1 *"];

fn jobs() -> Vec<(&'static str, Value)> {
    vec![
        ("skip", json!({})),
        ("once", json!({"catch_up_policy": "run_once"})),
        ("capped", json!({"catch_up_policy": "run_all_capped", "catch_up_max": 2})),
        (
            "window",
            json!({"catch_up_policy": "run_all_capped", "catch_up_max": 10, "catch_up_window_seconds": 3 * 3_600}),
        ),
        ("graced", json!({"misfire_grace_seconds": 3_600, "catch_up_policy": "skip"})),
        ("paused", json!({})),
    ]
}

async fn make_jobs(daemon: SocketAddr) {
    for (name, asked) in jobs() {
        let mut job = json!({
            "name": name,
            "schedule": {"type": "interval", "seconds": 3_600},
            "target": {"type": "message", "template": {"text": "{{missed_count}}"}},
        });
        job.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let made = send(daemon, "POST", "/jobs/recurring", JSON, job.to_string().as_bytes()).await;
        let made = made.expect(201);
        if name == "paused" {
            let created = chronos_core::Timestamp::parse(text(&made["created_at"])).unwrap();
            let end = created.after(std::time::Duration::from_mins(150));
            let pause = json!({"note": "moving house", "resume_at": end.to_string()}).to_string();
            let path = format!("/jobs/{}/pause", text(&made["id"]));
            send(daemon, "POST", &path, JSON, pause.as_bytes()).await.expect(200);
        }
    }
}

/// What is on record of a job: how many slots fired, were missed and were skipped, and what was said.
async fn account(daemon: SocketAddr, name: &str) -> (usize, usize, usize, Vec<String>) {
    let listed = send(daemon, "GET", &format!("/jobs?name={name}"), "", b"").await.expect(200);
    let id = text(&listed["items"][0]["id"]).to_owned();
    let path = format!("/audit?job={id}&limit=100");
    let audit = send(daemon, "GET", &path, "", b"").await.expect(200);
    let count = |kind: &str| {
        let events = audit["items"].as_array().unwrap().iter();
        events.filter(|event| event["type"] == kind).count()
    };
    let path = format!("/events?job={id}&limit=100");
    let said = send(daemon, "GET", &path, "", b"").await.expect(200);
    let said = said["items"].as_array().unwrap().iter();
    let said = said.map(|event| text(&event["content"]["text"]).to_owned()).collect();
    (count("schedule.fired"), count("schedule.missed"), count("schedule.skipped"), said)
}

/// Every job made up for what it missed, and the daemon tells what it found.
async fn check(mut daemon: Serving) {
    let mut said = Vec::new();
    for line in [
        "Reconciliation begins",
        "leases of dead nodes ended",
        "positions of schedules read",
        "slots that had come due accounted for",
        "Reconciliation done",
    ] {
        said.push(daemon.line(line).await);
    }
    let address = daemon.listening().await;
    let texts = |count: usize, text: &str| vec![text.to_owned(); count];
    assert_eq!(account(address, "skip").await, (0, 6, 0, vec![]), "{said:#?}");
    assert_eq!(account(address, "once").await, (1, 0, 0, texts(1, "6")));
    assert_eq!(account(address, "capped").await, (2, 4, 0, texts(2, "1")));
    assert_eq!(account(address, "window").await, (3, 3, 0, texts(3, "1")), "of three hours");
    assert_eq!(account(address, "graced").await, (1, 5, 0, texts(1, "0")), "the sixth is on time");
    assert_eq!(account(address, "paused").await, (0, 4, 2, vec![]), "two were in the pause");
    let (code, ready) = get(address, "/readyz").await;
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let done = &ready["reconciliation"];
    assert_eq!((code, &done["complete"]), (200, &json!(true)), "{ready}");
    let counts = ["fired_slots", "missed_slots", "skipped_slots"].map(|name| done[name].as_u64());
    assert_eq!(counts, [Some(7), Some(22), Some(2)], "{ready}");
    let audit = send(address, "GET", "/audit?kind=node.reconciled", "", b"").await.expect(200);
    assert_eq!(audit["items"].as_array().unwrap().len(), 2, "of each start");
    daemon.stop().await;
}

/// The same command line on a machine whose clock is so many seconds later.
fn later(command: &mut Command) -> &mut Command {
    let library: PathBuf = faketime();
    command.env("LD_PRELOAD", library).env("FAKETIME", format!("+{AWAY}s"));
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_was_away_for_hours_makes_up_for_it_as_each_job_says() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut daemon, address) = Serving::over(&data, &RARELY).await;
    make_jobs(address).await;
    daemon.kill();
    check(Serving::spawn(later(&mut serve(&data, &RARELY)))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_away_for_hours_makes_up_for_it_as_each_job_says() {
    let database = Database::fresh(Cluster::shared());
    let mut node = database.node("before", &RARELY).await;
    make_jobs(node.address).await;
    node.process.kill();
    // The database's clock is the one that counts, and goes on meanwhile.
    let name = &database.name;
    database.psql(&format!(
        "CREATE SCHEMA ahead; \
         CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE \
         AS $$ SELECT pg_catalog.clock_timestamp() + interval '{AWAY} seconds' $$; \
         ALTER DATABASE {name} SET search_path = ahead, pg_catalog"
    ));
    check(Serving::spawn(later(&mut database.command("after", &RARELY)))).await;
}
