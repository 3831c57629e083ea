//! Passwords as people choose them, and guesses at them: counted by name and by address, over a restart too.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use super::{Estate, PASSWORD, Someone, credentials};
use crate::rest::{Answer, JSON};
use crate::serving::Serving;

const WRONG: &str = "wrong horse battery";

#[tokio::test]
async fn a_password_of_any_script_counts_letter_by_letter() {
    let (estate, ada) = Estate::open().await;
    // 1,024 bytes, which is as long as one may be.
    let longest = "éà".repeat(256);
    for (number, password, others) in [
        (0, "пароль 日本語 🦀🦀", &["пароль 日本語 🦀", "пароль 日本語 🦀🦀🦀", "пароль"][..]),
        (1, "  spaces count  ", &["spaces count", "  spaces count", " spaces count "]),
        (2, "tab\tand\nline end", &["tab and line end", "tab\tand\nline"]),
        (3, "Zoë's e\u{301}clair", &["Zoë's éclair", "ZOË's e\u{301}clair"]),
        (4, &longest, &[&longest[..1_022], &longest[..72]]),
    ] {
        let name = format!("user-{number}");
        let new = json!({"username": name, "password": password});
        ada.post("/users", &new).await.expect(201);
        for other in others {
            ada.try_log_in(&name, other).await.refused(401);
        }
        ada.try_log_in(&name, password).await.expect(200);
    }
    estate.close().await;
}

#[tokio::test]
async fn a_password_with_a_nul_is_refused_and_never_cut_off_there() {
    let (estate, ada) = Estate::open().await;
    ada.hire("bob", "user").await;
    let nul = |name: &str, password: &str| {
        // As JSON spells it, and as it is.
        [
            format!(r#"{{"username": "{name}", "password": "{password}\u0000tail"}}"#),
            format!("{{\"username\": \"{name}\", \"password\": \"{password}\0tail\"}}"),
        ]
    };
    for body in nul("bob", PASSWORD) {
        ada.send("POST", "/auth/login", JSON, body.as_bytes()).await.refused(400);
    }
    for body in nul("eve", PASSWORD) {
        for path in ["/users", "/auth/signup"] {
            ada.send("POST", path, JSON, body.as_bytes()).await.refused(400);
        }
    }
    ada.try_log_in("eve", PASSWORD).await.refused(401);
    ada.try_log_in("bob", PASSWORD).await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn names_that_nobody_has_are_limited_like_those_that_somebody_has() {
    let (estate, ada) = Estate::open().await;
    let (_, bob) = ada.hire("bob", "user").await;
    ada.hire("cyd", "user").await;
    ada.patch(&format!("/users/{bob}"), &json!({"disabled": true})).await.expect(200);
    let anyone = estate.anyone();
    let mut told = Vec::new();
    for (name, password) in [("nobody", WRONG), ("bob", PASSWORD), ("cyd", WRONG)] {
        let mut answers = Vec::new();
        for _ in 0..11 {
            let answer = anyone.try_log_in(name, password).await;
            // How long to wait depends on when it was asked.
            let said = answer.text.replace(|letter: char| letter.is_ascii_digit(), "");
            answers.push((answer.status, said));
        }
        told.push(answers);
    }
    assert_eq!(told[0].iter().map(|(status, _)| *status).filter(|it| *it == 401).count(), 10);
    assert_eq!(told[0][10].0, 429);
    assert!(told.iter().all(|answers| *answers == told[0]), "{told:?}");
    estate.close().await;
}

#[tokio::test]
async fn guesses_at_a_name_from_everywhere_come_to_an_end() {
    let estate = Estate::with(|config| {
        config.auth.attempts.of_both = (2, Duration::from_hours(1));
        config.auth.attempts.of_name = (5, Duration::from_hours(1));
    })
    .await;
    let anyone = estate.anyone();
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    for (address, expected) in [(2, [401, 401, 429]), (3, [401, 401, 429]), (4, [401, 429, 429])] {
        for status in expected {
            assert_eq!(
                anyone.log_in_from(address, "ada", WRONG).await,
                status,
                "127.0.0.{address}"
            );
        }
    }
    assert_eq!(anyone.log_in_from(5, "ada", PASSWORD).await, 429, "no further guess is looked at");
    assert_eq!(anyone.log_in_from(5, "bob", WRONG).await, 401, "other names go on");
    estate.close().await;
}

#[tokio::test]
async fn guesses_of_an_address_at_any_names_come_to_an_end() {
    let estate = Estate::with(|config| {
        config.auth.attempts.of_address = (6, Duration::from_hours(1));
    })
    .await;
    let anyone = estate.anyone();
    // Signing up is an attempt, too.
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let guesses = join_all((0..4).map(|number| {
        let anyone = anyone.clone();
        async move { anyone.try_log_in(&format!("user-{number}"), WRONG).await.status }
    }));
    assert_eq!(guesses.await, [401; 4]);
    let is_told_to_wait = |answer: Answer| {
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        answer.refused(429);
    };
    is_told_to_wait(anyone.try_log_in("user-9", WRONG).await);
    is_told_to_wait(anyone.try_log_in("ada", PASSWORD).await);
    is_told_to_wait(anyone.post("/auth/refresh", &json!({"refresh_token": "chs_AAAA"})).await);
    // Who is in stays in, and whoever is elsewhere gets in.
    ada.get("/jobs").await.expect(200);
    assert_eq!(anyone.log_in_from(2, "ada", PASSWORD).await, 200);
    estate.close().await;
}

#[tokio::test]
async fn guesses_are_remembered_when_the_daemon_is_killed_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut process, address) = Serving::over(&data, &[]).await;
    let anyone = Someone { address, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    for _ in 0..10 {
        anyone.try_log_in("ada", WRONG).await.refused(401);
    }
    process.kill();
    let (mut process, address) = Serving::over(&data, &[]).await;
    let anyone = Someone { address, token: None };
    for password in [WRONG, PASSWORD] {
        anyone.try_log_in("ada", password).await.refused(429);
    }
    assert_eq!(
        anyone.log_in_from(2, "ada", PASSWORD).await,
        200,
        "the owner gets in from elsewhere"
    );
    process.stop().await;
}
