//! Priority: which of the runs that wait for a worker goes first.

use serde::{Deserialize, Serialize};

use crate::Error;

/// How urgent a job's runs are, from 0 to 9: of those whose time has come the highest go first, and
/// among equals those that have waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Priority(u8);

impl Priority {
    /// The most urgent.
    pub const HIGHEST: Self = Self(9);
    /// The least urgent.
    pub const LOWEST: Self = Self(0);

    /// A priority from 0 to 9; anything else is refused.
    pub fn new(level: u32) -> Result<Self, Error> {
        match u8::try_from(level) {
            Ok(level) if level <= Self::HIGHEST.0 => Ok(Self(level)),
            _ => Err(Error::Priority { given: level }),
        }
    }

    /// The number, from 0 to 9.
    #[must_use]
    pub const fn level(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    /// The middle, so that there is room above and below.
    fn default() -> Self {
        Self(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_levels_are_accepted_and_no_more() {
        assert!((0..=9).all(|level| Priority::new(level).is_ok()));
        let refused = Priority::new(10).unwrap_err().to_string();
        assert_eq!(refused, "priority of 10 is not accepted; use 0 to 9");
        assert!(Priority::new(256).is_err());
    }
}
