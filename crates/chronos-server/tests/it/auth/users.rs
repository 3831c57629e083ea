//! Users: listed, made, changed and removed by admins, of whom one always stays.

use serde_json::{Value, json};

use super::{Estate, PASSWORD, credentials};
use crate::rest::text;

#[tokio::test]
async fn users_are_listed_by_pages_and_found_by_id() {
    let (estate, ada) = Estate::open().await;
    for name in ["bob", "cyd", "dan"] {
        ada.post("/users", &credentials(name)).await.expect(201);
    }
    let mut names: Vec<Value> = Vec::new();
    let mut path = "/users?limit=2".to_owned();
    loop {
        let page = ada.get(&path).await.expect(200);
        names.extend(page["items"].as_array().unwrap().iter().map(|user| user["username"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/users?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(names, ["ada", "bob", "cyd", "dan"]);
    let first = ada.get("/users?limit=1").await.expect(200)["items"][0].clone();
    let found = ada.get(&format!("/users/{}", text(&first["id"]))).await.expect(200);
    assert_eq!(found, first);
    ada.get("/users/01890000-0000-7000-8000-000000000000").await.refused(404);
    assert_eq!(ada.get("/users?role=admin").await.refused(400).0, "role");
    estate.close().await;
}

#[tokio::test]
async fn a_change_of_role_holds_from_the_next_request_on() {
    let (estate, ada) = Estate::open().await;
    let (bob, id) = ada.hire("bob", "user").await;
    let path = format!("/users/{id}");
    bob.get("/monitoring/jobs").await.refused(403);
    let changed = ada.patch(&path, &json!({"role": "viewer"})).await.expect(200);
    assert_eq!(changed["role"], "viewer");
    bob.get("/monitoring/jobs").await.expect(200);
    bob.ask("POST", "/jobs").await.refused(403);
    ada.patch(&path, &json!({"role": "admin"})).await.expect(200);
    bob.get("/users").await.expect(200);
    for (field, patch) in [
        ("role", json!({"role": "root"})),
        ("role", json!({"role": "Admin"})),
        ("disabled", json!({"disabled": "yes"})),
        ("username", json!({"username": "eve"})),
        ("id", json!({"id": id})),
        ("password", json!({"password": "short"})),
    ] {
        assert_eq!(ada.patch(&path, &patch).await.refused(422).0, field, "{patch}");
    }
    estate.close().await;
}

#[tokio::test]
async fn the_last_admin_stays() {
    let (estate, ada) = Estate::open().await;
    let me = ada.get("/auth/me").await.expect(200);
    let path = format!("/users/{}", text(&me["user"]["id"]));
    for patch in [json!({"role": "user"}), json!({"disabled": true})] {
        let refused = ada.patch(&path, &patch).await.refused(409);
        assert!(refused.1.contains("the last admin"), "{refused:?}");
    }
    ada.ask("DELETE", &path).await.refused(409);
    let (bob, _) = ada.hire("bob", "admin").await;
    assert_eq!(bob.ask("DELETE", &path).await.status, 204);
    ada.get("/auth/me").await.refused(401);
    estate.close().await;
}

#[tokio::test]
async fn an_admin_sets_a_password_and_what_was_handed_out_ends() {
    let (estate, ada) = Estate::open().await;
    let (bob, id) = ada.hire("bob", "user").await;
    let change = json!({"password": "another horse"});
    ada.patch(&format!("/users/{id}"), &change).await.expect(200);
    bob.get("/jobs").await.refused(401);
    ada.try_log_in("bob", PASSWORD).await.refused(401);
    ada.try_log_in("bob", "another horse").await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn a_removed_users_jobs_are_for_admins_and_not_for_a_namesake() {
    let (estate, ada) = Estate::open().await;
    let (bob, id) = ada.hire("bob", "user").await;
    let job =
        bob.post("/jobs/recurring", &crate::rest::hourly("kept", "succeed")).await.expect(201);
    assert_eq!(ada.ask("DELETE", &format!("/users/{id}")).await.status, 204);
    let path = format!("/jobs/{}", text(&job["id"]));
    assert_eq!(ada.get(&path).await.expect(200)["created_by"], json!(id));
    let (namesake, _) = ada.hire("bob", "user").await;
    namesake.get(&path).await.refused(404);
    estate.close().await;
}
