//! Pauses: notes, and jobs that resume by themselves.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_engine::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;
use crate::daemon::soon;

fn later(seconds: u64) -> Timestamp {
    SystemClock::new().now().after(Duration::from_secs(seconds))
}

#[tokio::test]
async fn a_pause_tells_its_note_and_its_end_and_both_can_be_changed() {
    let house = House::open().await;
    let job = house.make(&hourly("p", "succeed")).await;
    let pause = format!("/jobs/{}/pause", text(&job["id"]));
    let (first, second) = (later(3_600).to_string(), later(7_200).to_string());
    let said = json!({"note": "the database moves", "resume_at": first});
    let paused = house.post(&pause, &said).await.expect(200)["paused"].clone();
    assert_eq!((&paused["note"], &paused["resume_at"]), (&said["note"], &said["resume_at"]));
    let longer = json!({"note": "it takes longer", "resume_at": second});
    let anew = house.post(&pause, &longer).await.expect(200)["paused"].clone();
    assert_eq!((&anew["note"], &anew["resume_at"]), (&longer["note"], &longer["resume_at"]));
    assert_eq!(anew["since"], paused["since"]);
    let bare = house.ask("POST", &pause).await.expect(200);
    assert_eq!(bare["paused"], anew, "what says nothing changes nothing");
    for (body, field) in [
        (json!({"resume_at": "2020-01-01T00:00:00Z"}), "resume_at"),
        (json!({"resume_at": "tomorrow"}), "resume_at"),
        (json!({"resume_at": 5}), "resume_at"),
        (json!({"note": "x".repeat(1_001)}), "note"),
        (json!({"until": "2030-01-01T00:00:00Z"}), "until"),
        (json!([null, null]), "body"),
    ] {
        let (named, problem) = house.post(&pause, &body).await.refused(422);
        assert_eq!(named, field, "{body}: {problem}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_paused_job_resumes_by_itself_and_runs() {
    let house = House::open().await;
    let mut body = hourly("p", "succeed");
    body["schedule"]["seconds"] = json!(1);
    let job = house.make(&body).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let end = later(3);
    let said = json!({"note": "a moment", "resume_at": end.to_string()});
    house.post(&format!("{path}/pause"), &said).await.expect(200);
    let told = soon(async {
        loop {
            let told = house.get(&path).await.expect(200);
            if told["paused"] == Value::Null && told["counts"]["succeeded"] != 0 {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(told["counts"]["skipped"].as_u64().unwrap() >= 2, "{told}");
    let rows = house.get(&format!("{path}/executions")).await.expect(200);
    for row in rows["items"].as_array().unwrap() {
        let slot = Timestamp::parse(text(&row["scheduled_for"])).unwrap();
        let skipped = row["reason"] == "paused" && row["note"] == "a moment";
        assert!(slot >= end || skipped || row["finished_at"].is_string(), "{row}");
        assert!(slot < end || row["reason"] != "paused", "{row}");
    }
    house.close().await;
}
