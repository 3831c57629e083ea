//! Quiet-hours policies: made, told, changed, observed by jobs and removed.

use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;

fn nights() -> Value {
    json!({
        "name": "nights",
        "timezone": "Europe/Berlin",
        "windows": [
            {"days": ["mon", "tue", "wed", "thu", "fri"], "start": "22:00", "end": "07:00"},
            {"days": ["sun"], "start": "00:00", "end": "24:00"},
        ],
        "exceptions": [
            {"date": "2026-12-24", "quiet": true}, {"date": "2026-12-31", "quiet": false},
        ],
        "mode": "defer",
    })
}

async fn make(house: &House, body: &Value) -> Value {
    house.post("/quiet-hours", body).await.expect(201)
}

fn path(policy: &Value) -> String {
    format!("/quiet-hours/{}", text(&policy["id"]))
}

#[tokio::test]
async fn a_policy_is_told_as_it_was_made() {
    let house = House::open().await;
    let answer = house.post("/quiet-hours", &nights()).await;
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let location = answer.header("location").unwrap().to_owned();
    let made = answer.expect(201);
    assert_eq!(location, path(&made));
    for (field, value) in nights().as_object().unwrap() {
        assert_eq!(made[field], *value, "{field}");
    }
    assert_eq!((&made["version"], &made["created_by"]), (&json!(1), &json!("")));
    let told = house.get(&location).await;
    assert_eq!(told.header("etag"), Some("\"1\""));
    assert_eq!(told.expect(200), made);
    let noon = json!({"name": "plain", "windows": [{"start": "12:00", "end": "13:00"}]});
    let plain = make(&house, &noon).await;
    assert_eq!((&plain["mode"], &plain["timezone"]), (&json!("skip"), &json!("UTC")));
    assert_eq!(plain["windows"][0]["days"].as_array().unwrap().len(), 7, "every day if left out");
    house.close().await;
}

#[tokio::test]
async fn policies_are_listed_page_by_page() {
    let house = House::open().await;
    let mut made = Vec::new();
    for number in 0..5 {
        made.push(make(&house, &json!({"name": format!("policy {number}")})).await);
    }
    // Of those that were made within a millisecond either may come first.
    made.sort_by_key(|policy| text(&policy["id"]).to_owned());
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = house.get(&format!("/quiet-hours?limit=2{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap().clone();
        assert!(items.len() <= 2, "{page}");
        listed.extend(items);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(listed, made);
    house.get("/quiet-hours?cursor=x").await.refused(400);
    house.get("/quiet-hours?name=x").await.refused(400);
    house.close().await;
}

#[tokio::test]
async fn a_patch_of_a_policy_changes_what_it_names_and_keeps_to_its_version() {
    let house = House::open().await;
    let made = make(&house, &nights()).await;
    let change = json!({"exceptions": [], "name": "all nights", "mode": null});
    let changed = house.patch_at(&path(&made), "If-Match: \"1\"\r\n", &change).await;
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let changed = changed.expect(200);
    let mut expected = made.clone();
    expected["version"] = json!(2);
    expected["name"] = json!("all nights");
    expected["exceptions"] = json!([]);
    expected["mode"] = json!("skip");
    expected["updated_at"] = changed["updated_at"].clone();
    assert_eq!(changed, expected);
    for tag in ["\"1\"", "W/\"2\"", "nonsense"] {
        let stale = house.patch_at(&path(&made), &format!("If-Match: {tag}\r\n"), &nights()).await;
        let (_, problem) = stale.refused(412);
        assert!(problem.contains("the policy is at"), "{problem}");
    }
    let same = house.patch_at(&path(&made), "", &json!({"mode": "skip"})).await.expect(200);
    assert_eq!(same["version"], 2, "what changes nothing is no edit");
    assert_eq!(house.get(&path(&made)).await.expect(200), expected);
    house.close().await;
}

#[tokio::test]
async fn a_policy_that_cannot_be_meant_is_refused_by_its_field() {
    let house = House::open().await;
    let made = make(&house, &nights()).await;
    make(&house, &json!({"name": "other"})).await;
    let window = |start: &str, end: &str| json!([{"start": start, "end": end}]);
    let date = |date: &str| json!({"date": date, "quiet": true});
    let long: Vec<Value> = (0..51).map(|_| json!({"start": "01:00", "end": "02:00"})).collect();
    for (change, status, field) in [
        (json!({"name": ""}), 422, "name"),
        (json!({"name": null}), 422, "name"),
        (json!({"name": "x".repeat(201)}), 422, "name"),
        (json!({"name": "other"}), 409, ""),
        (json!({"nmae": "x"}), 422, "nmae"),
        (json!({"timezone": "Mars/Olympus"}), 422, "timezone"),
        (json!({"mode": "sleep"}), 422, "mode"),
        (json!({"windows": window("9:00", "10:00")}), 422, "windows[0]"),
        (json!({"windows": window("09:00", "09:00")}), 422, "windows[0]"),
        (json!({"windows": window("09:00", "25:00")}), 422, "windows[0]"),
        (json!({"windows": [{"start": "09:00"}]}), 422, "windows[0].end"),
        (json!({"windows": [{"days": [], "start": "01:00", "end": "02:00"}]}), 422, "windows[0]"),
        (
            json!({"windows": [{"days": ["someday"], "start": "01:00", "end": "02:00"}]}),
            422,
            "windows[0].days",
        ),
        (json!({"windows": long}), 422, "windows"),
        (json!({"exceptions": [date("24.12.2026")]}), 422, "exceptions[0].date"),
        (json!({"exceptions": [date("2026-02-30")]}), 422, "exceptions[0].date"),
        (
            json!({"exceptions": [date("2026-12-24"), date("2026-12-24")]}),
            422,
            "exceptions[1].date",
        ),
        (json!({"exceptions": [{"date": "2026-12-24"}]}), 422, "exceptions[0].quiet"),
        (json!([]), 422, "body"),
    ] {
        let (named, problem) = house.patch_at(&path(&made), "", &change).await.refused(status);
        assert_eq!(named, field, "{change}: {problem}");
        if let Value::Object(change) = change {
            let mut body = json!({"name": "third"});
            body.as_object_mut().unwrap().extend(change);
            let (named, problem) = house.post("/quiet-hours", &body).await.refused(status);
            assert_eq!(named, field, "{body}: {problem}");
        }
    }
    assert_eq!(house.get(&path(&made)).await.expect(200), made);
    let nobody = "/quiet-hours/01890000-0000-7000-8000-000000000000";
    house.get(nobody).await.refused(404);
    house.patch_at(nobody, "", &json!({})).await.refused(404);
    house.ask("DELETE", nobody).await.refused(404);
    house.close().await;
}

#[tokio::test]
async fn jobs_observe_a_policy_and_keep_it_from_being_removed() {
    let house = House::open().await;
    let policy = make(&house, &nights()).await;
    let mut body = hourly("report", "succeed");
    body["quiet_hours_policy_id"] = policy["id"].clone();
    let job = house.make(&body).await;
    assert_eq!(job["quiet_hours_policy_id"], policy["id"]);
    let problem = house.ask("DELETE", &path(&policy)).await;
    assert_eq!(problem.header("content-type"), Some("application/problem+json"));
    let problem = problem.expect(409);
    assert_eq!(
        problem["in_use"],
        json!({"count": 1, "jobs": [{"id": job["id"], "name": "report"}]})
    );
    assert_eq!(problem["detail"], "1 job observes policy \"nights\", among them \"report\"");
    let id = text(&job["id"]);
    let freed = house.patch(id, "", &json!({"quiet_hours_policy_id": null})).await.expect(200);
    assert_eq!(freed["quiet_hours_policy_id"], json!(null));
    let gone = house.ask("DELETE", &path(&policy)).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    house.get(&path(&policy)).await.refused(404);
    for (change, status) in [(policy["id"].clone(), 422), (json!("x"), 422), (json!(7), 422)] {
        let change = json!({"quiet_hours_policy_id": change});
        let (field, problem) = house.patch(id, "", &change).await.refused(status);
        assert_eq!(field, "quiet_hours_policy_id", "{problem}");
    }
    let (field, _) = house.post("/jobs/recurring", &body).await.refused(422);
    assert_eq!(field, "quiet_hours_policy_id");
    house.close().await;
}

#[tokio::test]
async fn what_a_policy_says_now_is_what_a_preview_tells() {
    let house = House::open().await;
    let policy = make(&house, &nights()).await;
    let draft = json!({
        "schedule": {"type": "cron", "expression": "0 12 * * *", "timezone": "Europe/Berlin"},
        "quiet_hours_policy_id": policy["id"], "from": "2026-12-23T12:00:00Z", "count": 1,
    });
    let told = house.post("/schedules/preview", &draft).await.expect(200);
    // All of Christmas Eve is quiet, and its own night after it.
    assert_eq!(told["runs"][0]["nominal"], "2026-12-24T11:00:00Z");
    assert_eq!(told["runs"][0]["effective"], "2026-12-25T06:00:00Z");
    let change = json!({"exceptions": [{"date": "2026-12-24", "quiet": false}]});
    house.patch_at(&path(&policy), "", &change).await.expect(200);
    let told = house.post("/schedules/preview", &draft).await.expect(200);
    assert_eq!(told["runs"][0]["effective"], "2026-12-24T11:00:00Z");
    house.close().await;
}
