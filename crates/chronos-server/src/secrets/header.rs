//! Values of headers as JSON has them: a text, or a text that is a secret.

use std::collections::BTreeMap;
use std::fmt;

use chronos_core::Http;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MASK;

/// The value of a header. A secret is stored encrypted and told as `********`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "this value, expected a string, or an object such as {\"secret\": \"…\"}"
)]
pub(crate) enum HeaderValue {
    /// Sent as it is.
    Plain(String),
    /// Sent as it is, and shown to nobody.
    Secret {
        /// The value; `********` keeps the one that the job has.
        secret: String,
    },
}

impl HeaderValue {
    /// A secret as it is told.
    pub(crate) fn masked() -> Self {
        Self::Secret { secret: MASK.into() }
    }
}

/// Values may be secrets also where nobody said so.
impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// A text that is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SecretText(pub(crate) String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The headers of a request as they are told.
pub(crate) fn told(http: &Http) -> BTreeMap<String, HeaderValue> {
    let mut headers: BTreeMap<String, HeaderValue> = BTreeMap::new();
    for header in http.headers() {
        let told = headers.remove(header.name());
        let told = match (header.value().plain(), told) {
            (None, _) | (_, Some(HeaderValue::Secret { .. })) => HeaderValue::masked(),
            (Some(value), None) => HeaderValue::Plain(value.into()),
            // HTTP reads a header that comes twice as one whose values are joined.
            (Some(value), Some(HeaderValue::Plain(first))) => {
                HeaderValue::Plain(format!("{first}, {value}"))
            }
        };
        headers.insert(header.name().into(), told);
    }
    headers
}
