//! Names of users: any script, one spelling, nothing that deceives the eye.

use std::fmt;

use icu_normalizer::ComposingNormalizerBorrowed;
use serde::{Deserialize, Serialize};

/// A name that a user can have: what people type at a login.
///
/// Spellings that look alike are one name: composed and decomposed letters, wide and narrow ones, and
/// capital and small ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UserName(Box<str>);

/// Why a text cannot be a user's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{problem}; use 1 to {} letters, digits, marks and symbols of any script, without spaces",
    UserName::LONGEST
)]
pub struct BadName {
    /// What is wrong with it.
    problem: &'static str,
}

impl UserName {
    /// Characters that a name may have.
    pub const LONGEST: usize = 64;

    /// The name that this text is.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let refused = |problem| Err(BadName { problem });
        // Counted before it is worked on, because one character may become eighteen.
        if text.chars().count() > Self::LONGEST {
            return refused("the name is too long");
        }
        let name = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
        if name.is_empty() {
            return refused("the name is empty");
        }
        if name.chars().count() > Self::LONGEST {
            return refused("the name is too long");
        }
        if name.chars().any(|character| character.is_whitespace() || is_invisible(character)) {
            return refused("the name holds a character that cannot be seen");
        }
        Ok(Self(name.into()))
    }

    /// The name as it is shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What all spellings of the name have in common: unique among users.
    #[must_use]
    pub fn key(&self) -> String {
        let lower = self.0.to_lowercase();
        // A small letter may be composed where its capital was not.
        ComposingNormalizerBorrowed::new_nfkc().normalize(&lower).into()
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_taken() {
        for name in ["ada", "a", "Zoë", "日本太郎", "ada@example.org", "o'neil-smith_2", "🎉"]
        {
            assert_eq!(UserName::parse(name).unwrap().as_str(), name);
        }
        assert!(UserName::parse(&"x".repeat(64)).is_ok());
    }

    #[test]
    fn spellings_that_look_alike_are_one_name() {
        let key = |text| UserName::parse(text).unwrap().key();
        assert_eq!(key("ADA"), key("ada"));
        assert_eq!(key("zoe\u{308}"), key("ZOË"));
        assert_eq!(key("\u{ff41}\u{ff44}\u{ff41}"), key("ada"));
        assert_ne!(key("ada"), key("ida"));
    }

    #[test]
    fn what_cannot_be_seen_is_no_part_of_a_name() {
        for name in ["", " ", "a b", "a\n", "a\0", "\u{202e}ada", "a\u{200b}da", "a\u{a0}b"] {
            assert!(UserName::parse(name).is_err(), "{name:?}");
        }
        for name in ["x".repeat(65), "\u{fdfa}".repeat(64), "é".repeat(1_000_000)] {
            let refused = UserName::parse(&name).unwrap_err().to_string();
            assert!(refused.starts_with("the name is too long; use 1 to 64 letters"), "{refused}");
        }
    }
}
