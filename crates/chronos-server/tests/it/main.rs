//! The real binary, as a person or a script meets it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot run the binary or gets no answer has nothing to go on"
)]

mod auth;
mod client;
mod cluster;
mod config;
mod contract;
mod crash;
mod daemon;
mod describe;
mod history;
mod leaks;
mod manual;
mod mount;
mod next;
mod outage;
mod pushing;
mod refusals;
mod rest;
mod serving;

use std::process::{Command, Output, Stdio};

/// A command line of the binary, away from the settings of whoever runs the tests.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronos"));
    command.args(args).stdin(Stdio::null());
    for setting in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(setting);
    }
    for (setting, _) in std::env::vars_os() {
        if setting.to_string_lossy().starts_with("CHRONOS_") {
            command.env_remove(setting);
        }
    }
    command.env("TZ", "UTC");
    // Whoever runs the tests may have logged in somewhere.
    command.env("XDG_CONFIG_HOME", "/nowhere");
    command
}

/// What the binary answers to arguments that it must accept.
fn answer(args: &[&str]) -> String {
    let output = command(args).output().expect("the binary runs");
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    stdout
}

/// The one line that the binary answers to arguments that it must refuse.
fn refusal(args: &[&str]) -> String {
    let output = command(args).output().expect("the binary runs");
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
    assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
    assert_eq!(stderr.matches('\n').count(), 1, "{args:?}: {stderr}");
    assert!(stderr.ends_with('\n'), "{args:?}: {stderr}");
    stderr
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the output is text");
    (text(&output.stdout), text(&output.stderr))
}
