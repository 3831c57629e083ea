//! The trace that a request is a part of.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chronos_core::TraceId;

/// The trace that the request's `traceparent` names, if it names one; what is not well formed counts as
/// if it were not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace(pub(super) Option<TraceId>);

impl<S: Sync> FromRequestParts<S> for Trace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get("traceparent").and_then(|header| header.to_str().ok());
        Ok(Self(header.and_then(TraceId::of_parent)))
    }
}
