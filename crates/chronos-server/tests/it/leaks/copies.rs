//! What copies hold: a backup, a dump of the database, its files and its write-ahead log.

use std::process::Command;
use std::time::Duration;

use chronos_pgtest::{Cluster, Durability};
use serde_json::json;

use super::{PLAIN, canaries, hex, holds, secrets};
use crate::auth::{PASSWORD, Someone, credentials};
use crate::client::house::Endpoint;
use crate::cluster::nodes::Database;
use crate::rest::text;
use crate::serving::Serving;
use crate::{command, texts};

/// Gives a daemon users, keys and jobs with secrets, and has one of them fail; tells what was secret.
async fn fill(anyone: &Someone) -> Vec<String> {
    let failing = Endpoint::answering("500 Internal Server Error");
    let webhook = Endpoint::answering("503 Service Unavailable");
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let login = anyone.try_log_in("ada", PASSWORD).await.expect(200);
    let ada = anyone.with_token(text(&login["token"]));
    let key = ada.post("/api-keys", &json!({"name": "ci", "scopes": ["read"]})).await.expect(201);
    let job = canaries("guarded", &failing.url(), &webhook.url());
    let made = ada.post("/jobs/recurring", &job).await.expect(201);
    ada.ask("POST", &format!("/jobs/{}/run", text(&made["id"]))).await.expect(201);
    webhook.requests.recv_timeout(Duration::from_secs(30)).unwrap();
    let mut secret: Vec<String> = secrets().map(Into::into).into();
    secret.push(PASSWORD.into());
    for token in [&login["token"], &login["refresh_token"], &key["key"]] {
        secret.push(text(token).into());
    }
    secret
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_holds_no_secret_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (data, backups) = (directory.path().join("data"), directory.path().join("backups"));
    let (mut process, address) = Serving::over(&data, &[]).await;
    let secrets = fill(&Someone { address, token: None }).await;
    let token = std::fs::read_to_string(data.join("local.token")).unwrap();
    let mut backup = command(&["backup", backups.to_str().unwrap()]);
    backup.env("CHRONOS_SERVER", address.to_string());
    backup.env("CHRONOS_TOKEN", token.lines().nth(1).unwrap());
    let (_, said) = texts(&backup.output().unwrap());
    process.stop().await;
    assert!(holds(&backups, PLAIN.as_bytes()).is_some(), "the copy is looked at as it is: {said}");
    for secret in secrets {
        for kept in [&backups, &data] {
            assert_eq!(holds(kept, secret.as_bytes()), None, "{secret}");
        }
    }
    // Nor does a copy hold the keys that open what it holds.
    for key in ["secret.key", "auth.key", "local.token"] {
        let key = std::fs::read_to_string(data.join(key)).unwrap();
        let key = key.lines().last().unwrap();
        assert_eq!(holds(&backups, key.as_bytes()), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_a_dump_nor_the_files_of_a_database_hold_a_secret_as_it_is() {
    let cluster = Cluster::start(Durability::Volatile);
    let database = Database::fresh(&cluster);
    let key = database.key("secret.key", 1);
    let mut node = database.node("a", &["--secret-key-file", &key]).await;
    let secrets = fill(&Someone { address: node.address, token: None }).await;
    node.process.stop().await;
    let mut dump = Command::new(chronos_pgtest::binaries().unwrap().join("pg_dump"));
    let (dump, said) = texts(&dump.arg("--inserts").arg(database.url()).output().unwrap());
    assert!(dump.contains("chronos.jobs"), "{said}");
    // Whatever the server still has in memory goes to its files.
    cluster.psql("postgres", "CHECKPOINT");
    // A column of bytes is dumped in hexadecimal.
    let hex = |text: &str| hex(text.as_bytes());
    assert!(dump.contains(PLAIN) || dump.contains(&hex(PLAIN)), "the dump is looked at as it is");
    for part in ["data/pg_wal", "data/base"] {
        let found = holds(&cluster.directory().join(part), PLAIN.as_bytes());
        assert!(found.is_some(), "{part} is looked at as it is");
    }
    for secret in secrets {
        assert!(!dump.contains(&secret) && !dump.contains(&hex(&secret)), "{secret}");
        assert_eq!(holds(cluster.directory(), secret.as_bytes()), None, "{secret}");
    }
}
