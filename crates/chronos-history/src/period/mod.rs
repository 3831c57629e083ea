//! Periods: the stretches of universal time that history is told by, and who owns whom.

mod id;
mod level;
mod title;

use std::iter;
use std::time::Duration;

use chrono::{
    DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, TimeDelta, Timelike, Utc,
};
use chronos_core::Timestamp;
use serde::{Deserialize, Serialize};

pub use level::Level;

const HOUR: Duration = Duration::from_hours(1);

/// An hour, a day, an ISO week, a month or a year of universal time.
///
/// Periods of one level tile the whole time from [`Timestamp::MIN`] to [`Timestamp::MAX`]: every
/// instant is in exactly one of them. Each but a year has one parent. A week belongs to the month
/// of its Thursday, as an ISO week belongs to the year of its Thursday; so the weeks of a month
/// may begin up to three days before it and end up to three days after it.
///
/// Serialized, it is its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period {
    level: Level,
    start: Timestamp,
}

impl Period {
    /// The period of this level that holds the instant.
    #[must_use]
    pub fn containing(level: Level, instant: Timestamp) -> Self {
        let wall = instant.to_datetime().naive_utc();
        let date = wall.date();
        let first = match level {
            Level::Hour => return Self::hour(date, wall.hour()),
            Level::Day => date,
            // 0001-01-01 is a Monday, so no week begins before the calendar does.
            Level::Week => days_before(date, date.weekday().num_days_from_monday()),
            Level::Month => days_before(date, date.day0()),
            Level::Year => days_before(date, date.ordinal0()),
        };
        Self { level, start: midnight(first) }
    }

    /// Its level.
    #[must_use]
    pub fn level(self) -> Level {
        self.level
    }

    /// Its first instant.
    #[must_use]
    pub fn start(self) -> Timestamp {
        self.start
    }

    /// The first instant after it: the start of the next period of its level.
    ///
    /// The last period of a level has none after it and ends at [`Timestamp::MAX`], which it
    /// holds.
    #[must_use]
    pub fn end(self) -> Timestamp {
        instant(self.raw_end())
    }

    /// Whether the instant is in it.
    #[must_use]
    pub fn contains(self, instant: Timestamp) -> bool {
        Self::containing(self.level, instant) == self
    }

    /// The period that owns it; a year has no owner.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        let parent = self.level.parent()?;
        let anchor = match self.level {
            Level::Week => midnight(self.thursday()),
            Level::Hour | Level::Day | Level::Month | Level::Year => self.start,
        };
        Some(Self::containing(parent, anchor))
    }

    /// The periods that it owns, in order; an hour owns none.
    pub fn children(self) -> impl Iterator<Item = Self> {
        let first = self.level.child().map(|level| {
            let first = Self::containing(level, self.start);
            // The week that a month begins in may belong to the month before.
            match first.parent() {
                Some(parent) if parent < self => first.next(),
                _ => Some(first),
            }
        });
        iter::successors(first.flatten(), |child| child.next())
            .take_while(move |child| child.parent() == Some(self))
    }

    /// The period of the same level that follows it, unless time ends with this one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let end = self.raw_end();
        (end <= Timestamp::MAX.to_datetime().naive_utc())
            .then(|| Self::containing(self.level, instant(end)))
    }

    /// The period of the same level that comes before it, unless time begins with this one.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        (self.start > Timestamp::MIN).then(|| {
            let before = self.start.before(Duration::from_micros(1));
            Self::containing(self.level, before)
        })
    }

    /// Whether it ended at least `min_age` before `now`, so that nothing late is still expected.
    #[must_use]
    pub fn is_closed(self, now: Timestamp, min_age: Duration) -> bool {
        self.end() <= now && now.since(self.end()) >= min_age
    }

    /// Whether it and all that it owns ended at least `min_age` before `now`: the last week of a month may end
    /// after it.
    #[must_use]
    pub fn is_settled(self, now: Timestamp, min_age: Duration) -> bool {
        let last = self.children().last();
        self.is_closed(now, min_age) && last.is_none_or(|last| last.is_settled(now, min_age))
    }

    fn hour(date: NaiveDate, hour: u32) -> Self {
        let start = midnight(date).after(HOUR * hour);
        Self { level: Level::Hour, start }
    }

    fn first_date(self) -> NaiveDate {
        self.start.to_datetime().date_naive()
    }

    /// The day whose month and year own a week.
    fn thursday(self) -> NaiveDate {
        self.first_date() + Days::new(3)
    }

    /// The end, even where it lies beyond the last instant.
    fn raw_end(self) -> NaiveDateTime {
        let start = self.start.to_datetime().naive_utc();
        match self.level {
            Level::Hour => start + TimeDelta::hours(1),
            Level::Day => start + Days::new(1),
            Level::Week => start + Days::new(7),
            Level::Month => start + Months::new(1),
            Level::Year => start + Months::new(12),
        }
    }
}

fn days_before(date: NaiveDate, days: u32) -> NaiveDate {
    date - Days::new(days.into())
}

fn midnight(date: NaiveDate) -> Timestamp {
    instant(date.into())
}

fn instant(wall: NaiveDateTime) -> Timestamp {
    DateTime::<Utc>::from_naive_utc_and_offset(wall, Utc).into()
}
