//! The examples: each runs to its end and shows what it says.
//!
//! `cargo test` builds them beside this test; a run of this test alone uses what is there.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The built example of this name, which lies beside the directory of this test.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).map(PathBuf::from).unwrap();
    let binary = profile.join("examples").join(name);
    assert!(
        binary.exists(),
        "example \"{name}\" is not built; run `cargo build -p chronos-engine --examples` first"
    );
    Command::new(binary)
}

/// What an example prints, once it has ended well.
fn output_of(name: &str) -> String {
    let output = example(name).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} ended with {}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_shows(output: &str, parts: &[&str]) {
    for part in parts {
        assert!(output.contains(part), "{part:?} is not in:\n{output}");
    }
}

#[test]
fn embed_shows_a_pause_a_manual_run_and_a_summary() {
    let output = output_of("embed");
    let shown = [
        "registered tick    * * * * * *\n",
        "registered report  every hour\n",
        "  tick\n",
        "tick is paused; report runs by hand\n",
        "  report written\n",
        "tick is resumed\n",
        "  sweep begins at shelf 1\n",
        "time is up\n",
        "job      done  failed  skipped  last result\n",
        "report      1       0        0  Success\n",
    ];
    assert_shows(&output, &shown);
    let paused = output.split("tick is paused").nth(1).unwrap();
    let paused = paused.split("tick is resumed").next().unwrap();
    // A tick that had begun may still be printed.
    assert!(paused.matches("  tick\n").count() <= 1, "{output}");
}

#[test]
fn embed_ends_on_a_signal_and_its_run_keeps_a_checkpoint() {
    for signal in ["INT", "TERM"] {
        let mut child = example("embed").stdout(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("sweep begins") {
            line.clear();
            assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended before the sweep");
        }
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(sent.success());
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success(), "after SIG{signal}:\n{rest}");
        let shown = ["asked to stop\n", "Shutdown requested, checkpointing... (shelf "];
        assert_shows(&rest, &shown);
        assert!(!rest.contains("time is up"), "{rest}");
    }
}

#[test]
fn retries_shows_backoff_a_permanent_failure_and_dead_letters() {
    let output = output_of("retries");
    let shown = [
        "10:00:00  mail, attempt 1\n",
        "  mail, attempt 3\n",
        "  upload, attempt 4\n",
        "upload   2026-11-16T10:00:00Z after 4 attempt(s): the disk there is full\n",
        "invoice  2026-11-16T10:00:00Z after 1 attempt(s): customer 7 has no address\n",
        "mail     2 of its attempts failed (67 %)\n",
    ];
    assert_shows(&output, &shown);
    assert_eq!(output.matches("invoice, attempt").count(), 1, "{output}");
    assert!(!output.contains("mail     2026"), "a job that made it is no dead letter:\n{output}");
}

#[test]
fn quiet_hours_shows_reasons_and_then_keeps_to_them() {
    let output = output_of("quiet_hours");
    let shown = [
        "Mon 23:30 is skipped  quiet hours \"night\" until Tue 07:00 Europe/Berlin\n",
        "Mon 22:30 runs at Tue 06:00  quiet hours \"after the night\" until Tue 07:00",
        "06:00:00  backup runs\n",
        "backup: 1 ran, 0 skipped\n",
        "news: 2 ran, 3 skipped\n",
    ];
    assert_shows(&output, &shown);
}

#[test]
fn virtual_time_shows_a_month_of_working_days() {
    let output = output_of("virtual_time");
    let shown = [
        "it is 2026-04-01 00:00 UTC now\n",
        "22 reports, the first at 2026-03-02 08:00 UTC\n",
        "the last at 2026-03-31 07:00 UTC\n",
    ];
    assert_shows(&output, &shown);
}
