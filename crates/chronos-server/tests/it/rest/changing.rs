//! Changing jobs: patches, versions, switches and pauses.

use serde_json::json;

use super::{hourly, text};
use crate::daemon::house::House;

fn http_job() -> serde_json::Value {
    json!({
        "name": "call",
        "schedule": {"type": "cron", "expression": "0 9 * * *", "timezone": "Europe/Berlin"},
        "target": {
            "type": "http", "url": "http://127.0.0.1:9/a", "method": "PUT",
            "headers": {"X-A": "1", "X-B": "2"}, "timeout_seconds": 5,
        },
        "payload": {"z": 1, "a": 2},
        "max_retry": 3,
        "tags": ["red"],
    })
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let house = House::open().await;
    let job = house.make(&http_job()).await;
    let id = text(&job["id"]);
    let patch = json!({
        "schedule": {"expression": "0 8 * * *"},
        "target": {"headers": {"X-B": null, "X-C": "3"}},
        "max_retry": null,
        "tags": ["blue"],
    });
    let answer = house.patch(id, "If-Match: \"1\"\r\n", &patch).await;
    assert_eq!(answer.header("etag"), Some("\"2\""));
    let changed = answer.expect(200);
    let mut expected = job.clone();
    expected["version"] = json!(2);
    expected["schedule"]["expression"] = json!("0 8 * * *");
    expected["target"]["headers"] = json!({"X-A": "1", "X-C": "3"});
    expected["max_retry"] = json!(0);
    expected["tags"] = json!(["blue"]);
    for field in ["description", "next_execution_time"] {
        assert_ne!(changed[field], job[field], "{field} follows");
        expected[field] = changed[field].clone();
    }
    assert_eq!(changed, expected);
    assert_eq!(house.get(&format!("/jobs/{id}")).await.expect(200), expected);
    let payload = house.patch(id, "", &json!({"payload": "text"})).await.expect(200);
    assert_eq!(payload["payload"], "text");
    let kind = json!({"schedule": {"type": "interval", "seconds": 60}, "payload": null});
    let kind = house.patch(id, "", &kind).await.expect(200);
    assert_eq!(kind["schedule"], json!({"type": "interval", "seconds": 60, "fixed_delay": false}));
    assert_eq!(kind["payload"], json!(null));
    let same = house.patch(id, "", &json!({"name": "call"})).await.expect(200);
    assert_eq!(same["version"], 4, "what changes nothing is no edit");
    house.close().await;
}

#[tokio::test]
async fn a_patch_of_an_older_version_is_refused() {
    let house = House::open().await;
    let id = text(&house.make(&http_job()).await["id"]).to_owned();
    let patch = json!({"max_retry": 5});
    house.patch(&id, "If-Match: \"1\"\r\n", &patch).await.expect(200);
    for tag in ["\"1\"", "\"7\"", "W/\"2\"", "2", "\"1\", \"3\"", "nonsense", ""] {
        let answer =
            house.patch(&id, &format!("If-Match: {tag}\r\n"), &json!({"max_retry": 9})).await;
        let (_, problem) = answer.refused(412);
        assert!(problem.contains("version-mismatch"), "{tag}: {problem}");
    }
    for tag in ["\"2\"", "\"1\", \"3\"", "*"] {
        let patch = json!({"jitter_seconds": tag.len()});
        house.patch(&id, &format!("If-Match: {tag}\r\n"), &patch).await.expect(200);
    }
    assert_eq!(house.get(&format!("/jobs/{id}")).await.expect(200)["max_retry"], 5);
    house.close().await;
}

#[tokio::test]
async fn of_two_patches_at_once_one_is_told_to_read_again() {
    let house = House::open().await;
    let id = text(&house.make(&http_job()).await["id"]).to_owned();
    let (id, house_ref) = (&id, &house);
    let patches = (0..8).map(|number| async move {
        let patch = json!({"jitter_seconds": number + 1});
        house_ref.patch(id, "If-Match: \"1\"\r\n", &patch).await.status
    });
    let mut statuses = futures::future::join_all(patches).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    house.close().await;
}

#[tokio::test]
async fn a_patch_that_cannot_be_meant_changes_nothing() {
    let house = House::open().await;
    let job = house.make(&http_job()).await;
    house.make(&hourly("other", "succeed")).await;
    let id = text(&job["id"]);
    for (patch, status, field) in [
        (json!({"nmae": "x"}), 422, "nmae"),
        (json!({"name": "other"}), 409, ""),
        (json!({"schedule": {"expression": "x"}}), 422, "schedule.expression"),
        (json!({"schedule": {"seconds": 5}}), 422, "schedule.seconds"),
        (json!({"schedule": null, "target": null}), 422, "target"),
        (json!({"target": {"url": "file:///etc/passwd"}}), 422, "target.url"),
        (json!({"target": {"method": "GET"}}), 422, "payload"),
        (json!({"enabled": "no"}), 422, "enabled"),
        (json!({"enabled": false, "name": "x"}), 422, "enabled"),
        (json!({"version": 9}), 422, "version"),
        (json!([]), 422, "body"),
    ] {
        let (named, problem) = house.patch(id, "", &patch).await.refused(status);
        assert_eq!(named, field, "{patch}: {problem}");
    }
    assert_eq!(house.get(&format!("/jobs/{id}")).await.expect(200), job);
    house.close().await;
}

#[tokio::test]
async fn the_target_of_a_job_that_runs_stays() {
    let house = House::open().await;
    let job = house.make(&hourly("w", "wait")).await;
    let id = text(&job["id"]);
    let run = house.ask("POST", &format!("/jobs/{id}/run")).await.expect(201);
    house.wait_for(text(&run["id"]), "RUNNING").await;
    let target = json!({"target": {"type": "handler", "name": "succeed"}});
    house.patch(id, "", &target).await.refused(409);
    house.patch(id, "", &json!({"max_retry": 2})).await.expect(200);
    house.leave.add_permits(1);
    house.wait_for(text(&run["id"]), "SUCCESS").await;
    house.patch(id, "", &target).await.expect(200);
    house.close().await;
}

#[tokio::test]
async fn a_deleted_job_is_switched_off_and_can_be_read_and_switched_on() {
    let house = House::open().await;
    let job = house.make(&hourly("w", "wait")).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let run = house.ask("POST", &format!("{path}/run")).await.expect(201);
    house.wait_for(text(&run["id"]), "RUNNING").await;
    let deleted = house.ask("DELETE", &path).await.expect(200);
    assert_eq!(
        (&deleted["enabled"], &deleted["next_execution_time"]),
        (&json!(false), &json!(null))
    );
    let ended = house.wait_for(text(&run["id"]), "CANCELLED").await;
    assert_eq!(ended["reason"], "by a user");
    assert_eq!(house.get(&path).await.expect(200)["status"], "DISABLED");
    assert_eq!(house.ask("DELETE", &path).await.expect(200)["status"], "DISABLED");
    let on = house.patch(text(&job["id"]), "", &json!({"enabled": true})).await.expect(200);
    assert_eq!((&on["enabled"], &on["status"]), (&json!(true), &json!("PENDING")));
    assert_ne!(on["next_execution_time"], json!(null));
    let off = house.ask("POST", &format!("{path}/cancel")).await.expect(200);
    assert_eq!(off["status"], "DISABLED");
    let purged = house.ask("DELETE", &format!("{path}?purge=true")).await;
    assert_eq!((purged.status, purged.text.as_str()), (204, ""));
    house.get(&path).await.refused(404);
    house.ask("DELETE", &path).await.refused(404);
    house.close().await;
}

#[tokio::test]
async fn a_paused_job_says_since_when_and_why() {
    let house = House::open().await;
    let job = house.make(&hourly("p", "succeed")).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let paused =
        house.post(&format!("{path}/pause"), &json!({"note": "holidays"})).await.expect(200);
    assert_eq!(paused["paused"]["note"], "holidays");
    let again = house.ask("POST", &format!("{path}/pause")).await.expect(200);
    assert_eq!(again["paused"], paused["paused"], "pausing again changes nothing");
    let resumed = house.ask("POST", &format!("{path}/resume")).await.expect(200);
    assert_eq!(resumed["paused"], json!(null));
    let bare = house.ask("POST", &format!("{path}/pause")).await.expect(200);
    assert_eq!(bare["paused"]["note"], json!(null));
    let long = json!({"note": "x".repeat(1_001)});
    assert_eq!(house.post(&format!("{path}/pause"), &long).await.refused(422).0, "note");
    house.close().await;
}
