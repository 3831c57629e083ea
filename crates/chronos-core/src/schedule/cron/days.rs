//! The days of one month that the two day fields of an expression select.

use chrono::{Datelike, NaiveDate};

use super::error::Field;
use super::syntax::{Item, Syntax};

/// The first of each week's seven days: 1, 8, 15, 22 and 29.
const WEEKLY: u32 = 1 << 1 | 1 << 8 | 1 << 15 | 1 << 22 | 1 << 29;

/// Both day fields as bits: days of the month from bit 1, days of the week from bit 0, Sunday.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Days {
    dates: u32,
    nearest: u32,
    weekdays: u8,
    nth: [u8; 5],
    last: u8,
    last_day: bool,
    last_weekday: bool,
    rule: Rule,
}

/// How the two day fields join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    EveryDay,
    Month,
    Week,
    Either,
    Both,
}

/// The shape of one month, which decides where `L`, `W` and `#` fall.
#[derive(Clone, Copy)]
struct Month {
    length: u32,
    /// Weekday of day 1, from Sunday.
    starts_on: u32,
}

impl Days {
    pub(super) fn compile(syntax: &Syntax) -> Self {
        let month_free = syntax.day_of_month[..] == [Item::Every];
        let week_free = syntax.day_of_week[..] == [Item::Every];
        let rule = match (month_free, week_free) {
            (true, true) => Rule::EveryDay,
            (false, true) => Rule::Month,
            (true, false) => Rule::Week,
            (false, false) if syntax.both_days => Rule::Both,
            (false, false) => Rule::Either,
        };
        let mut days = Self {
            dates: 0,
            nearest: 0,
            weekdays: 0,
            nth: [0; 5],
            last: 0,
            last_day: false,
            last_weekday: false,
            rule,
        };
        for item in &syntax.day_of_month {
            match *item {
                Item::LastDay => days.last_day = true,
                Item::LastWeekday => days.last_weekday = true,
                Item::Nearest(day) => days.nearest |= 1 << day,
                plain => plain.values(Field::DayOfMonth).for_each(|day| days.dates |= 1 << day),
            }
        }
        for item in &syntax.day_of_week {
            match *item {
                Item::Nth { first, last, nth } => {
                    days.nth[usize::from(nth) - 1] |= weekday_bits(first..=last);
                }
                Item::LastOf { first, last } => days.last |= weekday_bits(first..=last),
                plain => days.weekdays |= weekday_bits(plain.values(Field::DayOfWeek)),
            }
        }
        days
    }

    /// The selected days of this month, day 1 at bit 1.
    pub(super) fn of_month(&self, year: i32, month: u32) -> u32 {
        let Some(first) = NaiveDate::from_ymd_opt(year, month, 1) else {
            return 0;
        };
        let length = u32::from(first.num_days_in_month());
        let shape = Month { length, starts_on: first.weekday().num_days_from_sunday() };
        let selected = match self.rule {
            Rule::EveryDay => !0,
            Rule::Month => self.by_month(shape),
            Rule::Week => self.by_week(shape),
            Rule::Either => self.by_month(shape) | self.by_week(shape),
            Rule::Both => self.by_month(shape) & self.by_week(shape),
        };
        selected & shape.all()
    }

    fn by_month(&self, month: Month) -> u32 {
        let mut selected = self.dates;
        if self.last_day {
            selected |= 1 << month.length;
        }
        if self.last_weekday {
            selected |= 1 << month.nearest_weekday(month.length);
        }
        for day in ones(self.nearest & month.all()) {
            selected |= 1 << month.nearest_weekday(day);
        }
        selected
    }

    fn by_week(&self, month: Month) -> u32 {
        let mut selected = 0;
        for weekday in 0..7 {
            let on = |set: u8| set >> weekday & 1 == 1;
            let first = (7 + weekday - month.starts_on) % 7;
            let dates = WEEKLY << first & month.all();
            if on(self.weekdays) {
                selected |= dates;
            }
            if on(self.last) {
                selected |= 1 << dates.ilog2();
            }
            for (week, set) in (0..).zip(self.nth) {
                if on(set) {
                    // A fifth week past the month falls off the end of the bits.
                    selected |= dates & 2 << first << (7 * week);
                }
            }
        }
        selected
    }
}

impl Month {
    const fn all(self) -> u32 {
        // Bits 1 to `length`; the shift stays below 32 because 31 is the longest.
        (2_u32 << self.length).wrapping_sub(2)
    }

    /// The day from Monday to Friday nearest `day` that lies in the same month.
    const fn nearest_weekday(self, day: u32) -> u32 {
        match (self.starts_on + day - 1) % 7 {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.length => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}

/// Sunday is 0 and 7.
fn weekday_bits(days: impl Iterator<Item = u16>) -> u8 {
    days.fold(0, |bits, day| bits | 1 << (day % 7))
}

fn ones(mut bits: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(lowest)
    })
}
