//! Previews: the same runs as `chronos next`, before anything is saved.

use serde_json::{Value, json};

use crate::daemon::house::House;

#[tokio::test]
async fn a_preview_says_what_the_command_says() {
    let house = House::open().await;
    let asked = json!({
        "schedule": {"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Berlin"},
        "from": "2026-03-28T00:00:00Z", "count": 3,
    });
    let told = house.post("/schedules/preview", &asked).await.expect(200);
    let said = crate::answer(&[
        "next",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
        "--from",
        "2026-03-28T00:00:00Z",
        "-n",
        "3",
        "--json",
    ]);
    assert_eq!(told, serde_json::from_str::<Value>(&said).unwrap());
    assert_eq!(told["runs"].as_array().unwrap().len(), 3);
    assert!(told["runs"][1]["reasons"][0].as_str().unwrap().contains("DST"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn quiet_hours_and_jitter_are_told_as_reasons() {
    let house = House::open().await;
    let window =
        chronos_engine::QuietWindow::new(chronos_engine::WeekdaySet::EVERY_DAY, "22:00", "07:00");
    let policy = house
        .daemon
        .scheduler()
        .add_quiet_hours("nights", "UTC", vec![window.unwrap()], chronos_engine::QuietMode::Skip)
        .await
        .unwrap();
    let asked = json!({
        "schedule": {"type": "cron", "expression": "0 6,9 * * *"},
        "quiet_hours_policy_id": policy.to_string(), "jitter_seconds": 60,
        "from": "2026-11-16T00:00:00Z", "count": 2,
    });
    let told = house.post("/schedules/preview", &asked).await.expect(200);
    assert_eq!(told["runs"][0]["effective"], json!(null));
    assert!(told["runs"][0]["reasons"].to_string().contains("nights"), "{told}");
    assert!(told["runs"][1]["reasons"].to_string().contains("jitter"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn a_draft_that_cannot_be_meant_is_refused_by_its_field() {
    let house = House::open().await;
    let cron = json!({"type": "cron", "expression": "0 9 * * *"});
    for (body, field) in [
        (json!({}), "schedule"),
        (json!({"schedule": {"type": "cron", "expression": "0 0 30 2 *"}}), "schedule.expression"),
        (json!({"schedule": {"type": "interval", "seconds": 0}}), "schedule.seconds"),
        (json!({"schedule": cron, "count": 0}), "count"),
        (json!({"schedule": cron, "count": 101}), "count"),
        (json!({"schedule": cron, "from": "now"}), "from"),
        (json!({"schedule": cron, "job_id": "x"}), "job_id"),
        (json!({"schedule": cron, "quiet_hours_policy_id": "x"}), "quiet_hours_policy_id"),
        (json!({"schedule": cron, "jitter": 5}), "jitter"),
    ] {
        let (named, problem) = house.post("/schedules/preview", &body).await.refused(422);
        assert_eq!(named, field, "{body}: {problem}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_draft_of_an_edit_says_which_runs_it_adds_and_removes() {
    let house = House::open().await;
    let job = house
        .make(&json!({
            "name": "report", "target": {"type": "handler", "name": "succeed"},
            "schedule": {"type": "cron", "expression": "0 9 * * *"},
        }))
        .await;
    let path = format!("/jobs/{}/preview", super::text(&job["id"]));
    let change = json!({"schedule": {"expression": "0 9,18 * * *"}});
    let told = house.post(&path, &change).await.expect(200);
    assert_eq!(told["summary"], "adds 7 runs this week", "{told}");
    assert_eq!(told["counts"], json!({"added": 7, "removed": 0, "moved": 0, "kept": 7}));
    assert_eq!(told["added"].as_array().unwrap().len(), 7);
    assert_eq!(told["complete"], true);
    let policy = json!({"name": "always", "windows": [{"start": "00:00", "end": "24:00"}]});
    let policy = house.post("/quiet-hours", &policy).await.expect(201);
    let change = json!({"quiet_hours_policy_id": policy["id"]});
    let told = house.post(&path, &change).await.expect(200);
    assert_eq!(told["summary"], "removes 7 runs this week", "{told}");
    let told = house.post(&path, &json!({"max_retry": 3})).await.expect(200);
    assert_eq!(told["summary"], "changes no run this week");
    let often = json!({"schedule": {"type": "interval", "seconds": 1}});
    let told = house.post(&path, &often).await.expect(200);
    assert_eq!((&told["complete"], told["added"].as_array().unwrap().len()), (&json!(false), 100));
    let until =
        house.post(&format!("{path}?until=2020-01-01T00:00:00Z"), &change).await.expect(200);
    assert!(super::text(&until["summary"]).starts_with("changes no run until 2020"), "{until}");
    assert_eq!(house.get(&format!("/jobs/{}", super::text(&job["id"]))).await.expect(200), job);
    let nowhere = "01890000-0000-7000-8000-000000000000";
    for (change, field) in [
        (json!({"schedule": {"expression": "x"}}), "schedule.expression"),
        (json!({"quiet_hours_policy_id": nowhere}), "quiet_hours_policy_id"),
        (json!({"schedule": {"type": "one_shot", "at": "2020-01-01T00:00:00Z"}, "x": 1}), "x"),
    ] {
        let (named, problem) = house.post(&path, &change).await.refused(422);
        assert_eq!(named, field, "{change}: {problem}");
    }
    house.post(&format!("{path}?until=soon"), &json!({})).await.refused(400);
    house.post(&format!("/jobs/{nowhere}/preview"), &json!({})).await.refused(404);
    house.close().await;
}
