//! Starts that are refused or bounded by what an operator says: private files, and what jobs may not call.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::rest::{JSON, send};
use crate::serving::{Serving, serve};

const KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_key_or_a_secret_that_others_may_read_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (directory.path().join("data"), directory.path().join("named"));
    Serving::over(&data, &[]).await.0.stop().await;
    let (secret, auth) = (data.join("secret.key"), data.join("auth.key"));
    let named = file.to_str().unwrap();
    let hook = ["--notify-url", "http://127.0.0.1:9/", "--notify-signing-secret-file", named];
    for (key, path, text, flags) in [
        ("secret_key_file", &secret, &*fs::read_to_string(&secret).unwrap(), &[][..]),
        ("auth_key_file", &auth, &*fs::read_to_string(&auth).unwrap(), &[]),
        ("secret_key_file", &file, KEY, &["--secret-key-file", named]),
        ("old_secret_key_files", &file, KEY, &["--old-secret-key-file", named]),
        ("auth_key_file", &file, KEY, &["--auth-key-file", named]),
        ("notify_signing_secret_file", &file, SIGNING, &hook),
    ] {
        for mode in [0o640, 0o604, 0o620, 0o602, 0o601, 0o644, 0o777] {
            write(path, text, mode);
            let mut process = Serving::spawn(&mut serve(&data, flags));
            let said = process.line("error: ").await;
            assert_eq!(process.code().await, Some(1), "{key} {mode:o}: {said}");
            assert!(said.starts_with(&format!("error: {key}: ")), "{said}");
            let what = format!("others may read it (mode {mode:o}); run chmod go-rwx on it");
            assert!(said.contains(&what) && said.contains(path.to_str().unwrap()), "{said}");
            assert!(!said.contains(text.trim()), "{said}");
        }
        for mode in [0o600, 0o400] {
            write(path, text, mode);
            let (mut process, _) = Serving::over(&data, flags).await;
            process.stop().await;
        }
    }
}

#[tokio::test]
async fn what_an_operator_denies_is_called_by_no_job() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let flags = [
        "--allow-target",
        "127.0.0.0/8",
        "--deny-target",
        "127.0.0.2",
        "--deny-target",
        ":25",
        "--deny-target",
        "127.0.0.1:5432",
        "--deny-target",
        "10.0.0.0/8",
        "--deny-target",
        "db.example.com",
    ];
    let (mut process, address) = Serving::over(&data, &flags).await;
    let create = async |url: &str| {
        let job = json!({"target": {"type": "http", "url": url},
                         "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"}});
        send(address, "POST", "/jobs", JSON, job.to_string().as_bytes()).await
    };
    for url in [
        "http://127.0.0.2/",
        "http://127.0.0.2:8080/",
        "http://2130706434/",
        "http://127.0.0.1:25/",
        "http://example.com:25/",
        "http://127.0.0.1:5432/",
        "http://10.1.2.3/",
        "https://db.example.com/",
        "https://DB.example.com.:8443/x",
    ] {
        let (field, problem) = create(url).await.refused(422);
        assert_eq!(field, "target.url", "{url}: {problem}");
        assert!(problem.contains("denied here"), "{url}: {problem}");
    }
    for url in [
        "http://127.0.0.1:9/",
        "http://127.0.0.3/",
        "https://example.com/",
        "https://b.example.com/",
    ] {
        create(url).await.expect(201);
    }
    process.stop().await;
    // What was made before is not called, either.
    let flags = ["--deny-target", "127.0.0.1:9"];
    let (mut process, address) = Serving::over(&data, &flags).await;
    let jobs = send(address, "GET", "/jobs", "", b"").await.expect(200);
    let job = jobs["items"].as_array().unwrap().iter();
    let job = job.clone().find(|job| job["target"]["url"] == "http://127.0.0.1:9/").unwrap();
    let path = format!("/jobs/{}/run", job["id"].as_str().unwrap());
    let run = send(address, "POST", &path, "", b"").await.expect(201);
    let path = format!("/executions/{}", run["id"].as_str().unwrap());
    let error = super::soon(async {
        loop {
            let run = send(address, "GET", &path, "", b"").await.expect(200);
            if run["status"] == "FAILED" {
                return run["error"].clone();
            }
        }
    })
    .await;
    assert!(error.as_str().unwrap().contains("denied here"), "{error}");
    process.stop().await;
}
