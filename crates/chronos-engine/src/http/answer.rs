//! Answers: how much of them is read, which of them may pass, and what they say to people.

use std::error::Error;
use std::time::Duration;

use chrono::DateTime;
use chronos_core::execution::{Failure, Response};
use chronos_core::{Http, Timestamp};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::{CONNECT_TIMEOUT, resolver};

/// An endpoint that asks for more patience than this gets this much.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// As much of a body as is kept.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// Whether it went on.
    pub(super) truncated: bool,
    /// Why it broke off, if it did.
    pub(super) error: Option<reqwest::Error>,
}

/// Reads what is kept of a body and leaves the rest, however long it is: the connection goes with it.
pub(super) async fn read(mut response: reqwest::Response) -> Body {
    let mut body = Body { bytes: Vec::new(), truncated: false, error: None };
    while !body.truncated {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = Response::MAX_BODY - body.bytes.len();
                body.truncated = chunk.len() > room;
                body.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Ok(None) => break,
            Err(error) => {
                body.error = Some(error);
                break;
            }
        }
    }
    body
}

/// The failure that a status means which the target does not expect.
pub(super) fn unexpected(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Failure {
    let code = status.as_u16();
    let reason = status.canonical_reason().unwrap_or_default();
    let hint = if status.is_redirection() { "; redirects are not followed" } else { "" };
    let message = format!("answered {}{hint}", format!("{code} {reason}").trim_end());
    if !matches!(code, 408 | 425 | 429 | 500..=599) {
        return Failure::permanent(&message);
    }
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = asked.and_then(|text| wait_asked_for(text, now));
    Failure { retry_after, ..Failure::transient(&message) }
}

/// How long a `Retry-After` asks to wait, in seconds or until a date; what is neither asks nothing.
fn wait_asked_for(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let until = DateTime::parse_from_rfc2822(text).ok()?;
        Timestamp::from(until.to_utc()).since(now)
    };
    (!wait.is_zero()).then_some(wait.min(MAX_RETRY_AFTER))
}

/// The failure that a request without an answer, or with a part of one, means. Names the host and
/// nothing else of the URL, which may hold secrets.
pub(super) fn broken(error: &reqwest::Error, http: &Http) -> Failure {
    if let Some(refused) = resolver::out_of_reach(error) {
        return Failure::permanent(&refused.to_string());
    }
    let host = host(http);
    let root = root(error);
    let message = match (error.is_timeout(), error.is_connect()) {
        (true, true) => {
            let patience = http.connect_timeout().unwrap_or(CONNECT_TIMEOUT);
            format!("no connection to {host} within {:?}", patience.min(http.timeout()))
        }
        (true, false) => format!("no full answer from {host} within {:?}", http.timeout()),
        (false, true) => format!("no connection to {host}: {root}"),
        (false, false) => format!("no full answer from {host}: {root}"),
    };
    Failure::transient(&message)
}

/// The failure that an answer means which did not begin in time.
pub(super) fn not_begun(http: &Http, patience: Duration) -> Failure {
    Failure::transient(&format!("no answer from {} began within {patience:?}", host(http)))
}

fn host(http: &Http) -> String {
    let url = http.url();
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The innermost cause, which says most: the layers around it name themselves.
pub(super) fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    // Only the outermost layer knows the URL, and it may have nothing inside.
    if cause.is::<reqwest::Error>() { "not understood".into() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use chronos_core::policy::retry;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-11-15T12:00:00Z").unwrap()
    }

    #[test]
    fn statuses_that_may_pass_are_told_from_those_that_will_not() {
        let failure = |status: u16| {
            unexpected(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), now())
        };
        for status in [408, 425, 429, 500, 501, 502, 503, 504, 599] {
            assert_eq!(failure(status).class, retry::Class::Transient, "{status}");
        }
        for status in [200, 204, 301, 304, 400, 401, 403, 404, 409, 410, 422, 499, 600, 999] {
            assert_eq!(failure(status).class, retry::Class::Permanent, "{status}");
        }
        assert_eq!(&*failure(503).message, "answered 503 Service Unavailable");
        assert_eq!(&*failure(599).message, "answered 599");
        assert_eq!(&*failure(302).message, "answered 302 Found; redirects are not followed");
    }

    #[test]
    fn patience_is_asked_for_in_seconds_or_until_a_date_and_is_bounded() {
        let day = Some(MAX_RETRY_AFTER);
        for (text, wait) in [
            ("30", Some(Duration::from_secs(30))),
            (" 30 ", Some(Duration::from_secs(30))),
            ("999999999", day),
            ("99999999999999999999999999", day),
            ("Sun, 15 Nov 2026 12:00:45 GMT", Some(Duration::from_secs(45))),
            ("Fri, 31 Dec 9999 23:59:59 GMT", day),
            ("Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("0", None),
            ("-5", None),
            ("+5", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
            ("Sun, 99 Nov 2026 12:00:45 GMT", None),
        ] {
            assert_eq!(wait_asked_for(text, now()), wait, "{text:?}");
        }
    }
}
