//! Backfills and kills: one that is killed in the middle goes on where it was, and doubles nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use chronos_core::ExecutionId;
use fastrand::Rng;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::daemon::soon;
use crate::rest::{JSON, send, text};
use crate::serving::{Serving, say};

/// Kept of every job, so that all of it can be looked at.
const KEEP: [&str; 2] = ["--history-per-job", "100000"];
/// Slots that are filled in.
pub(crate) const SLOTS: u64 = 150;

pub(crate) async fn call(daemon: SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    let (lines, bytes) = match body {
        Value::Null => ("", String::new()),
        body => (JSON, body.to_string()),
    };
    let answer = send(daemon, method, path, lines, bytes.as_bytes()).await;
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
    answer.json()
}

/// A job, and a backfill of some of the slots that it had before it was made.
pub(crate) async fn begin(address: SocketAddr, endpoint: &Endpoint) -> (Value, Value) {
    let job = json!({
        "name": "report",
        "schedule": {"type": "cron", "expression": "*/10 * * * *", "timezone": "UTC"},
        "overlap_policy": "concurrent",
        "max_concurrent": 4,
        "target": {"type": "http", "url": endpoint.url("ok"), "method": "POST"},
    });
    let job = call(address, "POST", "/jobs/recurring", &job).await;
    let path = format!("/jobs/{}/backfills", text(&job["id"]));
    let asked = json!({"from": "2020-01-01T00:00:00Z", "to": "2020-01-31T00:00:00Z", "cap": SLOTS,
        "rate": {"at_once": 3}});
    let made = call(address, "POST", &path, &asked).await;
    (job, made)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_amid_a_backfill_goes_on_where_it_was_and_doubles_no_slot() {
    let seed = fastrand::u64(..);
    say(&format!("the dice of the backfill: {seed}"));
    let mut dice = Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let endpoint = Endpoint::open().await;
    let (mut daemon, mut address) = Serving::over(&data, &KEEP).await;
    let (job, made) = begin(address, &endpoint).await;
    let path = format!("/backfills/{}", text(&made["id"]));
    let mut killed = 0;
    let done = soon(async {
        loop {
            let told = call(address, "GET", &path, &Value::Null).await;
            if told["ended_at"].is_string() {
                return told;
            }
            let done = told["done"].as_u64().unwrap();
            if killed < 4 && done >= (killed + 1) * SLOTS / 6 {
                tokio::time::sleep(Duration::from_millis(dice.u64(0..20))).await;
                daemon.kill();
                killed += 1;
                (daemon, address) = Serving::over(&data, &KEEP).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(killed, 4, "it was killed in the middle");
    assert_eq!((&done["state"], &done["done"]), (&json!("finished"), &json!(SLOTS)));
    assert_eq!((&done["succeeded"], &done["under_way"]), (&json!(SLOTS), &json!(0)));
    check_ledger(address, &job, &endpoint).await;
    daemon.stop().await;
}

/// Each slot has one chain of attempts, one of which succeeded, and the target knew each slot by one key.
pub(crate) async fn check_ledger(address: SocketAddr, job: &Value, endpoint: &Endpoint) {
    let mut slots: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/jobs/{}/executions?limit=500{cursor}", text(&job["id"]));
        let page = call(address, "GET", &path, &Value::Null).await;
        for row in page["items"].as_array().unwrap() {
            assert!(row["trigger"] != "backfill" || row["backfill_id"].is_string());
            if row["trigger"] == "backfill" {
                slots.entry(text(&row["scheduled_for"]).into()).or_default().push(row.clone());
            }
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(slots.len() as u64, SLOTS);
    for (slot, rows) in &slots {
        let mut attempts: Vec<u64> =
            rows.iter().map(|row| row["attempt"].as_u64().unwrap()).collect();
        attempts.sort_unstable();
        assert!(attempts.iter().copied().eq(1..=attempts.len() as u64), "{slot}: {rows:#?}");
        let succeeded = rows.iter().filter(|row| row["status"] == "SUCCESS").count();
        assert_eq!(succeeded, 1, "{slot}: {rows:#?}");
    }
    let mut keys: BTreeMap<_, ExecutionId> = BTreeMap::new();
    for called in endpoint.calls() {
        let slot = called.slot.to_string();
        if slots.contains_key(&slot) {
            assert_eq!(*keys.entry(slot).or_insert(called.key), called.key);
        }
    }
    assert_eq!(keys.len() as u64, SLOTS, "every slot was run");
}
