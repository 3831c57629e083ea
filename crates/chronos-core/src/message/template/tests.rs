//! Templates are checked when they are written, and filled without being read again.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn occasion(name: &str) -> Occasion<'_> {
    Occasion {
        job: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
        name,
        slot: Timestamp::parse("2026-12-01T09:00:00Z").unwrap(),
        now: Timestamp::parse("2026-12-01T09:00:01.5Z").unwrap(),
        missed: 3,
    }
}

fn text(template: &str, name: &str) -> String {
    let template = Template::new(Some(template), None).unwrap();
    template.render_text(&occasion(name)).unwrap().into()
}

fn structured(template: &Value, name: &str) -> Value {
    let template = Template::new(None, Some(template)).unwrap();
    serde_json::from_str(&template.render_structured(&occasion(name)).unwrap()).unwrap()
}

fn problem(text: Option<&str>, structured: Option<&Value>) -> String {
    Template::new(text, structured).unwrap_err().to_string()
}

#[test]
fn every_placeholder_is_filled() {
    for (template, filled) in [
        ("", ""),
        ("plain { text } with }} braces", "plain { text } with }} braces"),
        ("{{job_name}} at {{slot}}", "report at 2026-12-01T09:00:00Z"),
        ("{{ now }}", "2026-12-01T09:00:01.500Z"),
        ("{{missed_count}}{{missed_count}}", "33"),
        ("{{schedule_id}}", "01890a5d-ac96-774b-bcce-b302099a8057"),
        ("{{slot}}}}", "2026-12-01T09:00:00Z}}"),
    ] {
        assert_eq!(text(template, "report"), filled, "{template}");
    }
}

#[test]
fn what_is_filled_in_is_not_filled_again() {
    assert_eq!(text("{{job_name}}", "{{slot}}"), "{{slot}}");
    assert_eq!(structured(&json!(["{{job_name}}"]), "{{now}}"), json!(["{{now}}"]));
}

#[test]
fn values_cannot_leave_the_string_they_stand_in() {
    let name = "a\", \"admin\": true, \"b\": \"\\\n";
    let filled = structured(&json!({ "name": "<{{job_name}}>", "n": [1, null, "x"] }), name);
    assert_eq!(filled, json!({ "name": format!("<{name}>"), "n": [1, null, "x"] }));
}

#[test]
fn escapes_hide_no_placeholder() {
    let document: Value = serde_json::from_str(r#"{"a": "\u007b\u007bslot}}"}"#).unwrap();
    assert_eq!(structured(&document, "x"), json!({ "a": "2026-12-01T09:00:00Z" }));
    let document: Value = serde_json::from_str(r#"{"a": "\u007b\u007bsecret}}"}"#).unwrap();
    assert!(problem(None, Some(&document)).contains("unknown placeholder \"secret\""));
}

#[test]
fn what_cannot_be_filled_is_refused_by_name() {
    let all = "{{schedule_id}}, {{job_name}}, {{slot}}, {{now}}, {{missed_count}}";
    let unknown = problem(Some("hello {{user}}"), None);
    assert_eq!(
        unknown,
        format!("template.text is not accepted: unknown placeholder \"user\"; use {all}")
    );
    for (structured, said) in [
        (json!({ "a": { "b": ["{{slot | upper}}"] } }), "unknown placeholder \"slot | upper\""),
        (json!({ "a": { "b": "{{slot" } }), "\"{{slot\" has no closing \"}}\""),
        (json!({ "{{slot}}": 1 }), "the key \"{{slot}}\" has a placeholder"),
        (json!("{{}}"), "unknown placeholder \"\""),
        (json!("{{{slot}}}"), "unknown placeholder \"{slot\""),
        (json!("x".repeat(Template::MAX_BYTES)), "use at most 16384"),
        (json!(vec!["{{slot}}"; Template::MAX_PLACEHOLDERS + 1]), "more than 64 placeholders"),
    ] {
        let refused = problem(Some("fine"), Some(&structured));
        assert!(refused.starts_with("template.structured is not accepted: "), "{refused}");
        assert!(refused.contains(said), "{refused}");
    }
    assert!(problem(None, None).contains("give it text, structured or both"));
}

#[test]
fn a_template_says_what_it_asks_for() {
    let template = Template::new(Some("{{slot}}"), Some(&json!(["{{ missed_count }}"]))).unwrap();
    let asked = Placeholder::ALL.map(|placeholder| template.mentions(placeholder));
    assert_eq!(asked, [false, false, true, false, true]);
}

proptest! {
    #[test]
    fn any_text_is_refused_or_filled(template in "[{}a-z_ \"\\\\]{0,40}|.{0,40}", name in ".{0,20}") {
        if let Ok(template) = Template::new(Some(&template), None) {
            template.render_text(&occasion(&name)).unwrap();
        }
    }

    #[test]
    fn any_document_that_is_accepted_stays_a_document_of_the_same_shape(
        before in "[{}\"\\\\a\u{0}-\u{1f}]{0,6}", key in "[a-z\"\\\\]{0,4}", name in ".{0,20}",
    ) {
        let document = json!({ key.clone(): [before.clone(), "{{job_name}}", { "deep": before }] });
        if let Ok(template) = Template::new(None, Some(&document)) {
            let filled = template.render_structured(&occasion(&name)).unwrap();
            let filled: Value = serde_json::from_str(&filled).unwrap();
            prop_assert_eq!(filled[&key][1].as_str(), Some(name.as_str()));
        }
    }
}
