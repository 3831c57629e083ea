//! Secrets of a request: kept sealed, so that whoever reads a store cannot use them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::refusal;
use crate::Error;

/// A text that someone sealed; what it says, only whoever has the key can tell.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed(Box<str>);

impl Sealed {
    /// What a key made of a text.
    #[must_use]
    pub fn new(sealed: &str) -> Self {
        Self(sealed.into())
    }

    /// What the key needs to open it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Nobody needs to see it, and it would only be tried.
impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(…)")
    }
}

/// A value of a request, which is shown or is not.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// As it is sent.
    Plain(Box<str>),
    /// A secret, opened when it is sent.
    Sealed(Sealed),
}

impl Value {
    /// The value, unless it is a secret.
    #[must_use]
    pub fn plain(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Sealed(_) => None,
        }
    }

    /// The secret, if it is one.
    #[must_use]
    pub fn sealed(&self) -> Option<&Sealed> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(sealed) => Some(sealed),
        }
    }

    /// About how many bytes it has when it is sent: sealed ones are kept in base64.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Sealed(Sealed(text)) => text.len() / 4 * 3,
        }
    }
}

/// Values may be secrets also where nobody said so.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What the name of a signing secret begins with.
const PREFIX: &str = "whsec_";

/// While one secret takes the place of another, there are two.
const MOST: usize = 2;

/// The keys of a signing secret such as `whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD`; of two, with a space
/// between them, while one takes the place of the other. Never quoted in a refusal.
pub fn signing_keys(secret: &str) -> Result<Vec<Vec<u8>>, Error> {
    let secrets: Vec<&str> = secret.split(' ').collect();
    if secrets.len() > MOST {
        let problem =
            format!("it holds {} secrets; use one, or two while you change it", secrets.len());
        return Err(refusal("signing_secret", problem));
    }
    secrets.into_iter().map(signing_key).collect()
}

fn signing_key(secret: &str) -> Result<Vec<u8>, Error> {
    const ACCEPTED: &str = "use whsec_ and 24 to 64 random bytes in base64";
    let refused = |problem: &str| Err(refusal("signing_secret", format!("{problem}; {ACCEPTED}")));
    let Some(text) = secret.strip_prefix(PREFIX) else {
        return refused("it does not begin with whsec_");
    };
    match STANDARD.decode(text) {
        Ok(key) if (24..=64).contains(&key.len()) => Ok(key),
        Ok(key) => refused(&format!("its key has {} bytes", key.len())),
        Err(_) => refused("what follows whsec_ is not base64"),
    }
}
