//! Floods: guesses are counted by name and by address, and shut nobody else out.

use futures::future::join_all;
use serde_json::json;

use super::{Estate, PASSWORD, credentials};
use crate::rest::JSON;

#[tokio::test]
async fn guesses_at_a_name_are_limited_for_whoever_guesses() {
    let (estate, ada) = Estate::open().await;
    ada.hire("bob", "user").await;
    let anyone = estate.anyone();
    for _ in 0..10 {
        anyone.try_log_in("bob", "wrong horse battery").await.refused(401);
    }
    for password in ["wrong horse battery", PASSWORD] {
        let answer = anyone.try_log_in("bob", password).await;
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=901).contains(&wait), "{wait}");
        assert!(answer.refused(429).1.contains("too many attempts"));
    }
    // A header that says otherwise moves nobody elsewhere.
    let body = credentials("bob").to_string();
    let lines = format!("{JSON}X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n");
    anyone.send("POST", "/auth/login", &lines, body.as_bytes()).await.refused(429);
    // Others, and other names, go on; and Bob gets in from elsewhere.
    ada.get("/jobs").await.expect(200);
    anyone.log_in("ada").await;
    assert_eq!(anyone.log_in_from(2, "bob", PASSWORD).await, 200);
    estate.close().await;
}

#[tokio::test]
async fn a_success_makes_guesses_forgotten() {
    let (estate, ada) = Estate::open().await;
    for _ in 0..3 {
        for _ in 0..9 {
            ada.try_log_in("ada", "wrong horse battery").await.refused(401);
        }
        ada.try_log_in("ada", PASSWORD).await.expect(200);
    }
    estate.close().await;
}

#[tokio::test]
async fn guesses_at_once_are_all_counted_and_leave_room_for_others() {
    let (estate, ada) = Estate::open().await;
    let flood = join_all((0..40).map(|_| {
        let anyone = estate.anyone();
        async move { anyone.try_log_in("ada", "wrong horse battery").await.status }
    }));
    let others = async {
        for _ in 0..5 {
            ada.get("/jobs").await.expect(200);
        }
    };
    let (statuses, ()) = tokio::join!(flood, others);
    let guesses = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(guesses, 10, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 401 | 429)), "{statuses:?}");
    estate.close().await;
}

#[tokio::test]
async fn guesses_at_ones_own_password_are_counted_too() {
    let (estate, ada) = Estate::open().await;
    let change = json!({"current_password": "wrong", "new_password": "another horse"});
    for _ in 0..10 {
        ada.post("/auth/password", &change).await.refused(422);
    }
    ada.post("/auth/password", &change).await.refused(429);
    estate.close().await;
}
