//! `chronos config`: layers, sources and refusals.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{command, texts};

/// `chronos config` in a directory whose `chronos.toml` says this.
fn config(file: &str, variables: &[(&str, &str)], args: &[&str]) -> (TempDir, Command) {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("chronos.toml"), file).unwrap();
    let mut command = command(&[&["config"], args].concat());
    command.current_dir(directory.path()).envs(variables.iter().copied());
    (directory, command)
}

fn in_force(file: &str, variables: &[(&str, &str)], args: &[&str]) -> Value {
    let (_directory, mut command) = config(file, variables, &[args, &["--json"]].concat());
    let output = command.output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&stdout).unwrap()
}

fn refused(file: &str, variables: &[(&str, &str)], args: &[&str]) -> String {
    let (_directory, mut command) = config(file, variables, args);
    let output = command.output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{stderr}");
    assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    stderr
}

#[test]
fn flags_go_over_variables_and_variables_over_the_file() {
    let file = "listen = '127.0.0.1:1'\nlog = 'warn'\nhistory_per_job = 7\n";
    let variables = [("CHRONOS_LISTEN", "127.0.0.1:2"), ("CHRONOS_LOG", "debug")];
    let answer = in_force(file, &variables, &["--listen", "[::1]:3"]);
    let of = |value: Value, source: &str| json!({"value": value, "source": source});
    assert_eq!(answer["listen"], of("[::1]:3".into(), "--listen"));
    assert_eq!(answer["log"], of("debug".into(), "CHRONOS_LOG"));
    assert_eq!(answer["history_per_job"], of(7.into(), "chronos.toml"));
    assert_eq!(answer["store"], of("fjall".into(), "default"));
}

#[test]
fn every_key_is_in_the_documents_and_in_the_file_to_begin_with() {
    let table = include_str!("../../../../docs/configuration.md");
    let file = include_str!("../../../../deploy/chronos.toml");
    for key in in_force("", &[], &[]).as_object().unwrap().keys() {
        assert!(table.contains(&format!("\n| `{key}` | ")), "{key} is not in the table");
        assert!(file.contains(&format!("\n# {key} = ")), "{key} is not in the file");
    }
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let given = ["--data-dir", "/srv/a \"quoted\" place", "--default-timezone", "Europe/Berlin"];
    let (_directory, mut command) = config("", &[], &given);
    let (printed, _) = texts(&command.output().unwrap());
    assert!(printed.contains("default_timezone = \"Europe/Berlin\""), "{printed}");
    assert!(printed.contains("  # --default-timezone\n"), "{printed}");
    let (before, after) = (in_force("", &[], &given), in_force(&printed, &[], &[]));
    for (key, answer) in before.as_object().unwrap() {
        assert_eq!(after[key]["value"], answer["value"], "{key}");
        assert_eq!(after[key]["source"], "chronos.toml", "{key}");
    }
}

#[test]
fn a_value_that_is_not_accepted_is_told_with_its_key_its_source_and_what_is() {
    for (key, value, accepted) in [
        ("listen", "8080", "an address and a port such as 127.0.0.1:8080"),
        ("store", "sqlite", "fjall, rocksdb or memory"),
        ("shutdown_timeout_secs", "-1", "whole seconds from 0 to 31536000"),
        ("shutdown_timeout_secs", "99999999999", "whole seconds from 0 to 31536000"),
        ("max_concurrent_runs", "0", "a whole number from 1"),
        ("default_timezone", "Europ/Berlin", "did you mean \"Europe/Berlin\""),
        ("history_per_job", "many", "a whole number from 1"),
        ("open_signup", "maybe", "true or false"),
        ("open_signup", "1", "true or false"),
        ("log", "chronos=loud", "a filter such as"),
        ("log_format", "xml", "auto, pretty or json"),
        ("compaction_cron", "61 * * * *", "a cron expression such as"),
        ("data_dir", "", "a path"),
    ] {
        let number = value.parse::<i64>().is_ok() && key != "listen";
        let text = if number { value.into() } else { format!("'{value}'") };
        let variable = format!("CHRONOS_{}", key.to_uppercase());
        let flag = format!("--{}", key.replace('_', "-"));
        for (error, source) in [
            (refused(&format!("{key} = {text}"), &[], &[]), "chronos.toml"),
            (refused("", &[(&variable, value)], &[]), variable.as_str()),
            (refused("", &[], &[&format!("{flag}={value}")]), flag.as_str()),
        ] {
            assert!(error.starts_with(&format!("error: {key}: ")), "{error}");
            assert!(error.contains(accepted), "{error}");
            assert!(error.ends_with(&format!("(from {source})\n")), "{error}");
        }
    }
}

#[test]
fn whether_anyone_may_sign_up_is_said_alike_everywhere() {
    for (file, variables, args) in [
        ("open_signup = true", &[][..], &[][..]),
        ("", &[("CHRONOS_OPEN_SIGNUP", "true")], &[]),
        ("open_signup = false", &[], &["--open-signup", "true"]),
    ] {
        assert_eq!(in_force(file, variables, args)["open_signup"]["value"], true);
    }
    assert_eq!(in_force("", &[], &[])["open_signup"]["value"], false);
    let named = in_force("", &[], &["--auth-key-file", "/etc/chronos.key"]);
    assert_eq!(named["auth_key_file"]["value"], "/etc/chronos.key");
}

#[test]
fn a_list_is_written_with_commas_or_one_by_one() {
    let list = json!(["10.0.0.0/8", "billing.internal"]);
    let file = "allow_targets = ['10.1.2.3/8', 'Billing.Internal']";
    let flags = ["--allow-target", "10.0.0.0/8", "--allow-target=billing.internal."];
    for (answer, source) in [
        (in_force(file, &[], &[]), "chronos.toml"),
        (
            in_force("", &[("CHRONOS_ALLOW_TARGETS", "10.0.0.0/8, billing.internal")], &[]),
            "CHRONOS_ALLOW_TARGETS",
        ),
        (in_force(file, &[], &flags), "--allow-target"),
    ] {
        assert_eq!(answer["allow_targets"], json!({"value": list, "source": source}));
    }
    assert_eq!(in_force("", &[], &[])["allow_targets"]["value"], json!([]));
    for error in [
        refused("allow_targets = ['http://x']", &[], &[]),
        refused("", &[("CHRONOS_ALLOW_TARGETS", "10.0.0.0/8,10.0.0.0/33")], &[]),
        refused("", &[], &["--allow-target", "10.0.0.0/8", "--allow-target", "a b"]),
    ] {
        assert!(error.starts_with("error: allow_targets: "), "{error}");
        assert!(error.contains("networks such as 10.0.0.0/8 (from "), "{error}");
    }
}

#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    let error = refused("lisen = '127.0.0.1:1'", &[], &[]);
    assert!(error.starts_with("error: lisen: no such key; use one of listen, "), "{error}");
    assert!(error.ends_with("(from chronos.toml)\n"), "{error}");
    let error = refused("", &[("CHRONOS_LISEN", "x")], &[]);
    assert!(error.starts_with("error: lisen: no such key; ") && error.contains("CHRONOS_LISEN"));
}

#[test]
fn variables_of_a_container_platform_are_no_keys() {
    let variables = [
        ("CHRONOS_PORT", "tcp://10.0.0.1:8080"),
        ("CHRONOS_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("CHRONOS_SERVICE_HOST", "10.0.0.1"),
        ("CHRONOS_DB_SERVICE_PORT", "5432"),
        ("CHRONOS_SERVER", "http://127.0.0.1:1"),
        ("CHRONOS_TOKEN", "chr_x"),
    ];
    assert_eq!(in_force("", &variables, &[])["listen"]["source"], "default");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = refused("listen = \n", &[], &[]);
    assert!(error.starts_with("error: cannot read chronos.toml: "), "{error}");
    let error = refused("", &[], &["--config", "/nowhere/at-all.toml"]);
    assert!(error.starts_with("error: cannot read /nowhere/at-all.toml: No such file"), "{error}");
}
