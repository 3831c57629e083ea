//! Beyond this machine: nobody is served unasked, and the first user is made by whoever has the files.

use std::net::SocketAddr;

use super::{Someone, credentials};
use crate::rest::{send, text};
use crate::serving::{Serving, serve};

/// The address of a process that listens on every address, and its local token.
async fn listening(process: &mut Serving) -> SocketAddr {
    let line = process.line("Listening").await;
    let port = line.split("0.0.0.0:").nth(1).unwrap();
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    format!("127.0.0.1:{port}").parse().unwrap()
}

#[tokio::test]
async fn beyond_this_machine_everyone_says_who_they_are() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let mut process = Serving::spawn(&mut serve(&data, &["--listen", "0.0.0.0:0"]));
    let address = listening(&mut process).await;
    let anyone = Someone { address, token: None };
    for path in ["/jobs", "/users", "/metrics", "/auth/me"] {
        anyone.get(path).await.refused(401);
    }
    let (_, refused) = anyone.post("/auth/signup", &credentials("eve")).await.refused(403);
    assert!(refused.contains("make the first on the daemon's own machine"), "{refused}");
    let file = std::fs::read_to_string(data.join("local.token")).unwrap();
    let owner = anyone.with_token(file.lines().nth(1).unwrap());
    let made = owner.post("/auth/signup", &credentials("ada")).await.expect(201);
    assert_eq!(made["role"], "admin");
    let ada = anyone.log_in("ada").await;
    assert_eq!(text(&ada.get("/auth/me").await.expect(200)["user"]["username"]), "ada");
    // Any name of the machine will do; a page of another site will not.
    let token = format!("Authorization: Bearer {}\r\n", ada.token.clone().unwrap());
    for (lines, status) in [
        (format!("Origin: http://{address}\r\n"), 200),
        ("Origin: https://example.org\r\n".into(), 403),
        ("Origin: null\r\n".into(), 403),
    ] {
        let answer = send(address, "GET", "/jobs", &format!("{token}{lines}"), b"").await;
        assert_eq!(answer.status, status, "{lines}");
    }
    let request = format!(
        "GET /jobs HTTP/1.1\r\nHost: chronos.example.org\r\nConnection: close\r\n{token}\r\n"
    );
    let answer = crate::daemon::house::raw(address, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A new start makes the old file worthless, and tokens of logins go on.
    process.stop().await;
    let mut process = Serving::spawn(&mut serve(&data, &["--listen", "0.0.0.0:0"]));
    let again = listening(&mut process).await;
    let at = |someone: &Someone| Someone { address: again, ..someone.clone() };
    at(&owner).get("/jobs").await.refused(401);
    at(&ada).get("/jobs").await.expect(200);
    process.stop().await;
}

#[tokio::test]
async fn no_secret_is_logged_or_kept_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let (mut process, address) = Serving::over(&data, &["--log", "trace"]).await;
    let anyone = Someone { address, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let login = anyone.try_log_in("ada", super::PASSWORD).await.expect(200);
    let ada = anyone.with_token(text(&login["token"]));
    let program = ada.key(&["read"]).await;
    program.get("/jobs").await.expect(200);
    anyone.try_log_in("ada", "wrong horse canary").await.refused(401);
    let secrets = [
        super::PASSWORD.to_owned(),
        "wrong horse canary".into(),
        text(&login["token"]).into(),
        text(&login["refresh_token"]).into(),
        program.token.clone().unwrap(),
        "$argon2id$".into(),
    ];
    process.signal("TERM");
    let logged = process.rest_of_log().await;
    assert!(logged.contains("Logged in") && logged.contains("Login refused"), "{logged}");
    for secret in &secrets {
        assert!(!logged.contains(secret), "the log holds a secret");
    }
    for file in walk(&data) {
        let bytes = std::fs::read(&file).unwrap();
        for secret in &secrets[..5] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds a secret", file.display());
        }
    }
}

/// Every file below a directory.
fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}
