//! `chronos quiet-hours`, and what else there is about when nothing fires.

use serde_json::json;

use super::house::House;

const URL: &str = "http://127.0.0.1:9/hook";

fn nights(house: &House) -> String {
    let flags = ["--window", "mon-fri 22:00-07:00", "--tz", "Europe/Berlin"];
    let made = house.json(&[&["quiet-hours", "create", "nights"], &flags[..]].concat());
    made["id"].as_str().unwrap().into()
}

#[test]
fn a_policy_is_made_listed_shown_changed_and_deleted() {
    let house = House::open();
    assert_eq!(house.answer(&["quiet-hours", "list"]), "There are no quiet-hours policies\n");
    let id = nights(&house);
    let more = ["--window", "sat,sun 00:00-24:00", "--window", "12:00-13:00", "--mode", "defer"];
    let more = [&["quiet-hours", "create", "rest", "--quiet-on", "2026-12-25"], &more[..]].concat();
    assert!(house.answer(&more).starts_with("Created \"rest\" ("));
    let listed = house.answer(&["quiet-hours", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    for part in ["nights", "skip", "Europe/Berlin", "mon-fri 22:00-07:00", &id] {
        assert!(lines[1].contains(part), "{part}: {listed}");
    }
    assert!(lines[2].contains("sat,sun 00:00-24:00, daily 12:00-13:00"), "{listed}");
    let column = |line: &str| line.find("nights").or(line.find("rest")).unwrap();
    assert_eq!((column(lines[1]), column(lines[2])), (0, 0));
    let dates = ["--quiet-on", "2026-12-24", "--open-on", "2026-12-31"];
    let edit = [&["quiet-hours", "edit", "nights", "--rename", "all nights"], &dates[..]].concat();
    assert_eq!(house.answer(&edit), format!("Changed \"all nights\" ({id})\n"));
    house.answer(&["quiet-hours", "edit", &id, "--usual-on", "2026-12-24", "--mode", "defer"]);
    let shown = house.answer(&["quiet-hours", "show", "all nights"]);
    for part in ["all nights\n", "mode       defer", "windows    mon-fri 22:00-07:00"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("open on    2026-12-31") && !shown.contains("quiet on"), "{shown}");
    let told = house.json(&["quiet-hours", "show", &id]);
    assert_eq!((&told["version"], &told["mode"]), (&json!(3), &json!("defer")));
    let deleted = house.answer(&["quiet-hours", "delete", "all nights", "--yes"]);
    assert_eq!(deleted, format!("Deleted \"all nights\" ({id})\n"));
    assert_eq!(house.json(&["quiet-hours", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_with_quiet_hours_is_said_in_a_line() {
    let house = House::open();
    let id = nights(&house);
    house.answer(&[
        "jobs",
        "create",
        "report",
        "--every",
        "1h",
        "--url",
        URL,
        "--quiet-hours",
        &id,
    ]);
    let create = |rest: &[&'static str]| [&["quiet-hours", "create", "x"], rest].concat();
    for (args, code, part) in [
        (create(&["--window", "someday 01:00-02:00"]), 2, "is no window"),
        (create(&["--window", "mon 25:00-26:00"]), 2, "the start must be a time"),
        (create(&["--quiet-on", "24.12.2026"]), 2, "is no date"),
        (create(&["--tz", "Mars/Olympus"]), 2, "Mars/Olympus"),
        (vec!["quiet-hours", "create", "nights"], 5, "already exists"),
        (vec!["quiet-hours", "edit", "nights"], 2, "nothing is to be changed"),
        (vec!["quiet-hours", "show", "days"], 4, "no quiet-hours policy"),
        (vec!["quiet-hours", "delete", "nights"], 2, "--yes"),
        (vec!["quiet-hours", "delete", "nights", "--yes"], 5, "1 job observes policy"),
    ] {
        let output = house.command(&args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
    house.answer(&["jobs", "edit", "report", "--quiet-hours", "none"]);
    let job = house.json(&["jobs", "show", "report"]);
    assert!(job["quiet_hours_policy_id"].is_null(), "{job}");
    house.answer(&["quiet-hours", "delete", "nights", "--yes"]);
}

#[test]
fn a_pause_has_a_note_and_an_end() {
    let house = House::open();
    house.answer(&["jobs", "create", "report", "--every", "1h", "--url", URL]);
    let until = ["--until", "2100-01-01T00:00:00Z", "--note", "for good"];
    let said = house.answer(&[&["jobs", "pause", "report"], &until[..]].concat());
    assert_eq!(said, "Paused \"report\" until 2100-01-01T00:00:00Z\n");
    let shown = house.answer(&["jobs", "show", "report"]);
    assert!(shown.contains(": for good\n") && shown.contains("resumes"), "{shown}");
    let told = house.json(&["jobs", "show", "report"]);
    assert_eq!(told["paused"]["resume_at"], "2100-01-01T00:00:00Z");
    let past = ["scheduler", "pause", "report", "--until", "2020-01-01T00:00:00Z"];
    let (code, said) = house.refusal(&past);
    assert!(code == 2 && said.contains("resume_at") && said.contains("it is past"), "{said}");
    house.answer(&["scheduler", "resume", "report"]);
    assert!(house.json(&["jobs", "show", "report"])["paused"].is_null());
}

#[test]
fn a_dry_run_of_an_edit_tells_what_it_would_change_and_changes_nothing() {
    let house = House::open();
    house.answer(&["jobs", "create", "report", "--cron", "0 9 * * *", "--url", URL]);
    let edit = ["jobs", "edit", "report", "--cron", "0 9,18 * * *", "--dry-run"];
    let said = house.answer(&edit);
    assert!(said.starts_with("Nothing was changed. The edit adds 7 runs this week\n"), "{said}");
    assert_eq!(said.matches("added").count(), 7, "{said}");
    let told = house.json(&edit);
    assert_eq!(told["counts"], json!({"added": 7, "removed": 0, "moved": 0, "kept": 7}));
    let job = house.json(&["jobs", "show", "report"]);
    assert_eq!((&job["version"], &job["schedule"]["expression"]), (&json!(1), &json!("0 9 * * *")));
}
