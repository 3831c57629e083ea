//! The record of accounts: who did what to whom, from where, for admins alone to read.

use serde_json::{Value, json};

use super::{Estate, PASSWORD};
use crate::rest::text;

/// Everything that was recorded, oldest first, page by page.
async fn events(ada: &super::Someone) -> Vec<Value> {
    let (mut events, mut path) = (Vec::new(), "/auth/audit?limit=3".to_owned());
    loop {
        let page = ada.get(&path).await.expect(200);
        events.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/auth/audit?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    events.reverse();
    events
}

#[tokio::test]
async fn what_is_done_about_accounts_is_recorded_with_who_did_it() {
    let (estate, ada) = Estate::open().await;
    let me = ada.get("/auth/me").await.expect(200);
    let ada_id = text(&me["user"]["id"]).to_owned();
    let (bob, bob_id) = ada.hire("bob", "user").await;
    estate.anyone().try_log_in("bob", "a wrong password").await.refused(401);
    estate.anyone().try_log_in("hunter2-typed-as-a-name", PASSWORD).await.refused(401);
    let key = json!({"name": "ci", "scopes": ["read"]});
    let key = bob.post("/api-keys", &key).await.expect(201);
    let key_id = text(&key["id"]);
    assert_eq!(bob.ask("DELETE", &format!("/api-keys/{key_id}")).await.status, 204);
    let wrong =
        json!({"current_password": "not it at all", "new_password": "another good password"});
    bob.post("/auth/password", &wrong).await.refused(422);
    let right = json!({"current_password": PASSWORD, "new_password": "another good password"});
    bob.post("/auth/password", &right).await.expect(200);
    let path = format!("/users/{bob_id}");
    ada.patch(&path, &json!({"role": "viewer", "disabled": true})).await.expect(200);
    // What is refused changes nothing, and is no event.
    ada.patch(&format!("/users/{ada_id}"), &json!({"role": "user"})).await.refused(409);
    assert_eq!(ada.ask("DELETE", &path).await.status, 204);
    let events = events(&ada).await;
    let told: Vec<(&str, &Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] != "auth.logged_in")
        .map(|event| (text(&event["type"]), &event["username"], &event["by"]))
        .collect();
    let (ada_s, bob_s, by_ada, by_bob) = (json!("ada"), json!("bob"), json!(ada_id), json!(bob_id));
    let nobody = Value::Null;
    assert_eq!(
        told,
        [
            ("auth.user_created", &ada_s, &nobody),
            ("auth.user_created", &bob_s, &by_ada),
            ("auth.login_refused", &bob_s, &nobody),
            // What was typed as a name may be a password.
            ("auth.login_refused", &nobody, &nobody),
            ("auth.key_created", &bob_s, &by_bob),
            ("auth.key_revoked", &bob_s, &by_bob),
            ("auth.login_refused", &bob_s, &by_bob),
            ("auth.password_changed", &bob_s, &by_bob),
            ("auth.role_changed", &bob_s, &by_ada),
            ("auth.user_disabled", &bob_s, &by_ada),
            ("auth.user_deleted", &bob_s, &by_ada),
        ]
    );
    for (number, event) in (1..).zip(&events) {
        assert_eq!((&event["sequence"], &event["from"]), (&json!(number), &json!("127.0.0.1")));
        assert!(text(&event["at"]).ends_with('Z'), "{event}");
    }
    let logins = events.iter().filter(|event| event["type"] == "auth.logged_in");
    let logins: Vec<&Value> = logins.map(|event| &event["by"]).collect();
    assert_eq!(logins, [&by_ada, &by_bob, &by_bob], "the last with another password");
    let first = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap();
    let key_made = first("auth.key_created");
    assert_eq!((&key_made["key_id"], &key_made["user_id"]), (&json!(key_id), &json!(bob_id)));
    assert_eq!(first("auth.role_changed")["summary"], "the role viewer in place of user");
    let all = serde_json::to_string(&events).unwrap();
    for secret in
        [PASSWORD, "another good password", "hunter2", "a wrong password", text(&key["key"])]
    {
        assert!(!all.contains(secret), "{all}");
    }
    ada.get("/auth/audit?user=bob").await.refused(400);
    estate.close().await;
}

#[tokio::test]
async fn the_record_is_for_admins_to_read_and_for_nobody_to_change() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    estate.anyone().get("/auth/audit").await.refused(401);
    uma.get("/auth/audit").await.refused(403);
    vic.get("/auth/audit").await.refused(403);
    ada.key(&["read", "write"]).await.get("/auth/audit").await.refused(403);
    ada.key(&["admin"]).await.get("/auth/audit").await.expect(200);
    for method in ["DELETE", "PATCH", "PUT", "POST"] {
        ada.ask(method, "/auth/audit").await.refused(405);
    }
    estate.close().await;
}
