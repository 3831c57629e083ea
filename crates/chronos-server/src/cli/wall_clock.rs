//! Instants as people read them: on the wall clock of a zone, as finely as they are.

use chrono::{DateTime, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::Tz;
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;

use super::span;

/// What the clocks of a zone show.
pub(super) struct WallClock {
    pub(super) tz: Tz,
}

impl WallClock {
    pub(super) fn of(zone: Zone) -> Self {
        // A zone's name is a name of the database, so there is no other case.
        Self { tz: zone.name().parse().unwrap_or(Tz::UTC) }
    }

    /// The clocks of whoever reads: `TZ`, or the machine's zone; UTC when neither has a name.
    pub(super) fn of_the_reader() -> Self {
        let named = std::env::var("TZ").ok().filter(|zone| !zone.is_empty());
        let zone = named.or_else(|| {
            // The link ends in the zone's name: /usr/share/zoneinfo/Europe/Berlin.
            let file = std::fs::canonicalize("/etc/localtime").ok()?;
            let (_, zone) = file.to_str()?.split_once("zoneinfo/")?;
            Some(zone.to_owned())
        });
        let tz = zone.and_then(|zone| zone.trim_start_matches(':').parse().ok());
        Self { tz: tz.unwrap_or(Tz::UTC) }
    }

    /// The instant at which the clocks show this; the first where they do twice, none where they never do.
    pub(super) fn read(&self, text: &str) -> Option<Timestamp> {
        let formats =
            ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"];
        let mut read = formats.into_iter();
        let shown = read.find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?;
        self.tz.from_local_datetime(&shown).earliest().map(|at| at.to_utc().into())
    }

    fn at(&self, instant: Timestamp) -> DateTime<Tz> {
        instant.to_datetime().with_timezone(&self.tz)
    }

    pub(super) fn date_and_time(&self, instant: Timestamp, precision: Precision) -> String {
        let format = format!("%a %Y-%m-%d {} %:z", precision.format());
        self.at(instant).format(&format).to_string()
    }

    /// The same without the weekday and the offset, for a column that names its zone.
    pub(super) fn brief(&self, instant: Timestamp) -> String {
        self.at(instant).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// How far off and when exactly: "in 4 min (Mon 2026-11-16 09:00 +01:00)".
    pub(super) fn both(&self, instant: Timestamp, now: Timestamp) -> String {
        // Fractions of a second are the machine's, not the reader's.
        let whole = Timestamp::from_secs(instant.as_secs());
        let absolute = self.date_and_time(whole, Precision::of([whole]));
        format!("{} ({absolute})", span::relative(instant, now))
    }

    /// The time of day, with its date when that differs from the date of `reference`.
    pub(super) fn time(
        &self,
        instant: Timestamp,
        reference: Timestamp,
        precision: Precision,
    ) -> String {
        let instant = self.at(instant);
        if instant.date_naive() == self.at(reference).date_naive() {
            instant.format(precision.format()).to_string()
        } else {
            instant.format(&format!("%a %m-%d {}", precision.format())).to_string()
        }
    }
}

/// How finely times are shown: just finely enough to be exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precision {
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

impl Precision {
    pub(super) fn of(instants: impl IntoIterator<Item = Timestamp>) -> Self {
        let needed = instants.into_iter().map(|instant| {
            let micros = instant.as_micros();
            if micros % 1_000 != 0 {
                Self::Microsecond
            } else if micros % 1_000_000 != 0 {
                Self::Millisecond
            } else if instant.to_datetime().second() != 0 {
                Self::Second
            } else {
                Self::Minute
            }
        });
        needed.max().unwrap_or(Self::Minute)
    }

    const fn format(self) -> &'static str {
        match self {
            Self::Minute => "%H:%M",
            Self::Second => "%H:%M:%S",
            Self::Millisecond => "%H:%M:%S%.3f",
            Self::Microsecond => "%H:%M:%S%.6f",
        }
    }
}
