//! Instants in the text of notes: drafted as what they are, told as the clocks of a zone show them.

use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;

use crate::Level;

/// Stand around an instant in a draft; no text has a use for them.
const OPEN: char = '\u{2}';
const CLOSE: char = '\u{3}';

const MINUTE: Duration = Duration::from_mins(1);

/// An instant for a draft: two that are told alike are drafted alike.
pub(crate) fn drafted(level: Level, at: Timestamp) -> String {
    let minute = i64::try_from(MINUTE.as_micros()).unwrap_or(i64::MAX);
    let micros = at.as_micros().div_euclid(minute).saturating_mul(minute);
    format!("{OPEN}{level} {micros}{CLOSE}")
}

/// The first instant of a draft, with what stands before it and after it.
pub(crate) fn next_in(draft: &str) -> Option<(&str, Timestamp, Level, &str)> {
    let mut searched = 0;
    loop {
        let open = searched + draft.get(searched..)?.find(OPEN)?;
        let inside = draft.get(open + OPEN.len_utf8()..)?;
        let read = inside.split_once(CLOSE).and_then(|(moment, after)| {
            let (level, micros) = moment.split_once(' ')?;
            let level = Level::ALL.into_iter().find(|known| known.as_str() == level)?;
            Some((Timestamp::from_micros(micros.parse().ok()?), level, after))
        });
        match read {
            Some((at, level, after)) => return Some((draft.get(..open)?, at, level, after)),
            // A name may hold anything.
            None => searched = open + OPEN.len_utf8(),
        }
    }
}

/// An instant as one says it within a period of this level, on the clocks of a zone. Where they show another day
/// than that of the period, the day is told too.
pub(crate) fn told(level: Level, at: Timestamp, zone: Zone) -> String {
    let (universal, local) = (at.to_datetime(), at.to_datetime().with_timezone(&zone.tz()));
    let format = match level {
        Level::Hour | Level::Day if is_same_day(&universal, &local) => "%H:%M",
        Level::Hour | Level::Day | Level::Week => "%a %H:%M",
        Level::Month | Level::Year => "%-d %b %H:%M",
    };
    local.format(format).to_string()
}

fn is_same_day<Z: TimeZone>(universal: &DateTime<Utc>, local: &DateTime<Z>) -> bool {
    universal.date_naive() == local.date_naive()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Bullet;

    #[test]
    fn a_note_is_told_on_the_clocks_of_any_zone() {
        let at = |text| Timestamp::parse(text).unwrap();
        let from = drafted(Level::Day, at("2026-11-15T02:10:31Z"));
        let to = drafted(Level::Day, at("2026-11-15T16:55:00Z"));
        let note =
            Bullet::drafted(&format!("a\u{2}b failed between {from} and {to}; still"), vec![]);
        assert_eq!(&*note.text, "a\u{2}b failed between 02:10 and 16:55; still");
        for (zone, told) in [
            ("UTC", "a\u{2}b failed between 02:10 and 16:55; still"),
            ("Europe/Berlin", "a\u{2}b failed between 03:10 and 17:55; still"),
            ("Asia/Tokyo", "a\u{2}b failed between 11:10 and Mon 01:55; still"),
        ] {
            assert_eq!(note.text_in(Zone::parse(zone).unwrap()), told);
        }
    }
}
