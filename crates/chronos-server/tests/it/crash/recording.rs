//! The record of accounts and kills: whatever was answered has its line, and no line is there twice.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::auth::{PASSWORD, Someone, credentials};
use crate::rest::text;
use crate::serving::{Serving, say};

const KILLS: u32 = 4;

/// Every event, the oldest first.
async fn events(ada: &Someone) -> Vec<Value> {
    let page = ada.get("/auth/audit?limit=1000").await.expect(200);
    assert_eq!(page["next_cursor"], Value::Null);
    let mut events = page["items"].as_array().unwrap().clone();
    events.reverse();
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_about_accounts_is_on_record_after_kills() {
    let seed = std::env::var("CHRONOS_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = Rng::with_seed(seed.unwrap_or_else(|| fastrand::u64(..)));
    say(&format!("replay the dice with CHRONOS_CRASH_SEED={}", dice.get_seed()));
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut daemon, mut at) = Serving::over(&data, &[]).await;
    let anyone = Someone { address: at, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let mut ada = anyone.log_in("ada").await;
    let mut expected: Vec<(String, String)> = Vec::from(
        ["user_created", "logged_in"].map(|kind| (format!("auth.{kind}"), "ada".to_owned())),
    );
    for round in 0..KILLS {
        let name = format!("user-{round}");
        let note = |kind: &str| (format!("auth.{kind}"), name.clone());
        let made = ada.post("/users", &json!({"username": name, "password": PASSWORD})).await;
        let path = format!("/users/{}", text(&made.expect(201)["id"]));
        expected.push(note("user_created"));
        // Killed as soon as the last of these is answered.
        for step in 0..=dice.usize(..3) {
            match step {
                0 => {
                    ada.patch(&path, &json!({"role": "viewer"})).await.expect(200);
                    expected.push(note("role_changed"));
                }
                1 => {
                    ada.try_log_in(&name, "wrong horse battery").await.refused(401);
                    expected.push(note("login_refused"));
                }
                _ => {
                    ada.patch(&path, &json!({"disabled": true})).await.expect(200);
                    expected.push(note("user_disabled"));
                }
            }
        }
        daemon.kill();
        (daemon, at) = Serving::over(&data, &[]).await;
        ada.address = at;
        let events = events(&ada).await;
        let told: Vec<(String, String)> = events
            .iter()
            .map(|event| (text(&event["type"]).into(), text(&event["username"]).into()))
            .collect();
        assert_eq!(told, expected);
        for (number, event) in (1..).zip(&events) {
            assert_eq!((&event["sequence"], &event["from"]), (&json!(number), &json!("127.0.0.1")));
        }
    }
    daemon.stop().await;
}
