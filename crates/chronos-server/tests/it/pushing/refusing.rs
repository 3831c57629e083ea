//! What cannot be subscribed with is refused, and the field is named.

use serde_json::{Value, json};

use super::{SIGNING, Target, make, subscription};
use crate::daemon::house::House;
use crate::rest::text;

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_its_field() {
    let (house, target) = (House::open().await, Target::open().await);
    let own = format!("http://{}/jobs", house.address());
    let many: Vec<String> = (0..101).map(|n| format!("01890000-0000-7000-8000-{n:012}")).collect();
    for (field, value, named) in [
        ("name", json!(""), "name"),
        ("name", json!("a\nb"), "name"),
        ("name", json!("x".repeat(201)), "name"),
        ("url", json!("not a url"), "url"),
        ("url", json!("ftp://example.com/"), "url"),
        ("url", json!("http://169.254.169.254/latest/meta-data"), "url"),
        ("url", json!("http://10.0.0.1/"), "url"),
        ("url", json!("http://[::1]/"), "url"),
        ("url", json!("http://user:secret@example.com/"), "url"),
        ("url", json!(own), "url"),
        ("headers", json!({"Content-Type": "text/plain"}), "headers"),
        ("headers", json!({"Host": "example.com"}), "headers"),
        ("headers", json!({"X-A": "a\r\nX-B: b"}), "headers"),
        ("headers", json!({"X-A": {"secret": "********"}}), "headers"),
        ("signing_secret", json!("hunter2"), "signing_secret"),
        ("signing_secret", json!("********"), "signing_secret"),
        ("timeout_seconds", json!(0), "timeout_seconds"),
        ("max_retry", json!(1_001), "max_retry"),
        ("retry_base_seconds", json!(0), "retry_base_seconds"),
        ("filter", json!({"jobs": ["nightly"]}), "filter.jobs[0]"),
        ("filter", json!({"jobs": many}), "filter.jobs"),
        ("filter", json!({"name": ""}), "filter.name"),
        ("filter", json!({"tag": "x".repeat(65)}), "filter.tag"),
        ("filter", json!({"colour": "red"}), "filter.colour"),
        ("after", json!(1), "after"),
        ("colour", json!("red"), "colour"),
    ] {
        let mut asked = subscription(&target);
        asked[field] = value.clone();
        let answer = house.post("/subscriptions", &asked).await;
        let (refused, problem) = answer.refused(422);
        assert_eq!(refused, named, "{value}: {problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
    let listed = house.get("/subscriptions").await.expect(200);
    assert_eq!(listed["items"], json!([]));
    house.close().await;
}

#[tokio::test]
async fn a_subscription_is_made_listed_changed_and_removed() {
    let (house, target) = (House::open().await, Target::open().await);
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let mut asked = subscription(&target);
        (asked["name"], asked["signing_secret"]) = (json!(name), json!(SIGNING));
        let made = make(house.address(), "/subscriptions", &asked).await;
        assert_eq!((&made["version"], &made["status"]), (&json!(1), &json!("active")));
        ids.push(text(&made["id"]).to_owned());
    }
    let first = house.get("/subscriptions?limit=2").await.expect(200);
    let cursor = text(&first["next_cursor"]);
    let second = house.get(&format!("/subscriptions?limit=2&cursor={cursor}")).await.expect(200);
    let names = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| text(&item["name"]).to_owned()).collect::<Vec<_>>()
    };
    // Made within one millisecond, they are in no order.
    let mut all = names(&first);
    assert_eq!(all.len(), 2);
    all.extend(names(&second));
    all.sort();
    assert_eq!(all, ["one", "three", "two"]);
    let mut taken = subscription(&target);
    taken["name"] = json!("one");
    house.post("/subscriptions", &taken).await.refused(409);
    let path = format!("/subscriptions/{}", ids[0]);
    house.patch_at(&path, "", &json!({"name": "two"})).await.refused(409);
    let (field, _) = house.patch_at(&path, "", &json!({"after": 0})).await.refused(422);
    assert_eq!(field, "after");
    house.patch_at(&path, "If-Match: \"7\"\r\n", &json!({"name": "x"})).await.refused(412);
    let told = house.get(&path).await;
    assert_eq!(told.header("etag"), Some("\"1\""));
    let same = house.patch_at(&path, "If-Match: \"1\"\r\n", &json!({"name": "one"})).await;
    assert_eq!(same.expect(200)["version"], 1, "nothing was changed");
    let change = json!({"name": "uno", "max_retry": null, "timeout_seconds": 2.5});
    let changed = house.patch_at(&path, "If-Match: \"1\"\r\n", &change).await.expect(200);
    assert_eq!((&changed["name"], &changed["version"]), (&json!("uno"), &json!(2)));
    assert_eq!((&changed["max_retry"], &changed["timeout_seconds"]), (&json!(15), &json!(2.5)));
    assert_eq!(changed["signing_secret"], "********");
    assert_eq!(house.ask("DELETE", &path).await.status, 204);
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/pause")),
        ("POST", format!("{path}/resume")),
        ("GET", "/subscriptions/nothing".into()),
    ] {
        house.ask(method, &path).await.refused(404);
    }
    house.close().await;
}
