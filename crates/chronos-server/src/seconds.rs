//! Durations, as numbers of seconds.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration in seconds: a whole number, or one with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Duration);

/// Ten thousand years, which nobody means.
const MOST: u64 = 366 * 86_400 * 10_000;

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            serializer.serialize_u64(self.0.as_secs())
        } else {
            serializer.serialize_f64(self.0.as_secs_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InSeconds)
    }
}

struct InSeconds;

impl Visitor<'_> for InSeconds {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of seconds from 0 to {MOST}")
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
        if seconds > MOST {
            return Err(E::invalid_value(serde::de::Unexpected::Unsigned(seconds), &self));
        }
        Ok(Seconds(Duration::from_secs(seconds)))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
        let positive = u64::try_from(seconds);
        let unexpected = serde::de::Unexpected::Signed(seconds);
        positive.map_err(|_| E::invalid_value(unexpected, &self)).and_then(|it| self.visit_u64(it))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
        let read = Duration::try_from_secs_f64(seconds).ok();
        let read = read.filter(|read| read.as_secs() <= MOST);
        let unexpected = serde::de::Unexpected::Float(seconds);
        read.map(Seconds).ok_or_else(|| E::invalid_value(unexpected, &self))
    }
}
