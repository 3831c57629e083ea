//! Levels: the sizes of periods, and which size owns which.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The size of a period, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// An hour of a day.
    Hour,
    /// A day, from midnight to midnight.
    Day,
    /// An ISO week, from Monday to Sunday.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

impl Level {
    /// Every level, from the smallest to the largest.
    pub const ALL: [Self; 5] = [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// Its name, as ids spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The level of the periods that own this one's.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::Hour => Some(Self::Day),
            Self::Day => Some(Self::Week),
            Self::Week => Some(Self::Month),
            Self::Month => Some(Self::Year),
            Self::Year => None,
        }
    }

    /// The level of the periods that this one's own.
    #[must_use]
    pub const fn child(self) -> Option<Self> {
        match self {
            Self::Hour => None,
            Self::Day => Some(Self::Hour),
            Self::Week => Some(Self::Day),
            Self::Month => Some(Self::Week),
            Self::Year => Some(Self::Month),
        }
    }

    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Hour => "toc:hour:2026-11-15T13",
            Self::Day => "toc:day:2026-11-15",
            Self::Week => "toc:week:2026:W46",
            Self::Month => "toc:month:2026-11",
            Self::Year => "toc:year:2026",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
