//! Targets that are allowed although they are not public, as they are written.

use chronos_core::http::Rule;
use serde::{Deserialize, Serialize};

/// A host, an address or a network that http jobs may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AllowedTarget(pub Rule);

impl TryFrom<String> for AllowedTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl From<AllowedTarget> for String {
    fn from(target: AllowedTarget) -> Self {
        target.0.to_string()
    }
}
