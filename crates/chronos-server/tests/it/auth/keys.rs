//! API keys: good for what their scopes say, as long as they last, and never for more than their user.

use serde_json::json;

use super::Estate;
use crate::daemon::soon;
use crate::rest::{hourly, text};

#[tokio::test]
async fn a_key_is_shown_once_and_listed_without_its_secret() {
    let (estate, ada) = Estate::open().await;
    let made = ada.post("/api-keys", &json!({"name": "ci", "scopes": ["read", "write"]})).await;
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.expect(201);
    let (key, id) = (text(&made["key"]), text(&made["id"]));
    assert!(key.starts_with("chr_") && key.len() == 68, "{key}");
    let listed = ada.get("/api-keys").await.expect(200);
    assert!(!listed.to_string().contains(&key[40..]), "{listed}");
    let item = &listed["items"][0];
    assert_eq!((&item["id"], &item["scopes"]), (&json!(id), &json!(["read", "write"])));
    assert!(item["last_used_at"].is_null() && item["expires_at"].is_null());
    ada.with_token(key).get("/jobs").await.expect(200);
    let listed = ada.get("/api-keys").await.expect(200);
    assert!(listed["items"][0]["last_used_at"].is_string(), "{listed}");
    let me = ada.with_token(key).get("/auth/me").await.expect(200);
    assert_eq!((&me["known_by"], &me["user"]["username"]), (&json!("key"), &json!("ada")));
    estate.close().await;
}

#[tokio::test]
async fn a_key_does_what_its_scopes_and_its_user_may() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let write = hourly("by-key", "succeed");
    for (user, scopes, read, made, admin) in [
        (&ada, &["read"][..], 200, 403, 403),
        (&ada, &["write"], 403, 201, 403),
        (&ada, &["admin"], 403, 403, 200),
        (&ada, &["read", "write", "admin"], 200, 409, 200),
        (&bob, &["read", "write", "admin"], 200, 201, 403),
        (&vic, &["read", "write", "admin"], 200, 403, 403),
    ] {
        let program = user.key(scopes).await;
        assert_eq!(program.get("/jobs").await.status, read, "{scopes:?}");
        assert_eq!(program.post("/jobs/recurring", &write).await.status, made, "{scopes:?}");
        assert_eq!(program.get("/users").await.status, admin, "{scopes:?}");
        // No key makes another key, changes a password or logs anyone out.
        program.post("/api-keys", &json!({"name": "x", "scopes": ["admin"]})).await.refused(403);
        program.ask("POST", "/auth/password").await.refused(403);
    }
    estate.close().await;
}

#[tokio::test]
async fn a_key_ends_when_it_is_revoked_by_its_user() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let program = bob.key(&["read"]).await;
    let listed = bob.get("/api-keys").await.expect(200);
    let path = format!("/api-keys/{}", text(&listed["items"][0]["id"]));
    ada.ask("DELETE", &path).await.refused(404);
    program.get("/jobs").await.expect(200);
    assert_eq!(bob.ask("DELETE", &path).await.status, 204);
    program.get("/jobs").await.refused(401);
    bob.ask("DELETE", &path).await.refused(404);
    estate.close().await;
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let (estate, ada) = Estate::open().await;
    let clock = chronos_engine::SystemClock::new();
    let end = chronos_engine::Clock::now(&clock).after(std::time::Duration::from_secs(2));
    let asked = json!({"name": "brief", "scopes": ["read"], "expires_at": end.to_string()});
    let made = ada.post("/api-keys", &asked).await.expect(201);
    let program = ada.with_token(text(&made["key"]));
    program.get("/jobs").await.expect(200);
    // Whoever asks this often is told to wait now and then.
    soon(async { while program.get("/jobs").await.status != 401 {} }).await;
    program.get("/jobs").await.refused(401);
    assert!(chronos_engine::Clock::now(&clock) >= end);
    estate.close().await;
}

#[tokio::test]
async fn what_a_key_cannot_be_is_refused_by_field() {
    let (estate, ada) = Estate::open().await;
    for (field, asked) in [
        ("name", json!({"name": "", "scopes": ["read"]})),
        ("name", json!({"name": "a\nb", "scopes": ["read"]})),
        ("name", json!({"name": "x".repeat(101), "scopes": ["read"]})),
        ("scopes", json!({"name": "x", "scopes": []})),
        ("scopes", json!({"name": "x", "scopes": ["root"]})),
        ("scopes", json!({"name": "x"})),
        (
            "expires_at",
            json!({"name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}),
        ),
        ("user", json!({"name": "x", "scopes": ["read"], "user": "ada"})),
    ] {
        assert_eq!(ada.post("/api-keys", &asked).await.refused(422).0, field, "{asked}");
    }
    assert_eq!(ada.get("/api-keys").await.expect(200)["items"], json!([]));
    estate.close().await;
}
