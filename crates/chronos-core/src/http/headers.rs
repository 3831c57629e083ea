//! Headers that a user may send: names and values that cannot become anything else on the wire.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Http, Sealed, Value, refusal};
use crate::Error;

/// Names that the connection or the scheduler itself has the say about.
const RESERVED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Beginnings of such names.
const RESERVED_PREFIXES: [&str; 3] = ["chronos-", "proxy-", "webhook-"];

/// Bytes that a seal may add to a value.
const SEAL: usize = 256;

/// A header that can be sent as it stands.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Header {
    name: Box<str>,
    value: Value,
}

impl Header {
    /// A header of this name; both in ASCII, the value without control characters but the tab.
    pub fn new(name: &str, value: &str) -> Result<Self, Error> {
        let given = clipped(name);
        // The value may be a secret, so no refusal quotes it.
        if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            let problem = format!(
                "the value of {given} holds a line break, a control character or a letter beyond \
                 ASCII; encode it"
            );
            return Err(refusal("headers", problem));
        }
        Self::of(name, Value::Plain(value.into()))
    }

    /// A header of this name whose value is a secret.
    pub fn secret(name: &str, value: Sealed) -> Result<Self, Error> {
        Self::of(name, Value::Sealed(value))
    }

    /// The value, to be put another in its place.
    pub(super) fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    fn of(name: &str, value: Value) -> Result<Self, Error> {
        let refused = |problem: String| Err(refusal("headers", problem));
        let given = clipped(name);
        if name.is_empty() || !name.bytes().all(is_token) {
            return refused(format!(
                "{given:?} is no name of a header; use letters, digits and hyphens"
            ));
        }
        let lower = name.to_ascii_lowercase();
        let reserved = RESERVED.contains(&lower.as_str())
            || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
        if reserved {
            return refused(format!("{given} is set by the scheduler; leave it out"));
        }
        // Sealing adds a few bytes to what was within the bound before.
        let most = Http::MAX_HEADER + value.sealed().map_or(0, |_| SEAL);
        let header = Self { name: name.into(), value };
        if header.len() > most {
            let length = header.len();
            return refused(format!("{given} has {length} bytes; use at most {most}"));
        }
        Ok(header)
    }

    /// The header's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The header's value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    fn len(&self) -> usize {
        self.name.len() + self.value.len()
    }
}

/// Values may be secrets, so only names are shown.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// Refuses more headers than a request may have.
pub(super) fn check(headers: &[Header]) -> Result<(), Error> {
    if headers.len() > Http::MAX_HEADERS {
        let most = Http::MAX_HEADERS;
        return Err(refusal("headers", format!("there are {}; use at most {most}", headers.len())));
    }
    let length: usize = headers.iter().map(Header::len).sum();
    if length > Http::MAX_HEADERS_LENGTH {
        let most = Http::MAX_HEADERS_LENGTH;
        return Err(refusal("headers", format!("they have {length} bytes; use at most {most}")));
    }
    Ok(())
}

/// Whether the byte may stand in a name, by RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn clipped(name: &str) -> String {
    name.chars().take(60).collect()
}

/// A header as it is stored, not checked.
#[derive(Deserialize)]
struct Stored {
    name: String,
    value: Value,
}

impl TryFrom<Stored> for Header {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self, Error> {
        match stored.value {
            Value::Plain(value) => Self::new(&stored.name, &value),
            Value::Sealed(value) => Self::secret(&stored.name, value),
        }
    }
}
