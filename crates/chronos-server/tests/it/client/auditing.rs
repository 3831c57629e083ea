//! `chronos audit` and `chronos explain`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::house::House;

#[test]
fn what_was_decided_is_listed_filtered_and_explained() {
    let house = House::open();
    house.json(&["jobs", "create", "tick", "--every", "1d", "--message", "tick"]);
    house.json(&["jobs", "create", "tock", "--every", "1d", "--message", "tock"]);
    let run = house.json(&["scheduler", "run", "tick"]);
    let text = house.answer(&["audit"]);
    for word in
        ["schedule.created", "schedule.fired", "execution.succeeded", "node.reconciled", "local"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let events = house.json(&["audit", "--job", "tick", "--kind", "schedule"]);
    let kinds: Vec<&Value> =
        events.as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["schedule.fired", "schedule.created"], "the newest first");
    let trace = events[0]["trace_id"].as_str().unwrap();
    assert_eq!(house.json(&["audit", "--trace-id", trace]).as_array().unwrap().len(), 2);
    assert_eq!(house.json(&["audit", "--until", "2026-01-01 00:00"]), json!([]));
    assert!(house.answer(&["audit", "--until", "2026-01-01 00:00"]).contains("Nothing"));
    let slot = run["scheduled_for"].as_str().unwrap();
    let told = house.json(&["explain", "tick", "--at", slot]);
    assert_eq!((&told["verdict"], &told["executions"][0]["id"]), (&json!("fired"), &run["id"]));
    let text = house.answer(&["explain", "tick", "--at", slot]);
    assert!(text.starts_with("fired: ") && text.contains("message event 1"), "{text}");
    assert!(text.contains("execution.succeeded"), "{text}");
    let coming = house.json(&["preview", "tick", "-n", "3"]);
    assert_eq!(coming["runs"].as_array().unwrap().len(), 3, "{coming}");
    assert!(house.answer(&["preview", "tick"]).contains("every"), "it is said in words");
    let text = house.answer(&["explain", "tick", "--at", "2096-12-01 09:00"]);
    assert!(text.starts_with("no slot: ") || text.starts_with("upcoming: "), "{text}");
    for (args, code, word) in [
        (vec!["audit", "--kind", "nonsense"], 2, "kind"),
        (vec!["audit", "--job", "nobody"], 4, "nobody"),
        (vec!["audit", "--since", "yesterday"], 2, "RFC 3339"),
        (vec!["explain", "tick", "--at", "noon"], 2, "RFC 3339"),
        (vec!["preview", "tick", "-n", "101"], 2, "100"),
        (vec!["preview", "nobody"], 4, "nobody"),
        (vec!["explain", "nobody", "--at", slot], 4, "nobody"),
    ] {
        let output = house.command(&args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(word), "{args:?}: {said}");
    }
}

#[test]
fn what_comes_is_followed() {
    let house = House::open();
    house.json(&["jobs", "create", "tick", "--every", "1d", "--message", "tick"]);
    let mut follow = house.command(&["audit", "--follow", "--json", "--kind", "schedule"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    // Each run is new to whoever follows, whenever that began.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in lines.by_ref().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    let line = (0..600).find_map(|_| {
        house.answer(&["scheduler", "run", "tick"]);
        told.recv_timeout(std::time::Duration::from_millis(100)).ok()
    });
    let event: Value = serde_json::from_str(&line.expect("something is followed")).unwrap();
    assert_eq!(event["type"], "schedule.fired");
    follow.kill().unwrap();
    follow.wait().unwrap();
}
