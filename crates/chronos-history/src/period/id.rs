//! Ids of periods as text, such as `toc:day:2026-11-15`, and back.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, NaiveDate, Timelike, Weekday};
use chronos_core::Timestamp;

use super::{Level, Period, midnight};
use crate::Error;

/// An error quotes no more than this of what it was given.
const MAX_QUOTED: usize = 40;

/// The id, such as `toc:day:2026-11-15`.
///
/// Ids of one level sort as their periods do.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start.to_datetime();
        let (year, month, day) = (start.year(), start.month(), start.day());
        write!(f, "toc:{}:", self.level)?;
        match self.level {
            Level::Hour => write!(f, "{year:04}-{month:02}-{day:02}T{:02}", start.hour()),
            Level::Day => write!(f, "{year:04}-{month:02}-{day:02}"),
            Level::Week => {
                let week = start.iso_week();
                write!(f, "{:04}:W{:02}", week.year(), week.week())
            }
            Level::Month => write!(f, "{year:04}-{month:02}"),
            Level::Year => write!(f, "{year:04}"),
        }
    }
}

/// Only the one spelling that [`Period`] writes is accepted, so equal periods have equal ids.
impl FromStr for Period {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let split = text.strip_prefix("toc:").and_then(|rest| rest.split_once(':'));
        let (level, name) = split
            .and_then(|(level, name)| {
                let level = Level::ALL.into_iter().find(|known| known.as_str() == level)?;
                Some((level, name))
            })
            .ok_or_else(|| Error::NotAPeriod { given: quoted(text) })?;
        let numbers =
            numbers(level, name).ok_or_else(|| Error::Malformed { given: quoted(text), level })?;
        period(level, numbers).ok_or_else(|| Error::NotInCalendar { given: quoted(text), level })
    }
}

impl TryFrom<String> for Period {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

/// The numbers in the name of a period, in their order; nothing unless it is spelt as it should be.
fn numbers(level: Level, name: &str) -> Option<[u32; 4]> {
    // A digit stands where the example has one, everything else is itself.
    let prefix = "toc::".len() + level.as_str().len();
    let pattern = level.example().as_bytes().get(prefix..)?;
    if name.len() != pattern.len() {
        return None;
    }
    let mut numbers = [0; 4];
    let mut filled = 0;
    let mut inside = false;
    for (byte, expected) in name.bytes().zip(pattern.iter().copied()) {
        if expected.is_ascii_digit() {
            let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
            let number = numbers.get_mut(filled)?;
            *number = *number * 10 + digit;
        } else if byte != expected {
            return None;
        } else if inside {
            filled += 1;
        }
        inside = expected.is_ascii_digit();
    }
    Some(numbers)
}

fn period(level: Level, [year, second, third, hour]: [u32; 4]) -> Option<Period> {
    let year = i32::try_from(year).ok().filter(|year| *year > 0)?;
    let date = match level {
        Level::Hour => {
            let date = NaiveDate::from_ymd_opt(year, second, third)?;
            return (hour < 24).then(|| Period::hour(date, hour));
        }
        Level::Day => NaiveDate::from_ymd_opt(year, second, third)?,
        Level::Week => NaiveDate::from_isoywd_opt(year, second, Weekday::Mon)?,
        Level::Month => NaiveDate::from_ymd_opt(year, second, 1)?,
        Level::Year => NaiveDate::from_ymd_opt(year, 1, 1)?,
    };
    let start: Timestamp = midnight(date);
    Some(Period { level, start })
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
