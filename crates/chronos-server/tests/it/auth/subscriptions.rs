//! Whose subscriptions are there for whom, and whose events they hear.

use serde_json::{Value, json};

use super::{Estate, Someone};
use crate::pushing::{Target, subscription};
use crate::rest::events::says;
use crate::rest::text;

async fn job(someone: &Someone, name: &str) -> String {
    let made = someone.post("/jobs/recurring", &says(name)).await.expect(201);
    text(&made["id"]).to_owned()
}

async fn say(someone: &Someone, job: &str) {
    someone.ask("POST", &format!("/jobs/{job}/run")).await.expect(201);
}

async fn subscribe(someone: &Someone, target: &Target, filter: &Value) -> Value {
    let mut asked = subscription(target);
    asked["filter"] = filter.clone();
    asked["url"] = json!(format!("{}?token=hunter2", target.url()));
    someone.post("/subscriptions", &asked).await.expect(201)
}

#[tokio::test]
async fn a_user_hears_its_own_jobs_and_an_admin_those_of_everyone() {
    let (estate, ada) = Estate::open().await;
    let (uma, uma_id) = ada.hire("uma", "user").await;
    let (ben, ben_id) = ada.hire("ben", "user").await;
    let (of_uma, of_ben) = (job(&uma, "hers").await, job(&ben, "other").await);
    let mut targets = Vec::new();
    for _ in 0..4 {
        targets.push(Target::open().await);
    }
    let made = subscribe(&uma, &targets[0], &json!({})).await;
    assert_eq!((&made["filter"]["owner"], &made["created_by"]), (&json!(uma_id), &json!(uma_id)));
    // A job of somebody else may be named, and is not heard.
    subscribe(&ben, &targets[1], &json!({"jobs": [of_uma]})).await;
    subscribe(&ada, &targets[2], &json!({})).await;
    let mut asked = subscription(&targets[3]);
    (asked["name"], asked["filter"]) = (json!("of ben"), json!({"owner": ben_id}));
    ada.post("/subscriptions", &asked).await.expect(201);
    let mut foreign = subscription(&targets[0]);
    (foreign["name"], foreign["filter"]) = (json!("foreign"), json!({"owner": ben_id}));
    let (field, _) = uma.post("/subscriptions", &foreign).await.refused(422);
    assert_eq!(field, "filter.owner");
    let path = format!("/subscriptions/{}", text(&made["id"]));
    let widened = json!({"filter": {"owner": ben_id}});
    uma.patch(&path, &widened).await.refused(422);
    ada.patch(&path, &widened).await.refused(422);
    let told = ada.patch(&path, &json!({"filter": null})).await.expect(200);
    assert_eq!(told["filter"]["owner"], uma_id, "an admin does not make it hear more");
    say(&uma, &of_uma).await;
    say(&ben, &of_ben).await;
    say(&uma, &of_uma).await;
    targets[2].until(3).await;
    targets[0].until(2).await;
    targets[3].until(1).await;
    assert_eq!(targets[2].sequences(), [1, 2, 3]);
    assert_eq!(targets[0].sequences(), [1, 3]);
    assert_eq!(targets[3].sequences(), [2]);
    assert_eq!(targets[1].sequences(), [0_u64; 0]);
    estate.close().await;
}

#[tokio::test]
async fn an_admin_who_is_none_any_more_hears_its_own_jobs_alone() {
    let (estate, ada) = Estate::open().await;
    let (bea, bea_id) = ada.hire("bea", "admin").await;
    let (of_ada, of_bea) = (job(&ada, "ada's").await, job(&bea, "bea's").await);
    let target = Target::open().await;
    subscribe(&bea, &target, &json!({})).await;
    say(&ada, &of_ada).await;
    target.until(1).await;
    let demoted = json!({"role": "user"});
    ada.patch(&format!("/users/{bea_id}"), &demoted).await.expect(200);
    say(&ada, &of_ada).await;
    say(&ada, &of_bea).await;
    target.until(2).await;
    assert_eq!(target.sequences(), [1, 3]);
    estate.close().await;
}

#[tokio::test]
async fn what_is_somebody_elses_is_seen_by_those_who_see_all() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let (ben, _) = ada.hire("ben", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let target = Target::open().await;
    let made = subscribe(&uma, &target, &json!({})).await;
    let path = format!("/subscriptions/{}", text(&made["id"]));
    for (someone, seen, query) in
        [(&uma, 1, "hunter2"), (&ada, 1, "hunter2"), (&vic, 1, "********"), (&ben, 0, "")]
    {
        let listed = someone.get("/subscriptions").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), seen);
        if seen == 1 {
            assert!(text(&listed["items"][0]["url"]).ends_with(query), "{listed}");
            let told = someone.get(&path).await.expect(200);
            assert!(text(&told["url"]).ends_with(query), "{told}");
        }
    }
    ben.get(&path).await.refused(404);
    ben.patch(&path, &json!({"name": "mine"})).await.refused(404);
    ben.ask("DELETE", &path).await.refused(404);
    vic.ask("POST", &format!("{path}/pause")).await.refused(403);
    ben.ask("POST", &format!("{path}/pause")).await.refused(404);
    ada.ask("POST", &format!("{path}/pause")).await.expect(200);
    let key = uma.key(&["read"]).await;
    key.get(&path).await.expect(200);
    key.ask("POST", &format!("{path}/resume")).await.refused(403);
    uma.ask("POST", &format!("{path}/resume")).await.expect(200);
    assert_eq!(ada.ask("DELETE", &path).await.status, 204);
    estate.close().await;
}
