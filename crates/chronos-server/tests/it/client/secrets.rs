//! Secrets at rest: the store holds none that can be read without the key beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::house::{Endpoint, House};

/// Whether any file below the directory, but for the one named, holds this text.
fn holds(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().map(Result::unwrap).any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, text);
        }
        fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn a_secret_is_sealed_on_disk_and_opens_with_its_key_alone() {
    let (directory, endpoint) = (tempfile::tempdir().unwrap(), Endpoint::answering("200 OK"));
    let data = directory.path().join("data");
    let token = directory.path().join("token");
    fs::write(&token, "hunter2-canary\n").unwrap();
    let secret = format!("Authorization:@{}", token.display());
    let (url, plain) = (endpoint.url(), "X-Plain: plain-canary");
    let house = House::over(&data);
    let create = ["jobs", "create", "hidden", "--every", "1h", "--url", &url, "--header", plain];
    house.answer(&[&create[..], &["--secret-header", &secret]].concat());
    let shown = house.answer(&["jobs", "show", "hidden", "--spec"]);
    assert!(shown.contains("********") && !shown.contains("hunter2-canary"), "{shown}");
    house.answer(&["scheduler", "run", "hidden"]);
    let request = endpoint.requests.recv().unwrap();
    assert!(request.contains("authorization: hunter2-canary\r\n"), "{request}");
    drop(house);

    assert!(holds(&data, "plain-canary"), "the store is looked at as it is");
    assert!(!holds(&data, "hunter2-canary"));
    let key = data.join("secret.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);

    let house = House::over(&data);
    house.answer(&["scheduler", "run", "hidden"]);
    assert!(endpoint.requests.recv().unwrap().contains("authorization: hunter2-canary\r\n"));
    let moved = house.answer(&["jobs", "edit", "hidden", "--url", "http://127.0.0.1:9/"]);
    assert!(moved.contains("no secrets for it: Authorization"), "{moved}");
    house.answer(&["jobs", "edit", "hidden", "--url", &url, "--secret-header", &secret]);
    drop(house);

    fs::rename(&key, data.join("secret.key.old")).unwrap();
    let house = House::over(&data);
    let (code, error) = house.refusal(&["scheduler", "run", "hidden"]);
    assert_eq!(code, 3, "{error}");
    let executions = house.answer(&["jobs", "executions", "hidden", "--json"]);
    assert!(executions.contains("cannot be opened: it was sealed with the key"), "{executions}");
    assert!(endpoint.requests.try_recv().is_err(), "nothing was sent");
}
