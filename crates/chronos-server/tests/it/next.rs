//! `chronos next`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use chronos_core::Schedule;
use chronos_core::schedule::Zone;
use serde_json::{Value, json};

use crate::{answer, command};

const BERLIN: [&str; 2] = ["--tz", "Europe/Berlin"];

/// What `next` answers after an instant.
fn next(expression: &str, from: &str, more: &[&str]) -> String {
    answer(&[&["next", expression, "--from", from], more].concat())
}

fn json(expression: &str, from: &str, more: &[&str]) -> Value {
    let text = next(expression, from, &[more, &["--json"]].concat());
    serde_json::from_str(&text).expect("the answer is JSON")
}

fn words(expression: &str, zone: &str) -> String {
    let zone = Zone::parse(zone).expect("the zone exists");
    Schedule::cron(expression, zone).expect("the expression is fine").describe()
}

#[test]
fn working_days_follow_the_clocks_of_their_zone() {
    let expression = "0 9 * * 1-5";
    let words = words(expression, "Europe/Berlin");
    assert_eq!(
        next(expression, "2026-03-26T12:00:00Z", &BERLIN),
        format!(
            "\
{words}
Next 5 runs after Thu 2026-03-26 13:00 +01:00

#   Europe/Berlin                 UTC                    When
1   Fri 2026-03-27 09:00 +01:00   2026-03-27T08:00:00Z   in 20 h
2   Mon 2026-03-30 09:00 +02:00   2026-03-30T07:00:00Z   in 3 d 19 h
3   Tue 2026-03-31 09:00 +02:00   2026-03-31T07:00:00Z   in 4 d 19 h
4   Wed 2026-04-01 09:00 +02:00   2026-04-01T07:00:00Z   in 5 d 19 h
5   Thu 2026-04-02 09:00 +02:00   2026-04-02T07:00:00Z   in 6 d 19 h
"
        )
    );
}

#[test]
fn json_lists_nominal_and_effective_instants_in_utc() {
    let more = [&BERLIN[..], &["-n", "5"]].concat();
    let run = |at: &str| json!({"nominal": at, "effective": at, "reasons": []});
    assert_eq!(
        json("0 9 * * 1-5", "2026-03-28T00:00:00Z", &more),
        json!({
            "description": words("0 9 * * 1-5", "Europe/Berlin"),
            "runs": [
                run("2026-03-30T07:00:00Z"),
                run("2026-03-31T07:00:00Z"),
                run("2026-04-01T07:00:00Z"),
                run("2026-04-02T07:00:00Z"),
                run("2026-04-03T07:00:00Z"),
            ],
        })
    );
}

#[test]
fn a_run_in_the_spring_gap_says_why_it_moved() {
    let words = words("30 2 * * *", "Europe/Berlin");
    let more = [&BERLIN[..], &["-n", "3"]].concat();
    assert_eq!(
        next("30 2 * * *", "2026-03-28T00:00:00Z", &more),
        format!(
            "\
{words}
Next 3 runs after Sat 2026-03-28 01:00 +01:00

#   Europe/Berlin                 UTC                    When            Notes
1   Sat 2026-03-28 02:30 +01:00   2026-03-28T01:30:00Z   in 1 h 30 min
2   Sun 2026-03-29 03:00 +02:00   2026-03-29T01:00:00Z   in 1 d 1 h      shifted by DST: 02:30 does not exist that day
3   Mon 2026-03-30 02:30 +02:00   2026-03-30T00:30:00Z   in 2 d
"
        )
    );
    let reasons = &json("30 2 * * *", "2026-03-28T12:00:00Z", &more)["runs"][0]["reasons"];
    assert_eq!(*reasons, json!(["shifted by DST: 02:30 does not exist that day"]));
}

#[test]
fn a_fixed_time_in_the_repeated_hour_runs_once() {
    let runs = json("30 2 * * *", "2026-10-24T12:00:00Z", &[&BERLIN[..], &["-n", "2"]].concat());
    assert_eq!(runs["runs"][0]["nominal"], "2026-10-25T00:30:00Z");
    assert_eq!(runs["runs"][1]["nominal"], "2026-10-26T01:30:00Z");
}

#[test]
fn jitter_shows_when_the_run_starts_and_stays_the_same() {
    let more = ["--jitter", "60", "-n", "4"];
    let answer = json("@hourly", "2026-01-01T00:00:00Z", &more);
    assert_eq!(answer, json("@hourly", "2026-01-01T00:00:00Z", &more));
    for run in answer["runs"].as_array().unwrap() {
        assert_ne!(run["nominal"], run["effective"]);
        let reason = run["reasons"][0].as_str().unwrap();
        assert!(reason.starts_with('+') && reason.ends_with(" s jitter"), "{reason}");
    }
    let text = next("@hourly", "2026-01-01T00:00:00Z", &more);
    assert!(text.contains("When     Starts         Notes\n"), "{text}");
    assert!(text.contains(" s jitter\n"), "{text}");
    assert!(text.ends_with("\nJitter depends on the job: a saved job gets its own.\n"), "{text}");
}

#[test]
fn jitter_past_midnight_shows_the_date_of_the_start() {
    let text = next("59 59 23 * * *", "2026-01-01T00:00:00Z", &["--jitter", "3000", "-n", "1"]);
    assert!(text.contains("Thu 2026-01-01 23:59:59 +00:00"), "{text}");
    assert!(text.contains("Fri 01-02 00:"), "{text}");
}

#[test]
fn an_interval_counts_from_the_given_instant() {
    assert_eq!(
        answer(&["next", "--every", "5400", "--from", "2026-12-01T09:00:00Z", "-n", "2"]),
        "\
every 90 minutes
Next 2 runs after Tue 2026-12-01 09:00 +00:00

#   UTC                           When
1   Tue 2026-12-01 10:30 +00:00   in 1 h 30 min
2   Tue 2026-12-01 12:00 +00:00   in 3 h
"
    );
}

#[test]
fn times_are_shown_as_finely_as_they_are() {
    let text = answer(&["next", "--every", "7", "--from", "2026-12-01T09:00:00.25Z", "-n", "1"]);
    assert!(text.contains("Next run after Tue 2026-12-01 09:00:00.250 +00:00\n"), "{text}");
    assert!(text.contains("Tue 2026-12-01 09:00:07.250 +00:00   in 7 s\n"), "{text}");
}

#[test]
fn a_schedule_that_ends_says_so() {
    let text = next("0 0 9 1 1 * 2027-2028", "2026-06-01T00:00:00Z", &[]);
    let end = "\nOnly 2 of 5: the schedule has no run after 2028-01-01T09:00:00Z.\n";
    assert!(text.ends_with(end), "{text}");
    let answer = json("0 0 9 1 1 * 2027-2028", "2026-06-01T00:00:00Z", &[]);
    assert_eq!(answer["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn without_an_instant_the_runs_come_after_now() {
    let text = answer(&["next", "@hourly"]);
    assert!(text.contains("\nNext 5 runs from now, "), "{text}");
    assert!(text.contains("   in "), "{text}");
    assert_eq!(text.lines().count(), 3 + 1 + 5, "{text}");
}

#[test]
fn colour_is_for_terminals_and_never_against_no_color() {
    let coloured = |settings: &[(&str, &str)]| {
        let output = command(&["next", "@hourly", "--jitter", "60"])
            .envs(settings.iter().copied())
            .output()
            .expect("the binary runs");
        output.stdout.contains(&b'\x1b')
    };
    assert!(!coloured(&[]), "a pipe is no terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_reader_who_has_read_enough_is_no_failure() {
    // A thousand runs are more than a pipe holds, so the writer meets its closed end.
    let mut child = command(&["next", "* * * * *", "-n", "1000", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "{\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
