//! Windows: a span of the wall clock on each of some weekdays.

use std::fmt;

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Weekday};
use serde::{Deserialize, Serialize};

use crate::Error;

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

const DAY: u16 = 24 * 60;
const WEEK: [(Weekday, &str); 7] = [
    (Weekday::Mon, "mon"),
    (Weekday::Tue, "tue"),
    (Weekday::Wed, "wed"),
    (Weekday::Thu, "thu"),
    (Weekday::Fri, "fri"),
    (Weekday::Sat, "sat"),
    (Weekday::Sun, "sun"),
];

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

    /// The set of the days of these names, short or long, in any case; else the name that is none.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut days = Vec::new();
        for name in names {
            days.push(name.parse::<Weekday>().map_err(|_| name)?);
        }
        Ok(Self::of(&days))
    }

    /// Whether the day is in the set.
    #[must_use]
    pub fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.num_days_from_monday()) != 0
    }

    /// The short names of the days, from Monday on.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        WEEK.into_iter().filter(move |(day, _)| self.contains(*day)).map(|(_, name)| name)
    }
}

/// In a few words, such as `mon-fri` or `sat,sun`.
impl fmt::Display for WeekdaySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EVERY_DAY => f.write_str("daily"),
            Self::WEEKDAYS => f.write_str("mon-fri"),
            days => f.write_str(&days.names().collect::<Vec<_>>().join(",")),
        }
    }
}

/// In a few words, such as `mon-fri 22:00-07:00`.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}-{}", self.days, self.start(), self.end())
    }
}

impl Window {
    /// A window on these days from `start` to `end`, each as `HH:MM`; `24:00` ends with the day.
    pub fn new(days: WeekdaySet, start: &str, end: &str) -> Result<Self, Error> {
        let shown = |text: &str| text.chars().take(20).collect::<String>();
        let invalid = |reason| {
            let window = format!("{}-{}", shown(start), shown(end));
            Error::QuietWindow { window, reason }
        };
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

    /// The days it starts on.
    #[must_use]
    pub fn days(self) -> WeekdaySet {
        self.days
    }

    /// When it starts, as `HH:MM`.
    #[must_use]
    pub fn start(self) -> String {
        clock(self.start_minute)
    }

    /// When it ends, as `HH:MM`.
    #[must_use]
    pub fn end(self) -> String {
        clock(self.end_minute)
    }

    /// The end of this window's run around the wall-clock time `at`, if it is inside one; `begins` says
    /// whether windows begin on a date at all.
    pub(super) fn end_around(
        self,
        at: NaiveDateTime,
        begins: impl Fn(NaiveDate) -> bool,
    ) -> Option<NaiveDateTime> {
        let minute = u16::try_from(at.hour() * 60 + at.minute()).unwrap_or(0);
        let today = at.date();
        let begins = |date: NaiveDate| self.days.contains(date.weekday()) && begins(date);
        let overnight = self.end_minute < self.start_minute;
        if minute >= self.start_minute && (overnight || minute < self.end_minute) && begins(today) {
            let last = if overnight { today.succ_opt()? } else { today };
            return wall(last, self.end_minute);
        }
        let begun_yesterday = overnight && minute < self.end_minute && begins(today.pred_opt()?);
        begun_yesterday.then(|| wall(today, self.end_minute)).flatten()
    }
}

/// When the date is over.
pub(super) fn end_of(date: NaiveDate) -> Option<NaiveDateTime> {
    wall(date, DAY)
}

fn clock(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn minute_of(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(hours) || !is_number(minutes) {
        return None;
    }
    let minute =
        hours.parse::<u16>().ok()? * 60 + minutes.parse::<u16>().ok().filter(|m| *m < 60)?;
    (minute <= DAY).then_some(minute)
}

fn wall(date: NaiveDate, minute: u16) -> Option<NaiveDateTime> {
    if minute == DAY {
        return Some(date.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN));
    }
    date.and_hms_opt(u32::from(minute) / 60, u32::from(minute) % 60, 0)
}
