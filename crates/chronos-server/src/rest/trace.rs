//! The trace that a request is a part of.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chronos_core::TraceId;

use crate::loops::{self, Asker};

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

impl<S: Sync> FromRequestParts<S> for Asker {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let Trace(trace) = Trace::from_request_parts(parts, state).await?;
        Ok(Self { is_run: parts.headers.contains_key(loops::OF_A_RUN), trace })
    }
}
