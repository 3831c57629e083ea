//! `chronos jobs edit`, and the switches beside it.

use std::process::Output;

use serde_json::{Value, json};

use super::house::House;
use crate::texts;

const URL: &str = "http://127.0.0.1:9/hook";

fn house() -> House {
    let house = House::open();
    let cron = ["--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin", "--url", URL];
    let more = ["--header", "X-Key: k1", "--retries", "3", "--body", "{\"a\":1}"];
    house.answer(&[&["jobs", "create", "report"], &cron[..], &more].concat());
    house
}

fn spec(house: &House) -> Value {
    serde_json::from_str(&house.answer(&["jobs", "show", "report", "--spec"])).unwrap()
}

/// What comes of an edit with this command as the editor.
fn edit(house: &House, editor: &str, args: &[&str]) -> Output {
    let mut command = house.command(&[&["jobs", "edit", "report"], args].concat());
    command.env_remove("VISUAL").env("EDITOR", editor).output().unwrap()
}

#[test]
fn what_the_editor_changed_is_told_and_sent_and_nothing_else() {
    let house = house();
    let before = spec(&house);
    let editor = "sed -i -e s/0.9/30\\ 8/ -e s/k1/k2/ -e s/.max_retry.:.3/\\\"max_retry\\\":7/";
    let output = edit(&house, editor, &[]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.starts_with("Changed \"report\" ("), "{stdout}");
    for line in [
        "  schedule.expression: \"0 9 * * 1-5\" → \"30 8 * * 1-5\"\n",
        "  max_retry: 3 → 7\n",
        "  target.headers.X-Key: … → …\n",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    assert!(!stdout.contains("k2"), "values of headers are not for a terminal: {stdout}");
    let mut expected = before;
    expected["schedule"]["expression"] = "30 8 * * 1-5".into();
    (expected["max_retry"], expected["target"]["headers"]) = (7.into(), json!({"X-Key": "k2"}));
    assert_eq!(spec(&house), expected);
}

#[test]
fn an_edit_that_changes_nothing_says_so_and_makes_no_version() {
    let house = house();
    let output = edit(&house, "true", &[]);
    assert_eq!(texts(&output), ("Nothing changed\n".into(), String::new()));
    assert_eq!(house.answer(&["jobs", "edit", "report", "--retries", "3"]), "Nothing changed\n");
    assert_eq!(house.json(&["jobs", "show", "report"])["version"], 1);
}

#[test]
fn flags_go_before_the_editor() {
    let house = house();
    let output =
        edit(&house, "sed -i s/Asia.Tokyo/Asia\\\\/Seoul/", &["--editor", "--tz", "Asia/Tokyo"]);
    assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
    assert_eq!(spec(&house)["schedule"]["timezone"], "Asia/Seoul");
}

/// The file that an error says a text is kept in.
fn kept(stderr: &str) -> String {
    let said = "; your text is kept: chronos jobs edit \"report\" --editor --file ";
    let (_, path) = stderr.trim_end().split_once(said).unwrap_or_else(|| panic!("{stderr}"));
    path.into()
}

#[test]
fn a_text_that_is_refused_is_kept_and_can_be_gone_on_with() {
    let house = house();
    for (editor, code, said) in [
        ("sed -i s/max_retry/max_retries/", 2, "the text is no job: unknown field `max_retries`"),
        ("sed -i s/0.9/61\\ 9/", 2, "schedule.expression"),
        // Somebody else is faster.
        ("changed_meanwhile", 5, "the job is at \"2\""),
    ] {
        let meanwhile = house.command(&["jobs", "edit", "report", "--retries", "5"]);
        let program = meanwhile.get_program().to_str().unwrap();
        let faster = format!("{program} jobs edit report --retries 5; sed -i s/k1/k3/");
        let editor = if editor == "changed_meanwhile" { faster.as_str() } else { editor };
        let output = edit(&house, editor, &[]);
        let (stdout, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stdout.is_empty() && stderr.contains(said), "{stdout} {stderr}");
        let path = kept(&stderr);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"schedule\""), "{text}");
        let about = std::fs::metadata(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
        assert_eq!(mode & 0o077, 0, "it may hold secrets");
        if code == 5 {
            let output = edit(&house, "true", &["--editor", "--file", &path]);
            assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
            assert_eq!(spec(&house)["target"]["headers"]["X-Key"], "k3");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_editor_that_fails_or_is_not_there_changes_nothing() {
    let house = house();
    let before = spec(&house);
    let output = edit(&house, "sed -i s/k1/k2/ \"$1\"; false", &[]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("so nothing was sent"), "{stderr}");
    let output = edit(&house, "", &[]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: --editor: there is no terminal for one"), "{stderr}");
    assert_eq!(spec(&house), before);
}

#[test]
fn a_body_that_is_no_text_outlives_an_edit_and_can_be_given() {
    let house = house();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [0xff, 0x00, 0xfe]).unwrap();
    house.answer(&["jobs", "edit", "report", "--body-file", file.path().to_str().unwrap()]);
    let body = |house: &House| {
        let id = house.json(&["jobs", "show", "report"])["id"].as_str().unwrap().to_owned();
        let answer = house.get(&format!("/jobs/{id}"));
        let (_, json) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str::<Value>(json).unwrap()["payload_base64"].clone()
    };
    assert_eq!(body(&house), "/wD+");
    let output = edit(&house, "sed -i s/k1/k2/", &[]);
    assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
    assert_eq!(body(&house), "/wD+");
    house.answer(&["jobs", "edit", "report", "--body", "text"]);
    assert_eq!((body(&house), &spec(&house)["payload"]), (Value::Null, &json!("text")));
}

#[test]
fn a_job_is_switched_off_and_on() {
    let house = house();
    let text = house.answer(&["jobs", "cancel", "report", "--yes"]);
    assert!(text.starts_with("Switched off \"report\" (") && text.contains("no further run"));
    assert_eq!(house.json(&["jobs", "show", "report"])["status"], "DISABLED");
    let text = house.answer(&["jobs", "enable", "report"]);
    assert!(
        text.starts_with("Switched on \"report\" (") && text.contains("next run in "),
        "{text}"
    );
    let (code, error) = house.refusal(&["jobs", "cancel", "report"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.starts_with("error: --yes: needed where nobody can be asked"), "{error}");
    assert_eq!(house.json(&["jobs", "show", "report"])["enabled"], true);
}
