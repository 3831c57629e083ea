//! What is refused: with a code that scripts can go by, in one line that says what to do.

use std::net::TcpListener;

use super::house::House;
use crate::{command, refusal, texts};

/// A port that nobody listens on any more.
fn deserted() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn without_a_daemon_the_address_and_two_ways_out_are_told() {
    let address = deserted();
    for args in [&["scheduler", "list"][..], &["jobs", "list"], &["jobs", "delete", "x", "--yes"]] {
        let output = command(args).args(["--server", &address]).output().unwrap();
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stdout.as_str()), (Some(69), ""), "{stderr}");
        let expected = format!(
            "error: no daemon answers at http://{address}: Connection refused (os error 111); \
             start one with chronos serve, or name another with --server URL or CHRONOS_SERVER\n"
        );
        assert_eq!(stderr, expected);
    }
}

#[test]
fn what_is_not_there_taken_or_wrong_has_a_code_each() {
    let house = House::open();
    for verb in [
        &["scheduler", "status"][..],
        &["scheduler", "pause"],
        &["scheduler", "resume"],
        &["scheduler", "run"],
        &["jobs", "show"],
        &["jobs", "executions"],
        &["jobs", "delete", "--yes"],
        &["jobs", "cancel", "--yes"],
        &["jobs", "enable"],
        &["jobs", "edit", "--retries", "1"],
        &["jobs", "logs"],
        &["jobs", "pause"],
        &["jobs", "resume"],
        &["jobs", "run"],
        &["dead-letters", "list", "--job"],
        &["executions", "show"],
    ] {
        let nothing = "0190b0c1-0000-7000-8000-000000000000";
        let (code, error) = house.refusal(&[verb, &[nothing]].concat());
        assert_eq!(code, 4, "{verb:?}: {error}");
        assert!(error.contains(nothing), "{verb:?}: {error}");
    }
    let create = ["jobs", "create", "twice", "--every", "1h", "--url", "http://127.0.0.1:9/"];
    house.answer(&create);
    let (code, error) = house.refusal(&create);
    assert_eq!((code, error.contains("\"twice\"")), (5, true), "{error}");
    for (flag, value) in
        [("--cron", "61 * * * *"), ("--url", "ftp://x/"), ("--url", "http://10.0.0.1/")]
    {
        let mut args = vec!["jobs", "create", "wrong", "--cron", "* * * * *", "--url", "http://x/"];
        let at = args.iter().position(|arg| *arg == flag).unwrap();
        args[at + 1] = value;
        let (code, error) = house.refusal(&args);
        assert_eq!(code, 2, "{error}");
    }
}

#[test]
fn nothing_is_deleted_unasked() {
    let error = refusal(&["jobs", "delete", "x"]);
    assert!(error.starts_with("error: --yes: needed where nobody can be asked"), "{error}");
}

#[test]
fn values_are_refused_before_a_daemon_is_asked() {
    for (args, expected) in [
        (&["jobs", "create"][..], "NAME: the job needs a name"),
        (&["jobs", "create", "x", "--url", "http://x/"], "--cron: the job needs one of"),
        (&["jobs", "create", "x", "--every", "1h"], "--url: the job needs one of"),
        (&["jobs", "create", "x", "--every", "1h", "--tz", "UTC"], "--tz: only for --cron"),
        (&["jobs", "create", "x", "--every", "soon"], "--every: \"soon\" is not accepted"),
        (&["jobs", "create", "x", "--handler", "h", "--body", "b"], "--body: only for --url"),
        (&["jobs", "create", "x", "--overlap", "queue:0"], "--overlap: \"queue:0\" is not"),
        (&["jobs", "create", "x", "--catch-up", "all"], "use skip, once or all:N"),
        (&["jobs", "create", "x", "--header", "novalue"], "use NAME:VALUE"),
        (&["jobs", "create", "x", "--file", "/nowhere.json"], "--file: cannot read /nowhere.json"),
        (
            &["scheduler", "list", "--server", "https://x"],
            "--server: \"https://x\" is not accepted",
        ),
        (&["jobs", "list", "--limit", "0"], "--limit: \"0\" is not accepted"),
    ] {
        let error = refusal(args);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

#[test]
fn a_file_with_an_unknown_field_is_refused_by_name() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("job.json");
    for (json, expected) in [
        (r#"{"name": "x", "shedule": {}}"#, "unknown field `shedule`"),
        (r#"{"schedule": {"type": "cron", "expression": "* * * * *", "zone": "UTC"}}"#, "`zone`"),
        (r#"{"schedule": {"type": "weekly"}}"#, "expected one of `cron`, `interval`, `one_shot`"),
        (r#"{"max_queued": 3}"#, "max_queued: only for overlap_policy queue"),
        (r#"{"retry_base_seconds": -1}"#, "expected a number of seconds from 0"),
        ("", "EOF"),
    ] {
        std::fs::write(&file, json).unwrap();
        let error = refusal(&["jobs", "create", "x", "--file", file.to_str().unwrap()]);
        assert!(error.contains(expected), "{json}: {error}");
    }
}
