//! Help, version, completions and manual pages.

use crate::{answer, command};

#[test]
fn the_version_names_the_time_zone_database() {
    let version = env!("CARGO_PKG_VERSION");
    let database = chrono_tz::IANA_TZDB_VERSION;
    let expected = format!("chronos {version} (tz database {database})\n");
    assert_eq!(answer(&["--version"]), expected);
    assert_eq!(answer(&["-V"]), expected);
}

#[test]
fn without_a_command_the_help_is_shown_as_a_mistake() {
    let output = command(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let help = String::from_utf8(output.stderr).unwrap();
    assert_eq!(help.trim_end(), answer(&["--help"]).trim_end());
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = answer(&["completions", shell]);
        assert!(script.contains("chronos") && script.contains("describe"), "{shell}: {script}");
    }
}

#[test]
fn chronos_and_each_command_have_a_manual_page() {
    let page = answer(&["man"]);
    assert!(page.contains(".TH chronos 1"), "{page}");
    for command in ["serve", "next", "scheduler", "jobs", "backup", "config", "completions"] {
        assert!(page.contains(&format!("chronos\\-{command}(1)")), "{page}");
        let page = answer(&["man", command]);
        assert!(page.contains(&format!(".TH chronos-{command} 1")), "{page}");
    }
}
