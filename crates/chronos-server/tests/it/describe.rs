//! `chronos describe`.

use serde_json::{Value, json};

use crate::answer;

#[test]
fn an_expression_is_said_in_words_with_its_zone() {
    assert_eq!(
        answer(&["describe", "0 9 * * 1-5", "--tz", "Europe/Berlin"]),
        "at 09:00, Monday to Friday, Europe/Berlin\n"
    );
}

#[test]
fn json_holds_the_same_words() {
    let text = answer(&["describe", "@daily"]);
    let answer: Value = serde_json::from_str(&answer(&["describe", "@daily", "--json"])).unwrap();
    assert_eq!(answer, json!({"description": text.trim_end()}));
}
