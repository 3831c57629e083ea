//! `chronos backfill` and `chronos backfills`: past slots that run after all.

use serde_json::json;

use super::house::{Endpoint, House};

const FROM: [&str; 2] = ["--from", "2020-01-01T00:00:00Z"];
const TO: [&str; 2] = ["--to", "2020-01-01T04:00:00Z"];

fn create(house: &House, name: &str, endpoint: &Endpoint) {
    let url = endpoint.url();
    house.answer(&["jobs", "create", name, "--cron", "0 * * * *", "--url", &url]);
}

#[test]
fn a_backfill_is_tried_out_followed_to_its_end_listed_and_shown() {
    let house = House::open();
    let endpoint = Endpoint::answering("200 OK");
    create(&house, "report", &endpoint);
    let begin = [&["backfill", "report"][..], &FROM, &TO].concat();
    let dry = house.answer(&[&begin[..], &["--dry-run"]].concat());
    let lines: Vec<&str> = dry.lines().collect();
    assert!(lines[1].contains("run") && lines[1].contains("it never ran"), "{dry}");
    assert!(dry.contains("4 would run, 0 run again, 0 be passed over. Nothing was done."), "{dry}");
    assert_eq!(house.answer(&["backfills", "list", "report"]), "The job has no backfills\n");
    let done = house.answer(&begin);
    assert!(done.contains("is finished, 4 of 4 slots done: 4 succeeded"), "{done}");
    let again = house.json(&begin);
    assert_eq!((&again["already_run"], &again["state"]), (&json!(4), &json!("finished")));
    let forced =
        house.json(&[&begin[..], &["--force", "--cap", "1", "--order", "newest-first"]].concat());
    assert_eq!((&forced["succeeded"], &forced["beyond_cap"]), (&json!(1), &json!(true)));
    let listed = house.answer(&["backfills", "list", "report"]);
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(listed.lines().nth(1).unwrap().contains("1/1"), "{listed}");
    let id = again["id"].as_str().unwrap();
    let shown = house.answer(&["backfills", "show", id]);
    for part in ["Backfill 2", "finished", "4 of 4", "1 at once", "oldest first"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let followed = house.answer(&["backfills", "follow", id]);
    assert!(followed.contains("4 already run"), "{followed}");
}

#[test]
fn a_backfill_is_steered_and_its_refusals_have_their_codes() {
    let house = House::open();
    let endpoint = Endpoint::answering("200 OK");
    create(&house, "report", &endpoint);
    let begin = [&["backfill", "report"][..], &FROM, &TO, &["--rate", "1", "--detach"]].concat();
    let made = house.json(&begin);
    let id = made["id"].as_str().unwrap();
    assert_eq!(house.json(&["backfills", "pause", id])["state"], "paused");
    assert_eq!(house.json(&["backfills", "resume", id])["state"], "running");
    let cancelled = house.answer(&["backfills", "cancel", id]);
    assert!(cancelled.contains("is cancelled"), "{cancelled}");
    let (code, said) = house.refusal(&["backfills", "resume", id]);
    assert_eq!(code, 5, "{said}");
    let (code, said) = house.refusal(&["backfills", "show", "nonsense"]);
    assert_eq!(code, 4, "{said}");
    let (code, said) = house.refusal(&["backfill", "nobody", "--from", "2020-01-01T00:00:00Z"]);
    assert_eq!(code, 4, "{said}");
    let (code, said) = house.refusal(&[&begin[..], &["--cap", "0"]].concat());
    assert_eq!((code, said.contains("1 to 100000")), (2, true), "{said}");
}

#[test]
fn a_backfill_with_failures_is_no_success() {
    let house = House::open();
    let endpoint = Endpoint::answering("404 Not Found");
    create(&house, "broken", &endpoint);
    let begin = [&["backfill", "broken"][..], &FROM, &TO].concat();
    let (code, said) = house.refusal(&begin);
    assert_eq!((code, said.contains("4 slot(s) failed")), (3, true), "{said}");
}
