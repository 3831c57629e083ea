//! Strict JSON: what other readers would pass over in silence is refused, with its place.

use std::collections::HashSet;
use std::fmt;

use axum::http::StatusCode;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::problem::{FieldError, Problem};

/// The value that these bytes say. What is no JSON, says a thing twice or holds a NUL is 400; what is
/// JSON of another shape is 422 and names the field.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice::<Checked>(bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the body is not accepted: {error}"))
    })?;
    fit(bytes)
}

/// The value that these bytes say, which were read before: what does not fit is named.
pub(super) fn fit<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list of fields without their names would pass for an object.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let accepted = Some("an object".into());
        let (field, detail) = ("body".into(), "a list is not accepted".into());
        return Err(Problem::invalid(vec![FieldError { field, detail, accepted }]));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut json)
        .map_err(|error| Problem::invalid(vec![misfit(error)]))
}

/// The value that this JSON says, which was read from a body before.
pub(super) fn read_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| Problem::invalid(vec![misfit(error)]))
}

/// What does not fit, and where.
fn misfit(error: serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let path = match error.path().to_string() {
        path if path == "." => String::new(),
        path => path,
    };
    let text = error.into_inner().to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let of = |name: &str| {
        let (name, parent) = (name.to_owned(), path.as_str());
        // The path may or may not reach to the field itself.
        match path.rsplit('.').next() {
            Some(last) if last == name => path.clone(),
            _ if parent.is_empty() => name,
            _ => format!("{parent}.{name}"),
        }
    };
    if let Some((name, rest)) = quoted(text, "unknown field ") {
        let accepted = rest.trim_start_matches(", expected ").trim_start_matches("one of ");
        let accepted = Some(accepted.replace('`', "")).filter(|text| !text.is_empty());
        return FieldError { field: of(name), detail: "there is no such field".into(), accepted };
    }
    if let Some((name, _)) = quoted(text, "missing field ") {
        let field = of(name);
        return FieldError { field, detail: "nothing is given".into(), accepted: None };
    }
    let (detail, accepted) = match text.split_once(", expected ") {
        Some((detail, expected)) => (detail, Some(in_words(expected))),
        None => (text, None),
    };
    let detail = detail.replace('`', "\"");
    let detail = format!("{detail} is not accepted").replacen("invalid type: ", "", 1);
    let detail = detail.replacen("invalid value: ", "", 1).replacen("unknown variant ", "", 1);
    let field = if path.is_empty() { "body".into() } else { path };
    FieldError { field, detail, accepted }
}

/// The name in backticks after a beginning, and what follows it.
fn quoted<'a>(text: &'a str, beginning: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(beginning)?.strip_prefix('`')?.split_once('`')
}

/// What the reader expects, as people say it.
fn in_words(expected: &str) -> String {
    match expected {
        "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".into(),
        "f64" => "a number".into(),
        "a map" => "an object".into(),
        "a sequence" => "a list".into(),
        other if other.starts_with("struct ") => "an object".into(),
        other => other.trim_start_matches("one of ").replace('`', ""),
    }
}

/// JSON that was gone through and left behind.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Check)
    }
}

struct Check;

impl<'de> DeserializeSeed<'de> for Check {
    type Value = String;

    /// A key of an object.
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let key = String::deserialize(deserializer)?;
        without_nul(&key).map(|()| key)
    }
}

fn without_nul<E: Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a text holds the character U+0000")) } else { Ok(()) }
}

impl<'de> Visitor<'de> for Check {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_unit<E>(self) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Checked, E> {
        without_nul(text).map(|()| Checked)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Checked, A::Error> {
        while items.next_element::<Checked>()?.is_some() {}
        Ok(Checked)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Checked, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = fields.next_key_seed(Check)? {
            fields.next_value::<Checked>()?;
            if let Some(twice) = seen.replace(key) {
                let shown: String = twice.chars().take(100).collect();
                return Err(A::Error::custom(format!("the key {shown:?} comes twice")));
            }
        }
        Ok(Checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Outer {
        inner: Inner,
        #[serde(default)]
        list: Vec<u32>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Inner {
        size: u32,
        #[serde(default)]
        note: Option<String>,
    }

    fn refused(text: &str) -> serde_json::Value {
        let problem = read::<Outer>(text.as_bytes()).unwrap_err();
        serde_json::to_value(problem).unwrap()
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for (text, part) in [
            ("{", "line 1 column 1"),
            ("{\"inner\": {\"size\": 1},\n}", "line 2"),
            ("", "line 1"),
            ("{\"inner\": {\"size\": 1e400}}", "out of range"),
            ("{\"inner\": {\"size\": 1, \"note\": \"\\ud800\"}}", "line 1"),
            ("{\"inner\": {\"size\": 1, \"note\": \"\\u0000\"}}", "U+0000"),
            ("{\"inner\": {\"size\": 1}, \"inner\": {\"size\": 1}}", "\"inner\" comes twice"),
            ("{\"inner\": {\"size\": 1, \"size\": 2}}", "\"size\" comes twice"),
            ("{} {}", "trailing"),
            ("NaN", "line 1"),
            (&deep, "recursion"),
        ] {
            let problem = refused(text);
            assert_eq!(problem["status"], 400, "{text}: {problem}");
            assert!(problem["detail"].as_str().unwrap().contains(part), "{text}: {problem}");
        }
        let problem = read::<Outer>(b"{\"inner\": \"\xff\"}").unwrap_err();
        assert_eq!(problem.status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_its_field() {
        for (text, field, part) in [
            ("{}", "inner", "nothing is given"),
            ("[]", "body", ""),
            ("7", "body", "integer"),
            ("{\"inner\": {}}", "inner.size", "nothing is given"),
            ("{\"inner\": 7}", "inner", "an object"),
            ("{\"inner\": {\"size\": \"1\"}}", "inner.size", "a whole number, 0 or more"),
            ("{\"inner\": {\"size\": -1}}", "inner.size", "-1"),
            ("{\"inner\": {\"size\": 1.5}}", "inner.size", "1.5"),
            ("{\"inner\": {\"size\": 1, \"x\": 1}}", "inner.x", "size or note"),
            ("{\"inner\": {\"size\": 1}, \"x\": 1}", "x", "inner or list"),
            ("{\"inner\": {\"size\": 1}, \"list\": [1, \"a\"]}", "list[1]", "a whole number"),
        ] {
            let problem = refused(text);
            assert_eq!(problem["status"], 422, "{text}: {problem}");
            assert_eq!(problem["errors"][0]["field"], field, "{text}: {problem}");
            assert!(problem.to_string().contains(part), "{text}: {problem}");
        }
    }
}
