//! Who asks: the one place where a request gets its identity.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chronos_core::JobSpec;

/// Whoever sent a request. Every handler takes one, and every job that it touches is checked against
/// it. There are no users yet: whoever reaches this machine is the one local owner.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose jobs it may see and change.
    pub(crate) owner: Box<str>,
}

impl Caller {
    /// Whether the job may be seen and changed.
    pub(super) fn owns(&self, spec: &JobSpec) -> bool {
        spec.owner == self.owner
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self { owner: "".into() })
    }
}
