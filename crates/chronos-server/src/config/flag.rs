//! Switches: true or false, from wherever they come.

use std::fmt;

use serde::Deserializer;
use serde::de::{self, Unexpected, Visitor};

/// Whether something is so; variables and flags say it in letters.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Flag;

    impl Visitor<'_> for Flag {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true or false")
        }

        fn visit_bool<E: de::Error>(self, flag: bool) -> Result<bool, E> {
            Ok(flag)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<bool, E> {
            text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    deserializer.deserialize_any(Flag)
}
