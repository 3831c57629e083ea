//! Time zones by their IANA names, and the wall-clock arithmetic that schedules need of them.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Timestamp;

const DAY: i64 = 86_400;

/// A time zone of the IANA database, such as `Europe/Berlin`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(Tz);

/// A change of a zone's offset: at `at` the clocks jump from `before` to `after`, all in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) at: i64,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

impl Zone {
    /// Universal time, the zone without surprises.
    pub const UTC: Self = Self(Tz::UTC);

    /// No clock was ever moved further than this, in seconds: the dateline moves skip a whole day.
    pub(crate) const LARGEST_SHIFT: i64 = DAY;

    /// No zone has ever changed twice within this many seconds.
    ///
    /// The closest pair is 6.96 days apart (Gaza, Recife). A test walks every zone of the database,
    /// so an update that breaks this is noticed.
    pub(crate) const STEADY: i64 = 6 * DAY;

    /// The zone of this exact IANA name.
    ///
    /// ```
    /// use chronos_core::schedule::Zone;
    ///
    /// assert_eq!(Zone::parse("Europe/Paris").unwrap().name(), "Europe/Paris");
    /// assert_eq!(
    ///     Zone::parse("Europ/Paris").unwrap_err().to_string(),
    ///     r#"unknown time zone "Europ/Paris"; did you mean "Europe/Paris"?"#
    /// );
    /// ```
    pub fn parse(name: &str) -> Result<Self, UnknownZone> {
        Tz::from_str(name).map(Self).map_err(|_| UnknownZone::named(name))
    }

    /// The IANA name, as [`Self::parse`] takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The same zone in chrono's type.
    #[must_use]
    pub const fn tz(self) -> Tz {
        self.0
    }

    /// The version of the IANA time zone database that every zone follows, such as `2025b`.
    #[must_use]
    pub const fn database_version() -> &'static str {
        chrono_tz::IANA_TZDB_VERSION
    }

    /// What the clocks of the zone show at `instant`.
    #[must_use]
    pub fn wall_clock(self, instant: Timestamp) -> NaiveDateTime {
        instant.to_datetime().with_timezone(&self.0).naive_local()
    }

    /// The offset from universal time at `utc`, in seconds.
    pub(crate) fn offset_at(self, utc: i64) -> i64 {
        let instant = DateTime::from_timestamp(utc, 0).unwrap_or_default();
        self.0.offset_from_utc_datetime(&instant.naive_utc()).fix().local_minus_utc().into()
    }

    /// The change of the offset in `(after, until]`, a window of [`Self::STEADY`] at most;
    /// `before` is the offset at `after`.
    pub(crate) fn change_in(self, after: i64, until: i64, before: i64) -> Option<Transition> {
        debug_assert!(until - after <= Self::STEADY, "two changes could hide in so wide a window");
        (self.offset_at(until) != before).then(|| self.narrow(after, until, before))
    }

    /// The one change in `(known, changed]`.
    fn narrow(self, mut known: i64, mut changed: i64, before: i64) -> Transition {
        while changed - known > 1 {
            let middle = known + (changed - known) / 2;
            if self.offset_at(middle) == before {
                known = middle;
            } else {
                changed = middle;
            }
        }
        Transition { at: changed, before, after: self.offset_at(changed) }
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        Self::parse(name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The IANA name, in texts and in binary records alike: numbers would shift with the database.
impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl de::Visitor<'_> for Name {
            type Value = Zone;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an IANA time zone name such as Europe/Berlin")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Zone, E> {
                Zone::parse(name).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// The time zone database has no zone of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct UnknownZone {
    name: Box<str>,
    suggestion: Option<Zone>,
}

impl UnknownZone {
    /// The existing zone that was probably meant.
    #[must_use]
    pub fn suggestion(&self) -> Option<Zone> {
        self.suggestion
    }

    fn named(name: &str) -> Self {
        // Whatever is longer than any real name is no slip of the finger; its start tells enough.
        if name.len() > 64 {
            let shortened: String = name.chars().take(32).chain("...".chars()).collect();
            return Self { name: shortened.into(), suggestion: None };
        }
        Self { name: name.into(), suggestion: closest(name) }
    }
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown time zone \"{}\"", self.name)?;
        match self.suggestion {
            Some(zone) => write!(f, "; did you mean \"{zone}\"?"),
            None => Ok(()),
        }
    }
}

/// The zone whose name differs only in case, in its region, or by a slip or two.
fn closest(name: &str) -> Option<Zone> {
    let wanted = name.trim().to_ascii_lowercase().replace(' ', "_");
    let slips = |tz: &Tz| {
        let known = tz.name().to_ascii_lowercase();
        match known.rsplit_once('/') {
            _ if known == wanted => 0,
            Some((_, city)) if city == wanted => 1,
            _ => 1 + edits(&wanted, &known),
        }
    };
    let (distance, tz) = TZ_VARIANTS.iter().map(|tz| (slips(tz), tz)).min_by_key(|(d, _)| *d)?;
    (distance <= 1 + wanted.len().div_ceil(4).min(2)).then_some(Zone(*tz))
}

/// The number of letters to insert, drop or replace to make `a` of `b` (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_probable_one() {
        let table = [
            ("Europ/Paris", r#"unknown time zone "Europ/Paris"; did you mean "Europe/Paris"?"#),
            ("europe/paris", r#"unknown time zone "europe/paris"; did you mean "Europe/Paris"?"#),
            ("utc", r#"unknown time zone "utc"; did you mean "UTC"?"#),
            ("Berlin", r#"unknown time zone "Berlin"; did you mean "Europe/Berlin"?"#),
            ("New York", r#"unknown time zone "New York"; did you mean "America/New_York"?"#),
            ("Mars/Olympus", r#"unknown time zone "Mars/Olympus""#),
            ("", r#"unknown time zone """#),
        ];
        for (name, expected) in table {
            assert_eq!(Zone::parse(name).unwrap_err().to_string(), expected, "{name}");
        }
        let endless = Zone::parse(&"é".repeat(5_000)).unwrap_err().to_string();
        assert!(endless.len() < 120, "{endless}");
    }

    #[test]
    fn text_and_back_is_the_same_zone() {
        for tz in TZ_VARIANTS {
            let zone = Zone(tz);
            let json = serde_json::to_string(&zone).unwrap();
            assert_eq!(json, format!("\"{zone}\""));
            assert_eq!(serde_json::from_str::<Zone>(&json).unwrap(), zone);
        }
        let wrong = serde_json::from_str::<Zone>("\"Nowhere/City\"").unwrap_err().to_string();
        assert!(wrong.starts_with(r#"unknown time zone "Nowhere/City""#), "{wrong}");
    }

    #[test]
    fn changes_are_found_to_the_second() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let summer = Timestamp::parse("2025-03-30T01:00:00Z").unwrap().as_secs();
        let expected = Transition { at: summer, before: 3_600, after: 7_200 };
        assert_eq!(berlin.change_in(summer - 3 * DAY, summer + 3 * DAY, 3_600), Some(expected));
        assert_eq!(berlin.change_in(summer - 3 * DAY, summer, 3_600), Some(expected));
        assert_eq!(berlin.change_in(summer - 1, summer, 3_600), Some(expected));
        assert_eq!(berlin.change_in(summer - 3 * DAY, summer - 1, 3_600), None);
        assert_eq!(berlin.change_in(summer, summer + DAY, 7_200), None);
    }

    #[test]
    fn no_zone_changes_twice_within_the_steady_time_nor_by_more_than_a_day() {
        let (first, last) = ("1850-01-01T00:00:00Z", "2101-01-01T00:00:00Z");
        let [first, last] = [first, last].map(|text| Timestamp::parse(text).unwrap().as_secs());
        for tz in TZ_VARIANTS {
            let zone = Zone(tz);
            let (mut changed, mut offset) = (i64::MIN / 2, zone.offset_at(first));
            for utc in (first..last).step_by(86_400) {
                let now = zone.offset_at(utc);
                if now != offset {
                    assert!((now - offset).abs() <= Zone::LARGEST_SHIFT, "{zone} at {utc}");
                    // Seen a day late at most, so seven days apart is surely more than six.
                    assert!(utc - changed > Zone::STEADY, "{zone} changes twice around {utc}");
                    (changed, offset) = (utc, now);
                }
            }
        }
    }
}
