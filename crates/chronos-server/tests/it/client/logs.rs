//! `chronos jobs logs`, and dead letters from the command line.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::house::{Endpoint, House};
use crate::texts;

fn create(house: &House, endpoint: &Endpoint, name: &str, more: &[&str]) {
    let args = ["jobs", "create", name, "--every", "1d", "--url", &endpoint.url()];
    house.answer(&[&args[..], more].concat());
}

/// Runs a job that fails, to its end.
fn fail(house: &House, job: &str) {
    let output = house.command(&["jobs", "run", job]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{:?}", texts(&output));
}

#[test]
fn logs_tell_every_attempt_with_what_was_answered() {
    let (house, endpoint) = (House::open(), Endpoint::answering("503 Service Unavailable"));
    create(&house, &endpoint, "hook", &["--retries", "1", "--retry-base", "10ms"]);
    assert_eq!(house.answer(&["jobs", "logs", "hook"]), "\"hook\" has not run yet\n");
    fail(&house, "hook");
    let text = house.answer(&["jobs", "logs", "hook"]);
    let heads: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(heads.len(), 2, "{text}");
    assert!(heads[0].contains("  FAILED  ") && heads[0].contains("attempt 1, manual, HTTP 503"));
    assert!(heads[1].contains("attempt 2, manual, HTTP 503 after "), "{text}");
    assert!(text.contains("  error: answered 503 Service Unavailable\n"), "{text}");
    assert!(text.contains("  body:\n    ok\n"), "{text}");
    let told = house.json(&["jobs", "logs", "hook", "-n", "1"]);
    let [last] = told.as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!((&last["attempt"], &last["response_body"]), (&2.into(), &"ok".into()));
    let text = house.answer(&["jobs", "logs", last["id"].as_str().unwrap()]);
    assert!(text.contains("attempt 2") && !text.contains("attempt 1"), "{text}");
}

#[test]
fn what_an_endpoint_says_cannot_move_the_cursor() {
    let house = House::open();
    for (name, said, shown) in [
        (
            "text",
            &b"\x1b[2Jgone\x00\r\nerror: forged"[..],
            "    \\u{1b}[2Jgone\\u{0}\n    error: forged\n",
        ),
        ("bytes", b"\xff\x1b", "  body, in base64: /xs=\n"),
        ("script", b"</script><svg/onload=x>", "    </script><svg/onload=x>\n"),
    ] {
        create(&house, &Endpoint::saying("200 OK", said), name, &[]);
        house.answer(&["jobs", "run", name]);
        let text = house.answer(&["jobs", "logs", name]);
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains(['\u{1b}', '\0', '\r']), "{text}");
    }
}

#[test]
fn logs_are_followed_as_executions_end() {
    let (house, endpoint) = (House::open(), Endpoint::answering("200 OK"));
    create(&house, &endpoint, "hook", &[]);
    house.answer(&["jobs", "run", "hook"]);
    let mut following = house
        .command(&["jobs", "logs", "hook", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!(first["status"], "SUCCESS");
    let mut seen = vec![first["id"].clone()];
    for _ in 0..3 {
        let run = house.json(&["jobs", "run", "hook"]);
        let told = next();
        assert_eq!((&told["id"], &told["response_body"]), (&run["id"], &"ok".into()));
        assert!(!seen.contains(&told["id"]), "told twice: {told}");
        seen.push(told["id"].clone());
    }
    // It ends with the job.
    house.answer(&["jobs", "delete", "hook", "--yes"]);
    assert!(following.wait().unwrap().success());
}

#[test]
fn dead_letters_are_listed_and_tried_again_one_by_one_and_by_job() {
    let (house, endpoint) = (House::open(), Endpoint::answering("404 Not Found"));
    assert_eq!(house.answer(&["dead-letters", "list"]), "Nothing has failed for good\n");
    for job in ["one", "two"] {
        create(&house, &endpoint, job, &["--overlap", "concurrent"]);
        (0..3).for_each(|_| fail(&house, job));
    }
    let text = house.answer(&["dead-letters", "list", "--job", "one"]);
    assert!(text.starts_with("Execution ") && text.contains("answered 404 Not Found"), "{text}");
    assert_eq!((text.matches("   one   ").count(), text.contains("two")), (3, false), "{text}");
    let listed = house.json(&["dead-letters", "list", "--limit", "5"]);
    assert_eq!(listed.as_array().unwrap().len(), 5);
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(house.answer(&["dead-letters", "redrive", id]), "Trying 1 dead letter again\n");
    // It is none any more, whatever becomes of the attempt.
    let (code, error) = house.refusal(&["dead-letters", "redrive", id]);
    assert_eq!(code, 5, "{error}");
    assert!(error.starts_with(&format!("error: 1 of 1 refused: {id}: ")), "{error}");
    let told = house.json(&["dead-letters", "redrive", "--all", "--job", "one", "--yes"]);
    assert_eq!(told["redriven"].as_array().unwrap().len(), 3, "{told}");
    assert_eq!(told["refused"], serde_json::json!([]));
}

#[test]
fn every_dead_letter_is_tried_again_only_when_somebody_says_so() {
    let house = House::open();
    let (code, error) = house.refusal(&["dead-letters", "redrive", "--all"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.starts_with("error: --yes: needed where nobody can be asked"), "{error}");
    let (code, error) = house.refusal(&["dead-letters", "redrive", "soon"]);
    assert!(code == 2 && error.contains("\"soon\" is no id"), "{error}");
    let (code, error) = house.refusal(&["dead-letters", "redrive"]);
    assert_eq!(code, 2, "{error}");
    let (code, _) = house.refusal(&["dead-letters", "list", "--job", "nobody's"]);
    assert_eq!(code, 4);
    let text = house.answer(&["dead-letters", "redrive", "--all", "--yes"]);
    assert_eq!(text, "Trying 0 dead letters again\n");
}
