//! Keys and kills: while one key takes the place of another, every secret opens, whatever is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;
use serde_json::json;

use crate::client::house::Endpoint;
use crate::rest::{send, text};
use crate::serving::{Serving, say, serve};

const JOBS: usize = 600;
const KILLS: usize = 4;
const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

pub(crate) fn key(directory: &Path, name: &str, byte: u8) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, STANDARD.encode([byte; 32])).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Every file of a directory, as bytes.
pub(crate) fn contents(directory: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            bytes.extend(contents(&path));
        } else {
            bytes.extend(fs::read(path).unwrap());
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_outlive_kills_while_their_key_changes() {
    let seed = std::env::var("CHRONOS_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = Rng::with_seed(seed.unwrap_or_else(|| fastrand::u64(..)));
    say(&format!("replay the dice with CHRONOS_CRASH_SEED={}", dice.get_seed()));
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (old, new) = (key(directory.path(), "old.key", 1), key(directory.path(), "new.key", 2));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let endpoint = Endpoint::answering("200 OK");
    let (mut daemon, at) = Serving::over(&data, &["--secret-key-file", old]).await;
    let lines: Vec<String> = (0..JOBS)
        .map(|number| {
            let secret = |kind: &str| json!({"secret": format!("{kind} {number}")});
            json!({
                "name": format!("job {number}"),
                "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"},
                "target": {"type": "http", "url": endpoint.url(), "signing_secret": SIGNING,
                           "headers": {"X-Key": secret("hunter")}},
                "notify": {"url": endpoint.url(), "headers": {"X-Told": secret("told")},
                           "signing_secret": SIGNING},
            })
            .to_string()
        })
        .collect();
    let kind = "Content-Type: application/x-ndjson\r\n";
    let made = send(at, "POST", "/jobs/bulk", kind, lines.join("\n").as_bytes()).await;
    let ids: Vec<String> = made
        .text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| text(&line["id"]).to_owned())
        .collect();
    assert_eq!(ids.len(), JOBS, "{}", made.text);
    daemon.stop().await;
    let both = ["--secret-key-file", new, "--old-secret-key-file", old];
    let mut unfinished = 0;
    for _ in 0..KILLS {
        let mut daemon = Serving::spawn(&mut serve(&data, &both));
        daemon.line("Listening").await;
        tokio::time::sleep(Duration::from_millis(dice.u64(..60))).await;
        daemon.kill();
        unfinished += usize::from(!daemon.rest_of_log().await.contains("the old ones can go"));
    }
    say(&format!("{unfinished} of {KILLS} kills came before the end"));
    assert!(unfinished > 0, "no kill met the change");
    let (mut daemon, at) = Serving::over(&data, &both).await;
    // Everything opens while some of it is sealed with the one key and some with the other.
    check(at, &ids, &endpoint, &mut dice).await;
    daemon.line("the old ones can go").await;
    daemon.stop().await;
    let (mut daemon, at) = Serving::over(&data, &["--secret-key-file", new]).await;
    check(at, &ids, &endpoint, &mut dice).await;
    daemon.stop().await;
    let kept = contents(&data);
    let holds = |text: &str| kept.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(!holds("hunter 1") && !holds("told 1"), "nothing is kept in the clear");
}

/// Runs a few of the jobs, each of which must send its own secret.
async fn check(at: std::net::SocketAddr, ids: &[String], endpoint: &Endpoint, dice: &mut Rng) {
    for _ in 0..10 {
        let number = dice.usize(..ids.len());
        send(at, "POST", &format!("/jobs/{}/run", ids[number]), "", b"").await.expect(201);
        let request = endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(request.contains(&format!("x-key: hunter {number}\r\n")), "{request}");
        assert!(request.contains("webhook-signature: v1,"), "{request}");
    }
}
