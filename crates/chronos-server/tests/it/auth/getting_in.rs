//! Getting in: signing up, logging in, going on, leaving, and what ends all of it.

use serde_json::{Value, json};

use super::{Estate, PASSWORD, Someone, credentials};
use crate::rest::text;

#[tokio::test]
async fn without_users_this_machine_is_served_and_the_first_user_ends_that() {
    let estate = Estate::empty().await;
    let anyone = estate.anyone();
    let me = anyone.get("/auth/me").await.expect(200);
    assert_eq!(
        (&me["known_by"], &me["role"], &me["user"]),
        (&json!("local"), &json!("admin"), &Value::Null)
    );
    anyone.get("/jobs").await.expect(200);
    assert_eq!(anyone.get("/metrics").await.status, 200);
    let made = anyone.post("/auth/signup", &credentials("ada")).await;
    assert_eq!(made.header("location").map(|at| at.starts_with("/users/")), Some(true));
    assert_eq!(made.expect(201)["role"], "admin", "the first user is");
    let refused = anyone.get("/jobs").await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    refused.refused(401);
    for open in ["/healthz", "/readyz", "/openapi.json", "/docs/"] {
        assert_eq!(anyone.get(open).await.status, 200, "{open}");
    }
    assert_eq!(anyone.get("/metrics").await.status, 401);
    let ada = anyone.log_in("ada").await;
    let me = ada.get("/auth/me").await.expect(200);
    assert_eq!((&me["known_by"], &me["user"]["username"]), (&json!("login"), &json!("ada")));
    let jobs = ada.get("/jobs").await.expect(200);
    assert!(!jobs["items"].as_array().unwrap().is_empty(), "an admin sees what was there before");
    estate.close().await;
}

#[tokio::test]
async fn a_login_says_what_it_gives_and_hides_what_it_keeps() {
    let (estate, ada) = Estate::open().await;
    let answer = ada.try_log_in("ada", PASSWORD).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let login = answer.expect(200);
    assert_eq!(login["token_type"], "Bearer");
    assert_eq!(text(&login["token"]).split('.').count(), 3);
    assert!(text(&login["expires_at"]) < text(&login["refresh_expires_at"]));
    let users = ada.get("/users").await.expect(200).to_string();
    for secret in ["argon2", "password", "hash", "generation"] {
        assert!(!users.contains(secret) && !login["user"].to_string().contains(secret), "{users}");
    }
    estate.close().await;
}

#[tokio::test]
async fn sign_up_is_closed_after_the_first_unless_an_admin_asks() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let refused = estate.anyone().post("/auth/signup", &credentials("eve")).await;
    assert!(refused.refused(403).1.contains("sign-up is closed; ask an admin"));
    bob.post("/auth/signup", &credentials("eve")).await.refused(403);
    let forged = ada.with_token("x.y.z").post("/auth/signup", &credentials("eve")).await;
    forged.refused(401);
    let made = ada.post("/auth/signup", &credentials("eve")).await.expect(201);
    assert_eq!(made["role"], "user");
    estate.close().await;
}

#[tokio::test]
async fn anyone_signs_up_as_a_plain_user_where_that_is_allowed() {
    let estate = Estate::with(|config| config.auth.open_signup = true).await;
    let anyone = estate.anyone();
    for (name, role) in [("ada", "admin"), ("bob", "user"), ("cyd", "user")] {
        let made = anyone.post("/auth/signup", &credentials(name)).await.expect(201);
        assert_eq!(made["role"], role);
    }
    for field in ["role", "roles", "id", "disabled", "generation"] {
        let mut more = credentials("eve");
        more[field] = json!("admin");
        let (named, _) = anyone.post("/auth/signup", &more).await.refused(422);
        assert_eq!(named, field, "nobody chooses their own rights");
    }
    anyone.post("/auth/signup", &credentials("BOB")).await.refused(409);
    estate.close().await;
}

#[tokio::test]
async fn of_many_who_sign_up_first_at_once_one_is_made() {
    let estate = Estate::empty().await;
    let tries = (0..6).map(|number| {
        let anyone = estate.anyone();
        async move { anyone.post("/auth/signup", &credentials(&format!("u{number}"))).await.status }
    });
    let mut statuses = futures::future::join_all(tries).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403, 403, 403, 403, 403]);
    estate.close().await;
}

#[tokio::test]
async fn who_is_unknown_wrong_or_shut_out_is_told_the_same() {
    let (estate, ada) = Estate::open().await;
    let (_, bob) = ada.hire("bob", "user").await;
    ada.patch(&format!("/users/{bob}"), &json!({"disabled": true})).await.expect(200);
    let anyone = estate.anyone();
    let mut told = Vec::new();
    for (name, password) in [
        ("ada", "wrong horse battery"),
        ("nobody", PASSWORD),
        ("bob", PASSWORD),
        ("", PASSWORD),
        ("a b\u{202e}", PASSWORD),
        ("ada", ""),
    ] {
        let answer = anyone.try_log_in(name, password).await;
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        told.push(answer.refused(401).1);
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    estate.close().await;
}

#[tokio::test]
async fn a_name_that_nobody_has_takes_as_long_as_a_wrong_password() {
    let (estate, _) = Estate::open().await;
    let clock = chronos_engine::SystemClock::new();
    let anyone = estate.anyone();
    let mut medians = Vec::new();
    for name in ["nobody", "ada"] {
        let mut took = Vec::new();
        for _ in 0..7 {
            let began = chronos_engine::Clock::monotonic(&clock);
            anyone.try_log_in(name, "wrong horse battery").await.refused(401);
            took.push(chronos_engine::Clock::monotonic(&clock).saturating_sub(began));
        }
        took.sort();
        medians.push(took[3].as_secs_f64());
    }
    let ratio = medians[0] / medians[1];
    // Without the work there would be a factor of twenty and more; a busy machine makes one of two.
    assert!((0.25..4.0).contains(&ratio), "{medians:?}");
    estate.close().await;
}

#[tokio::test]
async fn passwords_have_bounds_that_are_told() {
    let (estate, ada) = Estate::open().await;
    let long = "x".repeat(1_025);
    for (password, accepted) in [
        ("short", "8 or more"),
        (&*long, "at most 1024"),
        ("password123", "several words"),
        ("newcomer-1", "something that nobody knows"),
    ] {
        let new = json!({"username": "newcomer-1", "password": password});
        let (field, problem) = ada.post("/users", &new).await.refused(422);
        assert_eq!(field, "password");
        assert!(problem.contains(accepted), "{problem}");
        assert!(!problem.contains(password) || password.len() < 8, "a password is not repeated");
    }
    let (field, _) = ada.try_log_in("ada", &long).await.refused(422);
    assert_eq!(field, "password");
    let huge = json!({"username": "ada", "password": "x".repeat(2_000_000)});
    ada.post("/auth/login", &huge).await.refused(413);
    // What is accepted counts to its last byte.
    let longest = format!("{}é", "pass ".repeat(204));
    let new = json!({"username": "long", "password": longest});
    ada.post("/users", &new).await.expect(201);
    ada.try_log_in("long", &longest).await.expect(200);
    ada.try_log_in("long", &longest[..longest.len() - 2]).await.refused(401);
    estate.close().await;
}

#[tokio::test]
async fn names_are_of_any_script_and_one_in_all_their_spellings() {
    let (estate, ada) = Estate::open().await;
    ada.hire("Zoë", "user").await;
    ada.hire("日本太郎", "viewer").await;
    for spelling in ["zoë", "ZOË", "zoe\u{308}"] {
        ada.try_log_in(spelling, PASSWORD).await.expect(200);
        ada.post("/users", &credentials(spelling)).await.refused(409);
    }
    for name in ["", "a b", "a\nb", "\u{202e}ada", "ada\u{200b}", &"x".repeat(65)] {
        let (field, problem) = ada.post("/users", &credentials(name)).await.refused(422);
        assert_eq!(field, "username");
        assert!(
            problem.contains("use 1 to 64 letters") || problem.contains("1 to 64"),
            "{problem}"
        );
    }
    estate.close().await;
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_again_for_nobody() {
    let (estate, ada) = Estate::open().await;
    let anyone = estate.anyone();
    let login = anyone.try_log_in("ada", PASSWORD).await.expect(200);
    let refresh =
        async |token: &Value| anyone.post("/auth/refresh", &json!({"refresh_token": token})).await;
    let second = refresh(&login["refresh_token"]).await.expect(200);
    let third = refresh(&second["refresh_token"]).await.expect(200);
    let thirds = anyone.with_token(text(&third["token"]));
    thirds.get("/jobs").await.expect(200);
    // The first token comes again: somebody stole it, or stole from whoever did.
    refresh(&login["refresh_token"]).await.refused(401);
    refresh(&third["refresh_token"]).await.refused(401);
    thirds.get("/jobs").await.refused(401);
    ada.get("/jobs").await.expect(200);
    // Tokens of one kind are none of the other.
    let other = anyone.try_log_in("ada", PASSWORD).await.expect(200);
    anyone.with_token(text(&other["refresh_token"])).get("/jobs").await.refused(401);
    refresh(&other["token"]).await.refused(401);
    for token in ["", "chs_", "chs_!!!!", "chs_AAAA"] {
        refresh(&json!(token)).await.refused(401);
    }
    estate.close().await;
}

#[tokio::test]
async fn a_logout_ends_one_session_or_all() {
    let (estate, ada) = Estate::open().await;
    let (one, other) = (ada.log_in("ada").await, ada.log_in("ada").await);
    assert_eq!(one.ask("POST", "/auth/logout").await.status, 204);
    one.get("/auth/me").await.refused(401);
    other.get("/auth/me").await.expect(200);
    assert_eq!(other.post("/auth/logout", &json!({"all": true})).await.status, 204);
    for gone in [&other, &ada] {
        gone.get("/auth/me").await.refused(401);
    }
    estate.close().await;
}

/// Somebody's session, with what goes on with it.
async fn session(anyone: &Someone, name: &str) -> (Someone, Value) {
    let login = anyone.try_log_in(name, PASSWORD).await.expect(200);
    (anyone.with_token(text(&login["token"])), login["refresh_token"].clone())
}

#[tokio::test]
async fn a_new_password_ends_every_session_at_once() {
    let (estate, ada) = Estate::open().await;
    ada.hire("bob", "user").await;
    let anyone = estate.anyone();
    let (bob, refresh) = session(&anyone, "bob").await;
    let change =
        |current: &str, new: &str| json!({"current_password": current, "new_password": new});
    let (field, _) =
        bob.post("/auth/password", &change("wrong", "another horse")).await.refused(422);
    assert_eq!(field, "current_password");
    let (field, _) = bob.post("/auth/password", &change(PASSWORD, "short")).await.refused(422);
    assert_eq!(field, "new_password");
    let after = bob.post("/auth/password", &change(PASSWORD, "another horse")).await.expect(200);
    bob.get("/jobs").await.refused(401);
    anyone.post("/auth/refresh", &json!({"refresh_token": refresh})).await.refused(401);
    anyone.try_log_in("bob", PASSWORD).await.refused(401);
    anyone.with_token(text(&after["token"])).get("/jobs").await.expect(200);
    anyone.try_log_in("bob", "another horse").await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn who_is_disabled_or_deleted_is_out_at_once() {
    let (estate, ada) = Estate::open().await;
    for name in ["bob", "cyd"] {
        let (_, id) = ada.hire(name, "user").await;
        let anyone = estate.anyone();
        let (user, refresh) = session(&anyone, name).await;
        let program = user.key(&["read"]).await;
        program.get("/jobs").await.expect(200);
        let path = format!("/users/{id}");
        if name == "bob" {
            ada.patch(&path, &json!({"disabled": true})).await.expect(200);
        } else {
            assert_eq!(ada.ask("DELETE", &path).await.status, 204);
        }
        for out in [&user, &program] {
            out.get("/jobs").await.refused(401);
        }
        anyone.post("/auth/refresh", &json!({"refresh_token": refresh})).await.refused(401);
        anyone.try_log_in(name, PASSWORD).await.refused(401);
        if name == "bob" {
            ada.patch(&path, &json!({"disabled": false})).await.expect(200);
            user.get("/jobs").await.refused(401);
            anyone.log_in("bob").await.get("/jobs").await.expect(200);
        }
    }
    estate.close().await;
}
