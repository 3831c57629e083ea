//! Idempotency keys: a request that is sent again is done once.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chronos_core::store::Request;

use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

const MAX_KEY: usize = 255;

/// The key that a request is known by, if it has one.
#[derive(Clone, Debug)]
pub(super) struct Key {
    key: Option<String>,
    /// What the request asks for, beside its body.
    asked: String,
}

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all("idempotency-key").iter();
        let key = given.next().map(|key| key.to_str().unwrap_or_default());
        let key = key.map(check).transpose();
        let once = if given.next().is_some() {
            Err(FieldError::new("Idempotency-Key", "it comes twice; use it once"))
        } else {
            key
        };
        let key = once.map_err(|error| Problem::bad_parameters(vec![error]))?;
        Ok(Self { key, asked: format!("{} {}", parts.method, parts.uri.path()) })
    }
}

impl Key {
    /// The request of this caller with this body, to be known again.
    pub(super) fn request(&self, caller: &Caller, body: &[u8]) -> Option<Request> {
        let key = self.key.as_deref()?;
        Some(Request::new(&caller.owner, key, &[self.asked.as_bytes(), body]))
    }
}

/// The key, if it can be one.
pub(super) fn check(key: &str) -> Result<String, FieldError> {
    let is_accepted =
        (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_graphic());
    if is_accepted {
        return Ok(key.into());
    }
    let problem = format!("it is not accepted; use 1 to {MAX_KEY} visible ASCII characters");
    Err(FieldError::new("Idempotency-Key", problem))
}
