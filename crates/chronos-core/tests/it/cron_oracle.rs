//! Cron slots found the slow way: every instant is asked whether the rule makes it a slot.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use proptest::prelude::*;

/// An expression and what it means, made together so that neither is read from the other.
#[derive(Debug, Clone)]
pub(crate) struct Generated {
    pub(crate) text: String,
    pub(crate) with_seconds: bool,
    second: Plain,
    minute: Plain,
    hour: Plain,
    month: Plain,
    day_of_month: MonthDay,
    day_of_week: WeekDay,
    both: bool,
}

#[derive(Debug, Clone)]
struct Plain {
    text: String,
    values: Vec<u32>,
    /// Written with `*` or a step, and more than one value.
    counted: bool,
}

#[derive(Debug, Clone)]
enum MonthDay {
    Any,
    Plain(Plain),
    Last,
    LastWeekday,
    Nearest(u32),
}

#[derive(Debug, Clone)]
enum WeekDay {
    Any,
    Plain(Plain),
    Last(u32),
    Nth(u32, u32),
}

impl Generated {
    /// Every slot in `(from, until]`, asked of each instant that is a multiple of `step` seconds.
    pub(crate) fn slots(&self, tz: Tz, from: i64, until: i64) -> Vec<i64> {
        let step = if self.with_seconds { 1 } else { 60 };
        let first = (from + 1).div_euclid(step) * step;
        let instants = (0..).map(|n| first + n * step).take_while(|utc| *utc <= until);
        instants.filter(|utc| *utc > from && self.is_slot(tz, *utc, step)).collect()
    }

    fn is_slot(&self, tz: Tz, utc: i64, step: i64) -> bool {
        let wall = local(tz, utc);
        if self.names(wall) {
            let shown_before = tz.from_local_datetime(&wall).earliest().map(|t| t.timestamp());
            return self.counted() || shown_before == Some(utc);
        }
        if self.counted() {
            return false;
        }
        // Clocks that jumped forward to this instant swallowed the times in between.
        let mut skipped = local(tz, utc - step) + TimeDelta::seconds(step);
        while skipped < wall {
            if self.names(skipped) {
                return true;
            }
            skipped += TimeDelta::seconds(step);
        }
        false
    }

    fn counted(&self) -> bool {
        self.second.counted || self.minute.counted || self.hour.counted
    }

    fn names(&self, wall: NaiveDateTime) -> bool {
        self.second.values.contains(&wall.second())
            && self.minute.values.contains(&wall.minute())
            && self.hour.values.contains(&wall.hour())
            && self.month.values.contains(&wall.month())
            && self.names_day(wall.date())
    }

    fn names_day(&self, date: NaiveDate) -> bool {
        let by_month = self.day_of_month.names(date);
        let by_week = self.day_of_week.names(date);
        match (&self.day_of_month, &self.day_of_week) {
            (MonthDay::Any, _) => by_week,
            (_, WeekDay::Any) => by_month,
            _ if self.both => by_month && by_week,
            _ => by_month || by_week,
        }
    }
}

impl MonthDay {
    fn of(plain: Plain) -> Self {
        if plain.text == "*" { Self::Any } else { Self::Plain(plain) }
    }

    fn text(&self) -> String {
        match self {
            Self::Any => "*".into(),
            Self::Plain(plain) => plain.text.clone(),
            Self::Last => "L".into(),
            Self::LastWeekday => "LW".into(),
            Self::Nearest(day) => format!("{day}W"),
        }
    }

    fn names(&self, date: NaiveDate) -> bool {
        let weekend = |date: NaiveDate| date.weekday().num_days_from_monday() >= 5;
        match self {
            Self::Any => true,
            Self::Plain(plain) => plain.values.contains(&date.day()),
            Self::Last => month_days(date).last() == Some(&date),
            Self::LastWeekday => month_days(date).into_iter().rfind(|d| !weekend(*d)) == Some(date),
            Self::Nearest(day) => {
                let days = month_days(date);
                let Some(wanted) = days.get(*day as usize - 1) else {
                    return false;
                };
                // Ties cannot happen: a weekend is two days long.
                let nearest = days.iter().filter(|d| !weekend(**d));
                nearest.min_by_key(|d| (**d - *wanted).num_days().abs()) == Some(&date)
            }
        }
    }
}

impl WeekDay {
    fn of(plain: Plain) -> Self {
        if plain.text == "*" { Self::Any } else { Self::Plain(plain) }
    }

    fn text(&self) -> String {
        match self {
            Self::Any => "*".into(),
            Self::Plain(plain) => plain.text.clone(),
            Self::Last(day) => format!("{day}L"),
            Self::Nth(day, nth) => format!("{day}#{nth}"),
        }
    }

    fn names(&self, date: NaiveDate) -> bool {
        let same = |day: &u32| day % 7 == date.weekday().num_days_from_sunday();
        match self {
            Self::Any => true,
            Self::Plain(plain) => plain.values.iter().any(same),
            Self::Last(day) => same(day) && (date + TimeDelta::days(7)).month() != date.month(),
            Self::Nth(day, nth) => same(day) && (date.day() - 1) / 7 + 1 == *nth,
        }
    }
}

fn month_days(date: NaiveDate) -> Vec<NaiveDate> {
    let first = date.with_day(1).unwrap_or(date);
    first.iter_days().take_while(|day| day.month() == date.month()).collect()
}

pub(crate) fn local(tz: Tz, utc: i64) -> NaiveDateTime {
    DateTime::from_timestamp(utc, 0).unwrap_or_default().with_timezone(&tz).naive_local()
}

pub(crate) fn offset(tz: Tz, utc: i64) -> i64 {
    let instant = DateTime::from_timestamp(utc, 0).unwrap_or_default().naive_utc();
    tz.offset_from_utc_datetime(&instant).fix().local_minus_utc().into()
}

pub(crate) fn generated() -> impl Strategy<Value = Generated> {
    let second = prop_oneof![3 => Just(None), 1 => plain(0, 59).prop_map(Some)];
    let month_day = prop_oneof![
        6 => Just(MonthDay::Any),
        3 => plain(1, 31).prop_map(MonthDay::of),
        1 => Just(MonthDay::Last),
        1 => Just(MonthDay::LastWeekday),
        1 => (1_u32..=28).prop_map(MonthDay::Nearest),
    ];
    let week_day = prop_oneof![
        6 => Just(WeekDay::Any),
        3 => plain(0, 7).prop_map(WeekDay::of),
        1 => (0_u32..=7).prop_map(WeekDay::Last),
        1 => (0_u32..=7, 1_u32..=5).prop_map(|(day, nth)| WeekDay::Nth(day, nth)),
    ];
    let month = prop_oneof![4 => Just(every(1, 12)), 1 => plain(1, 12)];
    let parts = (second, plain(0, 59), plain(0, 23), month_day, month, week_day, any::<bool>());
    parts.prop_map(|(second, minute, hour, day_of_month, month, day_of_week, both)| {
        let plus = if both { "+" } else { "" };
        let (days, weekdays) = (day_of_month.text(), day_of_week.text());
        let seconds = second.as_ref().map_or(String::new(), |second| format!("{} ", second.text));
        Generated {
            text: format!(
                "{seconds}{} {} {days} {} {plus}{weekdays}",
                minute.text, hour.text, month.text
            ),
            with_seconds: second.is_some(),
            second: second.unwrap_or_else(|| single(0)),
            minute,
            hour,
            month,
            day_of_month,
            day_of_week,
            both,
        }
    })
}

fn plain(min: u32, max: u32) -> impl Strategy<Value = Plain> {
    let value = min..=max;
    prop_oneof![
        2 => Just(every(min, max)),
        2 => value.clone().prop_map(single),
        1 => (value.clone(), value.clone()).prop_map(|(a, b)| {
            let values = vec![a, b];
            Plain { text: format!("{a},{b}"), values, counted: false }
        }),
        1 => (value.clone(), value.clone()).prop_map(|(a, b)| {
            let (a, b) = (a.min(b), a.max(b));
            Plain { text: format!("{a}-{b}"), values: (a..=b).collect(), counted: false }
        }),
        2 => (2..max).prop_map(move |step| stepped("*", min, max, step)),
        1 => (value.clone(), 2..max).prop_map(move |(a, step)| stepped(&a.to_string(), a, max, step)),
        1 => (value.clone(), value, 2..max).prop_map(|(a, b, step)| {
            let (a, b) = (a.min(b), a.max(b));
            stepped(&format!("{a}-{b}"), a, b, step)
        }),
    ]
}

fn every(min: u32, max: u32) -> Plain {
    Plain { text: "*".into(), values: (min..=max).collect(), counted: true }
}

fn single(value: u32) -> Plain {
    Plain { text: value.to_string(), values: vec![value], counted: false }
}

fn stepped(range: &str, first: u32, last: u32, step: u32) -> Plain {
    let values: Vec<u32> = (first..=last).step_by(step as usize).collect();
    let counted = values.len() > 1;
    Plain { text: format!("{range}/{step}"), values, counted }
}
