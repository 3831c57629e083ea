//! Secrets as they are kept: only what proves them, and never shown.

use std::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// A password as it is kept: the text of a slow hash with its salt and cost.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash(Box<str>);

impl PasswordHash {
    /// The hash that this text is.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever checks a password or stores it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// A token as it is kept: the digest of a secret that nobody can guess.
///
/// There is no `==`, because comparing must take the same time whatever the bytes are.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for whoever stores them.
    #[must_use]
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are digests of the same secret.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_secret_is_never_shown() {
        let shown = format!("{:?} {:?}", PasswordHash::new("$argon2id$x"), Digest::new([7; 32]));
        assert_eq!(shown, "PasswordHash(..) Digest(..)");
    }

    #[test]
    fn digests_match_when_every_byte_does() {
        assert!(Digest::new([7; 32]).matches(&Digest::new([7; 32])));
        let mut other = [7; 32];
        other[31] = 6;
        assert!(!Digest::new([7; 32]).matches(&Digest::new(other)));
    }
}
