//! An instant of universal time, in whole microseconds: the one time type of the domain.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant in UTC, counted in microseconds since 1970.
///
/// Microseconds because every store can hold them exactly: an instant read back is the instant
/// written, on the embedded store and on PostgreSQL alike. Eight bytes, ordered, cheap to copy; and
/// an `Option` of one takes eight bytes too, because the number it is kept as is never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(NonZeroU64);

/// Stands for 1970; the order of instants is that of the numbers.
const BIAS: u64 = 1 << 63;

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self::at(0);
    /// 0001-01-01T00:00:00Z, before every schedule.
    pub const MIN: Self = Self::at(-62_135_596_800_000_000);
    /// 9999-12-31T23:59:59.999999Z, the last instant that RFC 3339 can write.
    pub const MAX: Self = Self::at(253_402_300_799_999_999);

    /// The instant that many microseconds after 1970, which must be a supported one.
    const fn at(micros: i64) -> Self {
        match NonZeroU64::new(micros.cast_unsigned() ^ BIAS) {
            Some(biased) => Self(biased),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// The instant that many microseconds after 1970, held within [`Self::MIN`] and [`Self::MAX`].
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self::at(micros.clamp(Self::MIN.as_micros(), Self::MAX.as_micros()))
    }

    /// The instant that many milliseconds after 1970, held within the supported years.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// The instant that many seconds after 1970, held within the supported years.
    #[must_use]
    pub fn from_secs(secs: i64) -> Self {
        Self::from_micros(secs.saturating_mul(1_000_000))
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        (self.0.get() ^ BIAS).cast_signed()
    }

    /// Whole milliseconds since 1970, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.as_micros().div_euclid(1_000)
    }

    /// Whole seconds since 1970, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> i64 {
        self.as_micros().div_euclid(1_000_000)
    }

    /// This instant later by `by`, or the end of time.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.as_micros().saturating_add(micros))
    }

    /// This instant earlier by `by`, or the beginning of time.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.as_micros().saturating_sub(micros))
    }

    /// How long after `earlier` this instant is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.as_micros().saturating_sub(earlier.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Parses RFC 3339, such as `2026-12-01T09:00:00Z` or `2026-12-01T10:00:00+01:00`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = DateTime::parse_from_rfc3339(text).ok()?;
        let micros = parsed.timestamp_micros();
        let instant = Self::from_micros(micros);
        (instant.as_micros() == micros).then_some(instant)
    }

    /// The same instant in chrono's type.
    #[must_use]
    pub fn to_datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.as_micros()).unwrap_or_default()
    }
}

impl Default for Timestamp {
    fn default() -> Self {
        Self::EPOCH
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(instant: DateTime<Utc>) -> Self {
        Self::from_micros(instant.timestamp_micros())
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(instant: Timestamp) -> Self {
        instant.to_datetime()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_datetime().to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// RFC 3339 in texts such as JSON, a bare count of microseconds in binary records.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.as_micros())
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Self::parse(&text).ok_or_else(|| {
                de::Error::custom(format!(
                    "\"{text}\" is not an instant such as 2026-12-01T09:00:00Z"
                ))
            })
        } else {
            i64::deserialize(deserializer).map(Self::from_micros)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back_is_the_same_instant() {
        for text in ["2026-12-01T09:00:00Z", "1969-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z"]
        {
            let instant = Timestamp::parse(text).unwrap();
            assert_eq!(instant.to_string(), text);
        }
    }

    #[test]
    fn instants_before_and_after_1970_are_in_order_and_take_eight_bytes() {
        let micros = [Timestamp::MIN.as_micros(), -1, 0, 1, Timestamp::MAX.as_micros()];
        let instants = micros.map(Timestamp::from_micros);
        assert_eq!(instants.map(Timestamp::as_micros), micros);
        assert!(instants.is_sorted_by(|one, next| one < next));
        assert_eq!(size_of::<Option<Timestamp>>(), 8);
    }

    #[test]
    fn arithmetic_stops_at_the_ends_of_time() {
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.before(Duration::MAX), Timestamp::MIN);
        assert_eq!(Timestamp::MIN.since(Timestamp::MAX), Duration::ZERO);
    }
}
