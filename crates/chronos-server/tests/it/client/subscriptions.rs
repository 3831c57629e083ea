//! `chronos subscriptions`: where what message jobs say is sent.

use std::time::Duration;

use serde_json::json;

use super::house::{Endpoint, House};

const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

#[test]
fn a_subscription_is_made_listed_shown_changed_paused_and_deleted() {
    let house = House::open();
    let endpoint = Endpoint::answering("200 OK");
    let url = endpoint.url();
    assert_eq!(house.answer(&["subscriptions", "list"]), "There are no subscriptions\n");
    let flags = ["--tag", "billing", "--name", "nightly-*", "--signing-secret", SIGNING];
    let more = ["--header", "X-Team: blue", "--secret-header", "X-Key: hunter2", "--retries", "3"];
    let create = ["subscriptions", "create", "billing", "--url", &url];
    let made = house.json(&[&create[..], &flags, &more].concat());
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["filter"], json!({"name": "nightly-*", "tag": "billing"}));
    assert_eq!((&made["max_retry"], &made["signing_secret"]), (&json!(3), &json!("********")));
    let listed = house.answer(&["subscriptions", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    for part in ["billing", "active", "name nightly-*, tag billing", &url, id] {
        assert!(lines[1].contains(part), "{part}: {listed}");
    }
    let job = ["jobs", "create", "nightly-sum", "--every", "1h", "--message", "hello"];
    house.answer(&[&job[..], &["--tag", "billing"]].concat());
    house.answer(&["jobs", "run", "nightly-sum"]);
    let request = endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(request.contains("x-key: hunter2\r\n") && request.contains("\"hello\""), "{request}");
    let edit = ["subscriptions", "edit", "billing", "--rename", "sums", "--tag", "sums"];
    let edit = [&edit[..], &["--header", "X-Team: red", "--timeout", "2s"]].concat();
    assert_eq!(house.answer(&edit), format!("Changed \"sums\" ({id})\n"));
    let told = house.json(&["subscriptions", "show", id]);
    assert_eq!(told["filter"], json!({"name": "nightly-*", "tag": "sums"}), "it was narrowed");
    let headers = json!({"X-Key": {"secret": "********"}, "X-Team": "red"});
    assert_eq!((&told["headers"], &told["timeout_seconds"]), (&headers, &json!(2)));
    let widened = house.json(&["subscriptions", "edit", "sums", "--no-filter"]);
    assert_eq!(widened["filter"], json!({}));
    assert_eq!(
        house.answer(&["subscriptions", "pause", "sums"]),
        format!("Paused \"sums\" ({id})\n")
    );
    let shown = house.answer(&["subscriptions", "show", "sums"]);
    for part in ["sums\n", "paused", "by a person", "everything", "X-Key, X-Team"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("hunter2") && !shown.contains("whsec"), "{shown}");
    let resumed = house.json(&["subscriptions", "resume", "sums"]);
    assert_eq!(resumed["status"], "active");
    let deleted = house.answer(&["subscriptions", "delete", "sums", "--yes"]);
    assert_eq!(deleted, format!("Deleted \"sums\" ({id})\n"));
    assert_eq!(house.json(&["subscriptions", "list"]), json!([]));
}

#[test]
fn what_is_wrong_with_a_subscription_is_said_in_a_line() {
    let house = House::open();
    let endpoint = Endpoint::answering("200 OK");
    let url = endpoint.url();
    let create = ["subscriptions", "create", "billing", "--url"];
    house.answer(&[&create[..], &[&url]].concat());
    for (args, code, said) in [
        (vec!["show", "nothing"], 4, "no subscription with the name or id \"nothing\""),
        (vec!["create", "billing", "--url", &url], 5, "already exists"),
        (vec!["create", "other", "--url", "http://10.0.0.1/"], 2, "--allow-target 10.0.0.1"),
        (vec!["create", "other", "--url", &url, "--job", "report"], 2, "the id of a job"),
        (vec!["edit", "billing"], 2, "nothing is to be changed"),
    ] {
        let output = house.command(&[&["subscriptions"], &args[..]].concat()).output().unwrap();
        let refused = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {refused}");
        assert!(refused.contains(said), "{args:?}: {refused}");
    }
}
