//! Times in queries: instants, and days and times of a zone.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone as _};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;

/// What clocks are set forward by at most; beyond that a time that they skipped is over.
const WIDEST_GAP_HOURS: i64 = 25;

/// The instant that a text means to clocks of the zone.
pub(super) fn instant(text: &str, zone: Zone) -> Option<Timestamp> {
    if let Some(instant) = Timestamp::parse(text) {
        return Some(instant);
    }
    let local = match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => day.and_time(NaiveTime::MIN),
        Err(_) => ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
            .into_iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?,
    };
    first_at_or_after(local, zone)
}

/// The first instant at which the clocks show this time, or one beyond it where they skip it.
pub(crate) fn first_at_or_after(local: NaiveDateTime, zone: Zone) -> Option<Timestamp> {
    let mut quarter = local;
    let end = local.checked_add_signed(TimeDelta::hours(WIDEST_GAP_HOURS))?;
    while quarter < end {
        if let Some(instant) = zone.tz().from_local_datetime(&quarter).earliest() {
            let micros = instant.timestamp_micros();
            let instant = Timestamp::from_micros(micros);
            return (instant.as_micros() == micros).then_some(instant);
        }
        quarter = quarter.checked_add_signed(TimeDelta::minutes(15))?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_those_of_the_zone() {
        for (text, zone, instant) in [
            ("2026-11-01", "UTC", Some("2026-11-01T00:00:00Z")),
            ("2026-11-01", "Europe/Berlin", Some("2026-10-31T23:00:00Z")),
            ("2026-11-01T09:30", "Asia/Kolkata", Some("2026-11-01T04:00:00Z")),
            ("2026-11-01T09:30:15", "UTC", Some("2026-11-01T09:30:15Z")),
            ("2026-11-01T09:30:00+02:00", "Asia/Kolkata", Some("2026-11-01T07:30:00Z")),
            // Midnight was skipped, and a whole day.
            ("2018-11-04", "America/Sao_Paulo", Some("2018-11-04T03:00:00Z")),
            ("2011-12-30", "Pacific/Apia", Some("2011-12-30T10:00:00Z")),
            // It comes twice; the first counts.
            ("2026-10-25T02:30", "Europe/Berlin", Some("2026-10-25T00:30:00Z")),
            ("2026-02-29", "UTC", None),
            ("2026-13-01", "UTC", None),
            ("yesterday", "UTC", None),
            ("2026-11-01T25:00", "UTC", None),
            ("999999-01-01", "UTC", None),
            ("", "UTC", None),
        ] {
            let zone = Zone::parse(zone).unwrap();
            let expected = instant.map(|text| Timestamp::parse(text).unwrap());
            assert_eq!(super::instant(text, zone), expected, "{text}");
        }
    }
}
