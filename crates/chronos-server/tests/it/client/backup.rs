//! `chronos backup` and `chronos restore`.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::house::House;
use crate::{answer, command, texts};

#[test]
fn a_backup_of_a_running_daemon_comes_back_as_a_store() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    let text = |name: &str| at(name).to_str().unwrap().to_owned();
    let house = House::over(&at("data"));
    let create = ["jobs", "create", "kept", "--every", "1h", "--url", "http://127.0.0.1:9/"];
    house.answer(&create);
    let backup = house.json(&["backup", &text("backups")]);
    let file = backup["file"].as_str().unwrap();
    let copy = std::fs::metadata(file).unwrap();
    assert_eq!(copy.permissions().mode() & 0o777, 0o600, "only its owner reads a backup");
    assert_eq!(backup["bytes"], copy.len());
    assert_eq!(std::fs::read_dir(at("backups")).unwrap().count(), 1, "nothing else is left there");
    drop(house);

    let said = answer(&["restore", file, "--data-dir", &text("restored")]);
    assert!(said.starts_with("Restored ") && said.contains("chronos serve --data-dir"), "{said}");
    let house = House::over(&at("restored"));
    assert_eq!(house.json(&["jobs", "show", "kept"])["name"], "kept");
}

#[test]
fn nothing_is_restored_over_what_is_there_or_from_what_is_no_backup() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("no-backup");
    std::fs::write(&file, "this is none").unwrap();
    let file = file.to_str().unwrap();
    for (into, expected) in [
        (directory.path().to_path_buf(), "is not empty"),
        (directory.path().join("new"), "the backup cannot be used"),
    ] {
        let output = command(&["restore", file, "--data-dir"]).arg(&into).output().unwrap();
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
    assert!(!directory.path().join("new").exists());
}
