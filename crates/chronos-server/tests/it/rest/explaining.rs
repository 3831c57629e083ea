//! Explaining: what happened at a time, and why, with the records that say so.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_engine::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;
use crate::daemon::soon;

async fn explained(house: &House, job: &Value, at: &str) -> Value {
    house.get(&format!("/jobs/{}/explain?at={at}", text(&job["id"]))).await.expect(200)
}

/// The job's only execution, once it is over.
async fn over(house: &House, job: &Value) -> Value {
    soon(async {
        loop {
            let path = format!("/jobs/{}/executions", text(&job["id"]));
            let rows = house.get(&path).await.expect(200);
            if let Some(row) = rows["items"].as_array().unwrap().first()
                && row["finished_at"].is_string()
            {
                return row.clone();
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_slot_that_fired_is_explained_with_its_records() {
    let house = House::open().await;
    let job = json!({"name": "once", "target": {"type": "handler", "name": "succeed"}});
    let job = house.post("/jobs", &job).await.expect(201);
    let row = over(&house, &job).await;
    let slot = text(&row["scheduled_for"]);
    let told = explained(&house, &job, slot).await;
    assert_eq!((&told["verdict"], &told["slot"]), (&json!("fired"), &row["scheduled_for"]));
    let sentence = text(&told["explanation"]);
    assert!(sentence.contains("fired at ") && sentence.contains("and succeeded"), "{sentence}");
    assert_eq!(told["executions"], json!([row]));
    let kinds: Vec<&str> =
        told["audit"].as_array().unwrap().iter().map(|event| text(&event["type"])).collect();
    assert_eq!(kinds, ["schedule.fired", "execution.succeeded"]);
    for event in told["audit"].as_array().unwrap() {
        assert_eq!((&event["trace_id"], &event["job_id"]), (&row["trace_id"], &job["id"]));
    }
    // A time without a part of a second stands for its second.
    let whole = Timestamp::from_secs(Timestamp::parse(slot).unwrap().as_secs()).to_string();
    assert_eq!(explained(&house, &job, &whole).await["verdict"], "fired");
    house.close().await;
}

#[tokio::test]
async fn what_a_message_job_said_is_told_with_it() {
    let house = House::open().await;
    let mut jobs = Vec::new();
    for number in 0..40 {
        let body = json!({"name": format!("m{number}"), "target":
            {"type": "message", "template": {"text": "{{job_name}} says"}}});
        jobs.push(house.post("/jobs", &body).await.expect(201));
    }
    for job in &jobs {
        let row = over(&house, job).await;
        let told = explained(&house, job, text(&row["scheduled_for"])).await;
        let said = &told["message_event"];
        assert_eq!(said["event_id"], row["id"], "{told:#}");
        assert_eq!(said["content"]["text"], format!("{} says", text(&job["name"])));
    }
    house.close().await;
}

#[tokio::test]
async fn what_is_to_come_and_what_never_was_are_explained() {
    let house = House::open().await;
    let mut body = hourly("cron", "succeed");
    body["schedule"] = json!({"type": "cron", "expression": "0 9 * * *"});
    let job = house.make(&body).await;
    let told = explained(&house, &job, "2096-12-01T09:00:00Z").await;
    assert_eq!((&told["verdict"], told["coming"]["nominal"].is_null()), (&json!("upcoming"), true));
    let next = text(&job["next_execution_time"]).to_owned();
    let told = explained(&house, &job, &next).await;
    assert_eq!(
        (&told["verdict"], &told["coming"]["effective"]),
        (&json!("upcoming"), &json!(next))
    );
    let told = explained(&house, &job, "2096-12-01T10:30:00Z").await;
    assert_eq!((&told["verdict"], &told["slot"]), (&json!("no_slot"), &Value::Null));
    let nearest = json!({"before": "2096-12-01T09:00:00Z", "after": "2096-12-02T09:00:00Z"});
    assert_eq!(told["nearest"], nearest);
    let path = format!("/jobs/{}", text(&job["id"]));
    house.ask("POST", &format!("{path}/cancel")).await.expect(200);
    let told = explained(&house, &job, &next).await;
    assert_eq!(told["verdict"], "off", "{told}");
    for (query, field) in
        [("", "at"), ("?at=noon", "at"), ("?at=2026-12-01T09:00:00Z&why=1", "why")]
    {
        let (named, problem) = house.get(&format!("{path}/explain{query}")).await.refused(400);
        assert_eq!(named, field, "{problem}");
    }
    house.close().await;
}

#[tokio::test]
async fn slots_that_were_passed_over_are_explained_by_their_reasons() {
    let house = House::open().await;
    let mut body = hourly("second", "succeed");
    body["schedule"]["seconds"] = json!(1);
    let job = house.make(&body).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    house.post(&format!("{path}/pause"), &json!({"note": "a moment"})).await.expect(200);
    let skipped = soon(async {
        loop {
            let rows = house.get(&format!("{path}/executions")).await.expect(200);
            let rows = rows["items"].as_array().unwrap().clone();
            if let Some(row) = rows.iter().find(|row| row["reason"] == "paused") {
                return row.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let told = explained(&house, &job, text(&skipped["scheduled_for"])).await;
    assert_eq!(told["verdict"], "skipped");
    assert!(text(&told["explanation"]).ends_with("the job was paused (a moment)"), "{told}");
    assert_eq!(told["executions"], json!([skipped]));
    assert_eq!(told["audit"][0]["type"], "schedule.skipped");
    let later = SystemClock::new().now().after(Duration::from_mins(1)).to_string();
    let told = explained(&house, &job, &format!("{}Z", &later[..19])).await;
    assert_eq!(told["verdict"], "will_be_skipped", "{told}");
    house.close().await;
}
