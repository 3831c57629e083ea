//! Traces: the id that one request keeps on its way through several programs, as W3C Trace Context has it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ExecutionId;

/// Names a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// The trace of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of the id.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The trace that a `traceparent` header names, such as
    /// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. One that is not well formed names none,
    /// and counts as if it were not there.
    #[must_use]
    pub fn of_parent(header: &str) -> Option<Self> {
        let is_hex = |text: &str, length| {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            text.len() == length && text.bytes().all(is_digit)
        };
        let mut parts = header.trim().split('-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        let fits = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
        // Later versions may say more at their end; version 255 says nothing at all.
        let ends = version != "00" || parts.next().is_none();
        let says = version != "ff" && span.bytes().any(|byte| byte != b'0');
        let id = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0);
        id.filter(|_| fits && ends && says).map(|id| Self(id.to_be_bytes()))
    }
}

/// The trace of whatever nobody else began one for.
impl From<ExecutionId> for TraceId {
    fn from(id: ExecutionId) -> Self {
        Self(*id.as_bytes())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_that_is_not_well_formed_names_no_trace() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        for header in [
            format!("00-{trace}-00f067aa0ba902b7-01"),
            format!(" 00-{trace}-00f067aa0ba902b7-00 "),
            format!("01-{trace}-00f067aa0ba902b7-01-more"),
        ] {
            assert_eq!(TraceId::of_parent(&header).unwrap().to_string(), trace, "{header}");
        }
        for header in [
            String::new(),
            trace.into(),
            format!("00-{trace}-00f067aa0ba902b7"),
            format!("00-{trace}-00f067aa0ba902b7-01-more"),
            format!("ff-{trace}-00f067aa0ba902b7-01"),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "g".repeat(32)),
            format!("00-+{}-00f067aa0ba902b7-01", &trace[1..]),
        ] {
            assert_eq!(TraceId::of_parent(&header), None, "{header}");
        }
    }
}
