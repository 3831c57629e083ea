//! The methods that a request may have.

use serde::{Deserialize, Serialize};

use super::refusal;
use crate::Error;

/// What is asked of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
}

impl Method {
    /// Every method that is accepted.
    pub const ALL: [Self; 6] =
        [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head];

    /// The method of this name, in any case.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|method| name.eq_ignore_ascii_case(method.as_str()));
        found.ok_or_else(|| {
            let given: String = name.chars().take(20).collect();
            let names = Self::ALL.map(Self::as_str).join(", ");
            refusal("method", format!("it is {given:?}; use one of {names}"))
        })
    }

    /// The method as it is sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
        }
    }

    /// Whether a request of this method may carry a body.
    #[must_use]
    pub fn has_body(self) -> bool {
        match self {
            Self::Get | Self::Head => false,
            Self::Post | Self::Put | Self::Patch | Self::Delete => true,
        }
    }
}
