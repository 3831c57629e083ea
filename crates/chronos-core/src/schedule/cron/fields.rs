//! An expression compiled to bits, and the search for the next wall-clock time that it names.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate};

use super::days::Days;
use super::error::Field;
use super::syntax::{Item, Items, Syntax};

const DAY: i64 = 86_400;

/// The last year that RFC 3339 can write, and the last that is searched.
const LAST_YEAR: u16 = Field::Year.bounds().1;

/// Days from 0001-01-01, chrono's day 1, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_163;

/// Wall-clock time in seconds since 1970-01-01T00:00:00 on the same clock.
pub(super) type Wall = i64;

/// The wall-clock times that an expression names, about a hundred bytes of bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    days: Days,
    /// `None` is every year.
    years: Option<Arc<[Years]>>,
    keeps_cadence: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Years {
    first: u16,
    last: u16,
    step: u16,
}

impl Fields {
    pub(super) fn compile(syntax: &Syntax) -> Self {
        let counts = |items: &Items| {
            items.iter().any(|item| matches!(item, Item::Every | Item::Steps { .. }))
        };
        Self {
            seconds: bits(Field::Second, &syntax.second),
            minutes: bits(Field::Minute, &syntax.minute),
            hours: bits(Field::Hour, &syntax.hour),
            months: bits(Field::Month, &syntax.month),
            days: Days::compile(syntax),
            years: years(&syntax.year),
            keeps_cadence: [&syntax.second, &syntax.minute, &syntax.hour].into_iter().any(counts),
        }
    }

    /// Whether the expression counts on through clock changes instead of naming fixed times.
    ///
    /// It does when the second, minute or hour is written with `*` or a step and so takes several
    /// values. `0 */24 * * *` is midnight however it is written, and must not lose a day to a gap.
    pub(super) const fn keeps_cadence(&self) -> bool {
        self.keeps_cadence
    }

    pub(super) fn matches(&self, wall: Wall) -> bool {
        self.next(wall) == Some(wall)
    }

    /// The first wall-clock time at or after `from` that the expression names.
    pub(super) fn next(&self, from: Wall) -> Option<Wall> {
        let (day, second) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        let date = date(day)?;
        if self.has_date(date)
            && let Some(time) = self.time_from(second)
        {
            return Some(day * DAY + time);
        }
        Some(self.date_after(date)? * DAY + self.time_from(0)?)
    }

    fn has_date(&self, date: NaiveDate) -> bool {
        self.months >> date.month() & 1 == 1
            && self.year_from(date.year()) == Some(date.year())
            && self.days.of_month(date.year(), date.month()) >> date.day() & 1 == 1
    }

    /// The shortest distance between two times of day, or between the last of a day and the first of the
    /// next, in seconds.
    pub(super) fn shortest_gap(&self) -> i64 {
        let (first_s, last_s, gap_s) = spread(self.seconds, 60);
        let (first_m, last_m, gap_m) = spread(self.minutes, 60);
        let (first_h, last_h, gap_h) = spread(self.hours, 24);
        // Every minute has the same seconds, every hour the same minutes, every day the same hours.
        let minute = gap_m * 60 + first_s - last_s;
        let hour = gap_h * 3_600 + (first_m - last_m) * 60 + first_s - last_s;
        let day = DAY + (first_h - last_h) * 3_600 + (first_m - last_m) * 60 + first_s - last_s;
        gap_s.min(minute).min(hour).min(day)
    }

    /// The first time of day at or after `second`.
    fn time_from(&self, second: i64) -> Option<i64> {
        let (h, m, s) = (second / 3_600, second / 60 % 60, second % 60);
        let (first_minute, first_second) = (lowest(self.minutes, 0)?, lowest(self.seconds, 0)?);
        let hour = lowest(self.hours, h)?;
        if hour == h
            && let Some(minute) = lowest(self.minutes, m)
        {
            if minute > m {
                return Some(hour * 3_600 + minute * 60 + first_second);
            }
            if let Some(second) = lowest(self.seconds, s) {
                return Some(hour * 3_600 + minute * 60 + second);
            }
            if let Some(minute) = lowest(self.minutes, m + 1) {
                return Some(hour * 3_600 + minute * 60 + first_second);
            }
        }
        let hour = if hour == h { lowest(self.hours, h + 1)? } else { hour };
        Some(hour * 3_600 + first_minute * 60 + first_second)
    }

    /// The first matching date after `date`, in days since 1970.
    fn date_after(&self, date: NaiveDate) -> Option<i64> {
        // The calendar repeats every 400 years, so what is not found by then does not exist. A
        // list of years is shorter than that, or bounds the search by its last one.
        let end = if self.years.is_none() { date.year() + 400 } else { LAST_YEAR.into() };
        let (mut year, mut month, mut passed) = (date.year(), date.month(), !0 << date.day() << 1);
        loop {
            let matching = self.year_from(year).filter(|found| *found <= end)?;
            if matching != year {
                (year, month, passed) = (matching, 1, !0);
            }
            let rest = self.months & (!0 << month);
            if rest == 0 {
                (year, month, passed) = (year + 1, 1, !0);
                continue;
            }
            if rest.trailing_zeros() != month {
                (month, passed) = (rest.trailing_zeros(), !0);
            }
            let days = self.days.of_month(year, month) & passed;
            if days != 0 {
                let found = NaiveDate::from_ymd_opt(year, month, days.trailing_zeros())?;
                return Some(i64::from(found.num_days_from_ce()) - EPOCH_DAYS);
            }
            (month, passed) = (month + 1, !0);
        }
    }

    fn year_from(&self, from: i32) -> Option<i32> {
        let from = u16::try_from(from.max(1)).ok()?;
        match &self.years {
            None => (from <= LAST_YEAR).then_some(from.into()),
            Some(years) => years.iter().filter_map(|years| years.from(from)).min().map(i32::from),
        }
    }
}

impl Years {
    fn from(self, from: u16) -> Option<u16> {
        let steps = from.saturating_sub(self.first).div_ceil(self.step);
        let year = self.first.checked_add(steps.checked_mul(self.step)?)?;
        (year <= self.last).then_some(year)
    }
}

fn date(day: i64) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(i32::try_from(day + EPOCH_DAYS).ok()?)
}

/// The first and the last value of a field, and the shortest distance between two of them; longer than
/// any other if there is but one.
fn spread(bits: u64, count: i64) -> (i64, i64, i64) {
    let values = || (0..count).filter(|value| bits >> value & 1 == 1);
    let gaps = values().zip(values().skip(1)).map(|(one, next)| next - one);
    (values().next().unwrap_or(0), values().next_back().unwrap_or(0), gaps.min().unwrap_or(DAY))
}

fn bits(field: Field, items: &Items) -> u64 {
    items.iter().flat_map(|item| item.values(field)).fold(0, |bits, value| bits | 1 << value)
}

/// The lowest set bit at or above `from`.
fn lowest(bits: u64, from: i64) -> Option<i64> {
    let rest = bits & (!0_u64).checked_shl(u32::try_from(from).ok()?)?;
    (rest != 0).then(|| rest.trailing_zeros().into())
}

fn years(items: &Items) -> Option<Arc<[Years]>> {
    if items.contains(&Item::Every) {
        return None;
    }
    let years = items.iter().map(|item| match *item {
        Item::Range(first, last) => Years { first, last, step: 1 },
        Item::Steps { first, last, step } => Years { first, last, step },
        Item::Value(year) => Years { first: year, last: year, step: 1 },
        other => unreachable!("the grammar of years has no {other:?}"),
    });
    Some(years.collect())
}
