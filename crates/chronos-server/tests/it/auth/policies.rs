//! Quiet-hours policies are shared: seen by all, changed by whoever made them and by admins.

use serde_json::json;

use super::Estate;
use crate::rest::text;

#[tokio::test]
async fn a_policy_is_seen_by_all_and_changed_by_its_owner_and_admins() {
    let (estate, ada) = Estate::open().await;
    let (uma, id) = ada.hire("uma", "user").await;
    let (ben, _) = ada.hire("ben", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let policy = uma.post("/quiet-hours", &json!({"name": "nights"})).await.expect(201);
    assert_eq!(policy["created_by"], id);
    let path = format!("/quiet-hours/{}", text(&policy["id"]));
    for someone in [&uma, &ben, &vic, &ada] {
        assert_eq!(someone.get(&path).await.expect(200), policy);
        let listed = someone.get("/quiet-hours").await.expect(200);
        assert_eq!(listed["items"], json!([policy]));
    }
    let change = json!({"mode": "defer"});
    let (_, problem) = ben.patch(&path, &change).await.refused(403);
    assert!(problem.contains("somebody else's"), "{problem}");
    ben.ask("DELETE", &path).await.refused(403);
    vic.patch(&path, &change).await.refused(403);
    assert_eq!(uma.patch(&path, &change).await.expect(200)["version"], 2);
    let renamed = ada.patch(&path, &json!({"name": "all nights"})).await.expect(200);
    assert_eq!((&renamed["version"], &renamed["created_by"]), (&json!(3), &json!(id)));
    let hourly = json!({
        "name": "of ben", "schedule": {"type": "interval", "seconds": 3_600},
        "target": {"type": "http", "url": "https://example.com/"},
        "quiet_hours_policy_id": policy["id"],
    });
    let job = ben.post("/jobs/recurring", &hourly).await.expect(201);
    // Its owner learns that it is in use, and of no job of somebody else.
    let told = uma.ask("DELETE", &path).await.expect(409);
    assert_eq!(told["in_use"], json!({"count": 1, "jobs": []}));
    assert!(!told.to_string().contains("of ben"), "{told}");
    let told = ada.ask("DELETE", &path).await.expect(409);
    assert_eq!(told["in_use"]["jobs"], json!([{"id": job["id"], "name": "of ben"}]));
    let key = uma.key(&["read"]).await;
    assert_eq!(key.get(&path).await.status, 200);
    key.patch(&path, &change).await.refused(403);
    estate.close().await;
}

#[tokio::test]
async fn an_edit_of_somebody_elses_job_is_not_previewed() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let (ben, _) = ada.hire("ben", "user").await;
    let hourly = json!({
        "name": "of uma", "schedule": {"type": "interval", "seconds": 3_600},
        "target": {"type": "http", "url": "https://example.com/"},
    });
    let job = uma.post("/jobs/recurring", &hourly).await.expect(201);
    let path = format!("/jobs/{}/preview", text(&job["id"]));
    uma.post(&path, &json!({})).await.expect(200);
    ada.post(&path, &json!({})).await.expect(200);
    ben.post(&path, &json!({})).await.refused(404);
    estate.close().await;
}
