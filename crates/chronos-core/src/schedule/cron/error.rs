//! Why a cron expression is refused, in words for the person who wrote it.

use std::fmt;

use super::MAX_BYTES;

/// Why a cron expression is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CronError {
    /// The text is longer than any sensible expression; it was not read.
    #[error("cron expression is {bytes} bytes long, at most {MAX_BYTES} are accepted")]
    TooLong {
        /// Length of the text.
        bytes: usize,
    },
    /// There is nothing to read.
    #[error("cron expression is empty")]
    Empty,
    /// The text has too few or too many fields.
    #[error(
        "cron expression \"{expression}\" has {count} {}, accepted are 5 (minute hour \
         day-of-month month day-of-week), 6 (second first) or 7 (second first, year last)",
        if *.count == 1 { "field" } else { "fields" }
    )]
    FieldCount {
        /// The text as given.
        expression: Box<str>,
        /// How many fields it has.
        count: usize,
    },
    /// A word such as `@fortnightly` that stands for no expression.
    #[error(
        "unknown nickname \"{nickname}\", accepted are @yearly, @annually, @monthly, @weekly, \
         @daily, @midnight and @hourly"
    )]
    UnknownNickname {
        /// The word as given.
        nickname: Box<str>,
    },
    /// `@reboot`, which names no time.
    #[error("nickname \"@reboot\" is not supported, a schedule needs times and a boot is none")]
    Reboot,
    /// A field holds something it cannot mean.
    #[error("{field} \"{text}\" {problem}, accepted are {}", .field.accepted())]
    Field {
        /// Which field.
        field: Field,
        /// The offending part of it.
        text: Box<str>,
        /// What is wrong with that part.
        problem: Problem,
    },
    /// The fields are fine one by one, but no date of the calendar has them all.
    #[error("cron expression \"{expression}\" never fires, no date in the calendar matches it")]
    NeverFires {
        /// The text as given.
        expression: Box<str>,
    },
    /// The cron parser behind this one refuses what this one would take.
    #[error("cron expression \"{expression}\" is not understood: {reason}")]
    NotUnderstood {
        /// The text as given.
        expression: Box<str>,
        /// What the parser says.
        reason: Box<str>,
    },
}

/// A field of a cron expression, in the order of the seven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Second of the minute.
    Second,
    /// Minute of the hour.
    Minute,
    /// Hour of the day.
    Hour,
    /// Day of the month.
    DayOfMonth,
    /// Month of the year.
    Month,
    /// Day of the week.
    DayOfWeek,
    /// Year.
    Year,
}

impl Field {
    /// The smallest and the largest number that the field takes.
    #[must_use]
    pub const fn bounds(self) -> (u16, u16) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
            Self::Year => (1, 9999),
        }
    }

    const fn accepted(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "0-59, lists 1,2, ranges 1-5, steps */2",
            Self::Hour => "0-23, lists 1,2, ranges 1-5, steps */2",
            Self::DayOfMonth => {
                "1-31, lists 1,2, ranges 1-5, steps */2, L (last day), LW (last weekday), \
                 15W (weekday nearest day 15) and ?"
            }
            Self::Month => "1-12 or JAN-DEC, lists 1,2, ranges 1-5, steps */2",
            Self::DayOfWeek => {
                "0-7 or SUN-SAT, lists 1,2, ranges 1-5, steps */2, 5L (last Friday), \
                 5#2 (second Friday), +5 (only if the day of the month matches too) and ?"
            }
            Self::Year => "1-9999, lists 2030,2031, ranges 2030-2035, steps */2",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
            Self::Year => "year",
        })
    }
}

/// What is wrong with a part of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is nothing the field knows.
    NotUnderstood,
    /// Between two commas, or at an end of the list, there is nothing.
    EmptyItem,
    /// A number is smaller or larger than the field allows.
    OutOfRange,
    /// The range ends before it begins.
    Backwards,
    /// The step is zero or reaches past the whole field.
    Step,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUnderstood => "is not understood",
            Self::EmptyItem => "has an empty list item",
            Self::OutOfRange => "is out of range",
            Self::Backwards => "runs backwards",
            Self::Step => "has a step that is zero or too large",
        })
    }
}
