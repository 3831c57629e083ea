//! `chronos events tail`, and message jobs at the command line.

use serde_json::{Value, json};

use super::house::House;

#[test]
fn what_message_jobs_say_is_followed_from_any_place() {
    let house = House::open();
    let structured = r#"{"at": "{{slot}}"}"#;
    let create = ["jobs", "create", "tick", "--every", "1d", "--message", "{{job_name}} says"];
    let made = house.json(&[&create[..], &["--message-json", structured]].concat());
    let template = json!({"text": "{{job_name}} says", "structured": {"at": "{{slot}}"}});
    assert_eq!(made["target"], json!({"type": "message", "template": template}));
    assert!(house.answer(&["jobs", "show", "tick"]).contains("message {{job_name}} says"));
    for _ in 0..3 {
        house.answer(&["scheduler", "run", "tick"]);
    }
    let text = house.answer(&["events", "tail", "--after", "0", "-n", "3"]);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.starts_with("       1  ") && text.contains("  tick says\n"), "{text}");
    let lines =
        house.answer(&["events", "tail", "--after", "1", "--job", "tick", "-n", "2", "--json"]);
    let events: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&events[0]["sequence"], &events[1]["sequence"]), (&json!(2), &json!(3)));
    assert_eq!(events[0]["content"]["text"], "tick says");
    assert_eq!(events[0]["content"]["structured"]["at"], events[0]["slot"]);
    let (code, error) = house.refusal(&["events", "tail", "--after", "9", "-n", "1"]);
    assert!(code == 2 && error.contains("beyond the newest event"), "{code} {error}");
    let (code, _) = house.refusal(&["events", "tail", "--job", "nobody", "-n", "1"]);
    assert_eq!(code, 4);
    let (code, error) =
        house.refusal(&["jobs", "create", "bad", "--every", "1d", "--message", "{{user}}"]);
    assert!(code == 2 && error.contains("unknown placeholder"), "{code} {error}");
}
