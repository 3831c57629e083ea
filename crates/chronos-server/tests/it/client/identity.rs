//! Logins, users and keys at a terminal: kept for their owner alone, and clear when they are missing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::house::House;
use crate::texts;

const PASSWORD: &str = "correct horse battery";

/// A daemon on disk, and somebody at a terminal with settings of their own.
struct Desk {
    house: House,
    data: TempDir,
    settings: TempDir,
}

impl Desk {
    fn new() -> Self {
        let (data, settings) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let house = House::over(&data.path().join("data"));
        Self { house, data, settings }
    }

    fn data(&self) -> String {
        self.data.path().join("data").display().to_string()
    }

    /// A command of somebody who can read the daemon's files, or cannot.
    fn command(&self, is_owner: bool, args: &[&str]) -> Command {
        let mut command = self.house.command(args);
        command.env("XDG_CONFIG_HOME", self.settings.path());
        let data = if is_owner { self.data() } else { "/nowhere".into() };
        command.env("CHRONOS_DATA_DIR", data);
        command
    }

    fn run(&self, is_owner: bool, args: &[&str], input: &str) -> Output {
        let mut command = self.command(is_owner, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn answer(&self, is_owner: bool, args: &[&str], input: &str) -> String {
        let (stdout, stderr) = texts(&self.run(is_owner, args, input));
        assert!(!stderr.starts_with("error"), "{args:?}: {stderr}");
        stdout
    }

    #[track_caller]
    fn refusal(&self, is_owner: bool, args: &[&str], input: &str) -> (Option<i32>, String) {
        let output = self.run(is_owner, args, input);
        let (_, stderr) = texts(&output);
        assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
        (output.status.code(), stderr)
    }

    /// Makes Ada, an admin, who logs in.
    fn with_ada(&self) {
        let made = self.answer(true, &["users", "create", "ada", "--password-stdin"], PASSWORD);
        assert!(made.starts_with("Made ada (admin), "), "{made}");
        let args = ["login", "ada", "--password-stdin"];
        assert!(self.answer(false, &args, PASSWORD).ends_with("as ada (admin)\n"));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn whoever_can_read_the_daemons_files_needs_no_password() {
    let desk = Desk::new();
    for file in ["local.token", "auth.key"] {
        assert_eq!(mode(&Path::new(&desk.data()).join(file)), 0o600, "{file}");
    }
    assert!(desk.answer(true, &["users", "list"], "").starts_with("There are no users"));
    desk.answer(true, &["users", "create", "ada", "--password-stdin"], PASSWORD);
    let me = desk.answer(true, &["whoami"], "");
    assert!(me.starts_with("the owner of the daemon on this machine\n"), "{me}");
    desk.answer(true, &["scheduler", "list"], "");
    let (code, error) = desk.refusal(false, &["scheduler", "list"], "");
    assert_eq!(code, Some(77));
    assert!(
        error.contains("run chronos login, or give a token with --token or CHRONOS_TOKEN"),
        "{error}"
    );
    let (code, _) = desk.refusal(false, &["users", "list"], "");
    assert_eq!(code, Some(77));
}

#[test]
fn a_login_is_kept_for_its_owner_alone_until_the_logout() {
    let desk = Desk::new();
    desk.with_ada();
    let kept = desk.settings.path().join("chronos/credentials.json");
    assert_eq!((mode(&kept), mode(kept.parent().unwrap())), (0o600, 0o700));
    assert!(!fs::read_to_string(&kept).unwrap().contains(PASSWORD));
    let me: Value = serde_json::from_str(&desk.answer(false, &["whoami", "--json"], "")).unwrap();
    assert_eq!((&me["known_by"], &me["user"]["username"]), (&"login".into(), &"ada".into()));
    desk.answer(false, &["scheduler", "list"], "");
    desk.answer(false, &["logout"], "");
    assert_eq!(desk.refusal(false, &["whoami"], "").0, Some(77));
    assert_eq!(fs::read_to_string(&kept).unwrap().trim(), "{}");
    let (code, error) = desk.refusal(false, &["login", "ada", "--password-stdin"], "wrong horse\n");
    assert_eq!((code, error.contains("the username or the password is wrong")), (Some(77), true));
    let (code, error) = desk.refusal(false, &["login", "ada"], PASSWORD);
    assert_eq!((code, error.contains("--password-stdin: needed where nobody")), (Some(2), true));
}

#[test]
fn a_login_goes_on_by_itself_when_its_token_ends() {
    let desk = Desk::new();
    desk.with_ada();
    let path = desk.settings.path().join("chronos/credentials.json");
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let login = kept.as_object_mut().unwrap().values_mut().next().unwrap();
    let refresh = login["refresh_token"].clone();
    login["expires_at"] = "2020-01-01T00:00:00Z".into();
    fs::write(&path, kept.to_string()).unwrap();
    desk.answer(false, &["scheduler", "list"], "");
    let after: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let login = after.as_object().unwrap().values().next().unwrap();
    assert_ne!(login["refresh_token"], refresh);
    assert_eq!(mode(&path), 0o600);
    // The token that was used is shown again: by a thief, as far as the daemon knows.
    fs::write(&path, kept.to_string()).unwrap();
    let (code, error) = desk.refusal(false, &["scheduler", "list"], "");
    assert_eq!((code, error.contains("is over; run chronos login again")), (Some(77), true));
}

#[test]
fn users_are_made_changed_and_removed() {
    let desk = Desk::new();
    desk.with_ada();
    let create = ["users", "create", "bob", "--role", "viewer", "--password-stdin"];
    desk.answer(false, &create, PASSWORD);
    assert_eq!(desk.refusal(false, &create, PASSWORD).0, Some(5));
    let (code, error) =
        desk.refusal(false, &["users", "create", "eve", "--password-stdin"], "short");
    assert_eq!((code, error.contains("use 8 or more")), (Some(2), true), "{error}");
    let listed = desk.answer(false, &["users", "list"], "");
    assert!(listed.contains("bob") && listed.contains("viewer"), "{listed}");
    let changed =
        desk.answer(false, &["users", "change", "BOB", "--role", "user", "--disable"], "");
    assert!(changed.starts_with("Changed bob (user, disabled)"), "{changed}");
    assert_eq!(desk.refusal(false, &["users", "change", "bob"], "").0, Some(2));
    assert_eq!(desk.refusal(false, &["users", "change", "ghost", "--enable"], "").0, Some(4));
    assert_eq!(desk.refusal(false, &["users", "delete", "bob"], "").0, Some(2));
    desk.answer(false, &["users", "delete", "bob", "--yes"], "");
    let (code, error) = desk.refusal(false, &["users", "delete", "ada", "--yes"], "");
    assert_eq!((code, error.contains("the last admin")), (Some(5), true));
}

#[test]
fn a_key_is_shown_once_and_used_by_flag_or_variable() {
    let desk = Desk::new();
    desk.with_ada();
    let create = ["keys", "create", "ci", "--scope", "read", "--expires-in", "90d"];
    let key = desk.answer(false, &create, "");
    let key = key.trim();
    assert!(key.starts_with("chr_") && !key.contains(char::is_whitespace), "{key}");
    desk.answer(false, &["logout"], "");
    desk.answer(false, &["scheduler", "list", "--token", key], "");
    let mut by_variable = desk.command(false, &["whoami"]);
    let (me, _) = texts(&by_variable.env("CHRONOS_TOKEN", key).output().unwrap());
    assert!(me.starts_with("ada\n") && me.contains("key") && me.contains("read"), "{me}");
    let make =
        ["jobs", "create", "x", "--every", "1h", "--url", "http://127.0.0.1:9/", "--token", key];
    let (code, error) = desk.refusal(false, &make, "");
    assert_eq!((code, error.contains("lacks the scope write")), (Some(77), true), "{error}");
    desk.answer(false, &["login", "ada", "--password-stdin"], PASSWORD);
    let listed = desk.answer(false, &["keys", "list", "--json"], "");
    assert!(!listed.contains(&key[40..]), "{listed}");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    desk.answer(false, &["keys", "revoke", id], "");
    assert_eq!(desk.refusal(false, &["scheduler", "list", "--token", key], "").0, Some(77));
    assert_eq!(desk.refusal(false, &["keys", "revoke", id], "").0, Some(4));
    assert_eq!(desk.refusal(false, &["keys", "create", "x"], "").0, Some(2));
}
