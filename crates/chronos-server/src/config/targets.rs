//! Targets that are allowed although they are not public, and targets that are denied, as they are written.

use chronos_core::http::{Denied, Rule};
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

/// What http jobs may not call, whatever else is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeniedTarget(pub Denied);

impl TryFrom<String> for DeniedTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl From<DeniedTarget> for String {
    fn from(target: DeniedTarget) -> Self {
        target.0.to_string()
    }
}
