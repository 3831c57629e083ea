//! Quiet hours: weekly windows in which nothing fires.

use chrono::{
    Datelike, Days, MappedLocalTime, NaiveDateTime, NaiveTime, TimeZone, Timelike, Weekday,
};
use serde::{Deserialize, Serialize};

use crate::schedule::Zone;
use crate::{Error, PolicyId, Timestamp};

/// A named set of quiet windows, read in the policy's own time zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    /// Identifies the policy.
    pub id: PolicyId,
    /// What people call it.
    pub name: String,
    /// The zone whose wall clock the windows are read on.
    pub zone: Zone,
    /// The windows; several may overlap or touch.
    pub windows: Vec<Window>,
    /// What happens to a recurring slot inside a window.
    pub mode: Mode,
}

/// What happens to a recurring job's slot inside quiet hours. A one-time job is always deferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The slot is skipped with the reason "quiet hours".
    #[default]
    Skip,
    /// The first slot of the window runs once the window ends; later ones are skipped.
    Defer,
}

/// `[start, end)` on each of some weekdays; one that ends before it starts runs overnight and
/// belongs to the day it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    days: WeekdaySet,
    start_minute: u16,
    end_minute: u16,
}

/// A set of weekdays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeekdaySet(u8);

impl WeekdaySet {
    /// Monday to Sunday.
    pub const EVERY_DAY: Self = Self(0b111_1111);
    /// Monday to Friday.
    pub const WEEKDAYS: Self = Self(0b001_1111);
    /// Saturday and Sunday.
    pub const WEEKEND: Self = Self(0b110_0000);

    /// The set of these days.
    #[must_use]
    pub fn of(days: &[Weekday]) -> Self {
        Self(days.iter().fold(0, |set, day| set | 1 << day.num_days_from_monday()))
    }

    /// Whether the day is in the set.
    #[must_use]
    pub fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.num_days_from_monday()) != 0
    }
}

impl Window {
    /// A window on these days from `start` to `end`, each as `HH:MM`; `24:00` ends with the day.
    pub fn new(days: WeekdaySet, start: &str, end: &str) -> Result<Self, Error> {
        let invalid = |reason| Error::QuietWindow { window: format!("{start}-{end}"), reason };
        let start_minute = minute_of(start)
            .filter(|minute| *minute < DAY)
            .ok_or_else(|| invalid("the start must be a time from 00:00 to 23:59"))?;
        let end_minute =
            minute_of(end).ok_or_else(|| invalid("the end must be a time from 00:00 to 24:00"))?;
        if start_minute == end_minute {
            return Err(invalid(
                "it starts and ends at the same time; use 00:00-24:00 for a whole day",
            ));
        }
        if days.0 == 0 {
            return Err(invalid("it names no weekday"));
        }
        Ok(Self { days, start_minute, end_minute })
    }

    /// The end of this window's run around the wall-clock time `at`, if it is inside one.
    fn end_around(self, at: NaiveDateTime) -> Option<NaiveDateTime> {
        let minute = u16::try_from(at.hour() * 60 + at.minute()).unwrap_or(0);
        let today = at.date();
        let overnight = self.end_minute < self.start_minute;
        if self.days.contains(today.weekday()) && minute >= self.start_minute {
            if overnight {
                return wall(today.checked_add_days(Days::new(1))?, self.end_minute);
            }
            if minute < self.end_minute {
                return wall(today, self.end_minute);
            }
        }
        let begun_yesterday = overnight && self.days.contains(today.weekday().pred());
        (begun_yesterday && minute < self.end_minute)
            .then(|| wall(today, self.end_minute))
            .flatten()
    }
}

const DAY: u16 = 24 * 60;

fn minute_of(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 || text.contains('+') {
        return None;
    }
    let minute =
        hours.parse::<u16>().ok()? * 60 + minutes.parse::<u16>().ok().filter(|m| *m < 60)?;
    (minute <= DAY).then_some(minute)
}

fn wall(date: chrono::NaiveDate, minute: u16) -> Option<NaiveDateTime> {
    if minute == DAY {
        return Some(date.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN));
    }
    date.and_hms_opt(u32::from(minute) / 60, u32::from(minute) % 60, 0)
}

impl QuietHours {
    /// When the quiet that holds at `at` ends; `None` when it is not quiet then.
    ///
    /// Windows that touch or overlap count as one. Quiet that never ends within eight days is cut
    /// there and asked about again, so a policy that covers the whole week stays finite.
    #[must_use]
    pub fn until(&self, at: Timestamp) -> Option<Timestamp> {
        let horizon = at.after(std::time::Duration::from_hours(8 * 24));
        let mut end = self.window_end(at)?;
        while end < horizon {
            match self.window_end(end) {
                Some(later) if later > end => end = later,
                _ => break,
            }
        }
        Some(end.min(horizon))
    }

    /// The latest end among the windows that hold at this instant.
    fn window_end(&self, at: Timestamp) -> Option<Timestamp> {
        let local = at.to_datetime().with_timezone(&self.zone.tz()).naive_local();
        let ends = self.windows.iter().filter_map(|window| window.end_around(local));
        ends.map(|end| self.first_instant_at(end, at)).max()
    }

    /// The first instant after `after` at which the zone's clocks show `wall` or have passed it.
    fn first_instant_at(&self, wall: NaiveDateTime, after: Timestamp) -> Timestamp {
        let mut wall = wall;
        // A window may end inside a spring gap; its clocks jump past the end, at most a day on.
        for _ in 0..=DAY {
            let instants = match self.zone.tz().from_local_datetime(&wall) {
                MappedLocalTime::Single(only) => [Some(only), None],
                MappedLocalTime::Ambiguous(first, second) => [Some(first), Some(second)],
                MappedLocalTime::None => [None, None],
            };
            let instants = instants.into_iter().flatten().map(|at| Timestamp::from(at.to_utc()));
            if let Some(instant) = instants.filter(|instant| *instant > after).min() {
                return instant;
            }
            wall += chrono::TimeDelta::minutes(1);
        }
        after.after(std::time::Duration::from_mins(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(zone: &str, windows: &[(WeekdaySet, &str, &str)]) -> QuietHours {
        QuietHours {
            id: PolicyId::new(Timestamp::EPOCH, [0; 10]),
            name: "nights".into(),
            zone: Zone::parse(zone).unwrap(),
            windows: windows
                .iter()
                .map(|(days, start, end)| Window::new(*days, start, end).unwrap())
                .collect(),
            mode: Mode::Skip,
        }
    }

    #[test]
    fn windows_hold_from_their_start_to_just_before_their_end() {
        let nights = policy("Europe/Berlin", &[(WeekdaySet::WEEKDAYS, "22:00", "07:00")]);
        let weekday = policy("UTC", &[(WeekdaySet::of(&[Weekday::Mon]), "09:00", "17:00")]);
        let touching = policy(
            "UTC",
            &[(WeekdaySet::EVERY_DAY, "20:00", "24:00"), (WeekdaySet::EVERY_DAY, "00:00", "06:30")],
        );
        // 2026-11-16 is a Monday; Berlin is UTC+1 in winter.
        let table = [
            (&nights, "2026-11-16T20:59:59Z", None),
            (&nights, "2026-11-16T21:00:00Z", Some("2026-11-17T06:00:00Z")),
            (&nights, "2026-11-17T05:59:59Z", Some("2026-11-17T06:00:00Z")),
            (&nights, "2026-11-17T06:00:00Z", None),
            // Friday's night belongs to Friday and ends on Saturday; Sunday's does not exist.
            (&nights, "2026-11-21T03:00:00Z", Some("2026-11-21T06:00:00Z")),
            (&nights, "2026-11-22T22:00:00Z", None),
            (&weekday, "2026-11-16T09:00:00Z", Some("2026-11-16T17:00:00Z")),
            (&weekday, "2026-11-16T17:00:00Z", None),
            (&weekday, "2026-11-17T09:00:00Z", None),
            (&touching, "2026-11-16T21:00:00Z", Some("2026-11-17T06:30:00Z")),
        ];
        for (policy, at, until) in table {
            let until = until.map(|text| Timestamp::parse(text).unwrap());
            assert_eq!(policy.until(Timestamp::parse(at).unwrap()), until, "{at}");
        }
    }

    #[test]
    fn a_window_that_ends_inside_the_spring_gap_ends_with_the_gap() {
        // Berlin skips 02:00-03:00 on 2026-03-29.
        let night = policy("Europe/Berlin", &[(WeekdaySet::EVERY_DAY, "01:00", "02:30")]);
        let at = Timestamp::parse("2026-03-29T00:30:00Z").unwrap();
        assert_eq!(night.until(at), Timestamp::parse("2026-03-29T01:00:00Z"));
    }

    #[test]
    fn a_policy_that_covers_the_whole_week_ends_after_eight_days() {
        let always = policy("UTC", &[(WeekdaySet::EVERY_DAY, "00:00", "24:00")]);
        let at = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        assert_eq!(always.until(at), Timestamp::parse("2026-11-24T12:00:00Z"));
    }

    #[test]
    fn windows_that_make_no_sense_are_refused_with_the_reason() {
        let days = WeekdaySet::EVERY_DAY;
        for (days, start, end, reason) in [
            (days, "9:00", "17:00", "the start must be a time from 00:00 to 23:59"),
            (days, "24:00", "17:00", "the start must be a time from 00:00 to 23:59"),
            (days, "09:00", "17:60", "the end must be a time from 00:00 to 24:00"),
            (days, "09:00", "25:00", "the end must be a time from 00:00 to 24:00"),
            (days, "+9:00", "10:00", "the start must be a time from 00:00 to 23:59"),
            (days, "09:00", "09:00", "starts and ends at the same time"),
            (WeekdaySet::of(&[]), "09:00", "10:00", "names no weekday"),
        ] {
            let error = Window::new(days, start, end).unwrap_err().to_string();
            assert!(error.contains(reason), "{start}-{end}: {error}");
        }
    }
}
