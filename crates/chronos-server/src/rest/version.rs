//! Versions: what somebody else changed meanwhile is not overwritten.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::problem::Problem;

/// A version, as HTTP compares it.
pub(super) fn etag(version: u64) -> HeaderValue {
    let tag = HeaderValue::from_str(&format!("\"{version}\""));
    tag.unwrap_or(HeaderValue::from_static("\"0\""))
}

/// The version that must not have changed, if one is named.
pub(super) fn if_match(
    headers: &HeaderMap,
    what: &str,
    current: u64,
) -> Result<Option<u64>, Problem> {
    let mut expected = None;
    for value in headers.get_all(header::IF_MATCH) {
        let text = value.to_str().unwrap_or_default();
        if text.trim() == "*" {
            return Ok(None);
        }
        for tag in text.split(',') {
            let version = tag.trim().strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let version = version.and_then(|version| version.parse().ok());
            if version == Some(current) {
                return Ok(version);
            }
            expected = expected.or(Some(tag.trim().to_owned()));
        }
    }
    match expected {
        None => Ok(None),
        Some(given) => {
            let given: String = given.chars().take(60).collect();
            let detail = format!("the {what} is at \"{current}\", not {given}; read it again");
            Err(Problem::new(StatusCode::PRECONDITION_FAILED, detail))
        }
    }
}
