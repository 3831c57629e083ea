//! The grammar of cron expressions: text in, the items of its seven fields out.

use smallvec::SmallVec;

use super::error::{CronError, Field, Problem};

/// The longest text that is read at all; the longest sensible expression is far shorter.
pub const MAX_BYTES: usize = 256;

const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// One part of a field, between commas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// `*`, `?` or `*/1`.
    Every,
    /// `5`
    Value(u16),
    /// `1-5`
    Range(u16, u16),
    /// `*/2`, `5/2` or `1-5/2`: two values at least, so that `*/24` hours are midnight, a `Value`.
    Steps { first: u16, last: u16, step: u16 },
    /// `L` as a day of the month.
    LastDay,
    /// `LW`: the last day from Monday to Friday.
    LastWeekday,
    /// `15W`: the day from Monday to Friday nearest the 15th, within the month.
    Nearest(u16),
    /// `5#2` or `1-5#2`.
    Nth { first: u16, last: u16, nth: u16 },
    /// `5L`, `5#L` or `1-5#L`.
    LastOf { first: u16, last: u16 },
}

pub(super) type Items = SmallVec<[Item; 3]>;

/// An expression taken apart, every field known to be sound by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Syntax {
    pub(super) second: Items,
    pub(super) minute: Items,
    pub(super) hour: Items,
    pub(super) day_of_month: Items,
    pub(super) month: Items,
    pub(super) day_of_week: Items,
    pub(super) year: Items,
    /// `+` before the day of the week: both day fields must match.
    pub(super) both_days: bool,
}

impl Item {
    /// The plain values of the item, none for those that depend on the month.
    pub(super) fn values(self, field: Field) -> impl Iterator<Item = u16> {
        let (min, max) = field.bounds();
        let (first, last, step) = match self {
            Self::Every => (min, max, 1),
            Self::Value(value) => (value, value, 1),
            Self::Range(first, last) => (first, last, 1),
            Self::Steps { first, last, step } => (first, last, step),
            Self::LastDay
            | Self::LastWeekday
            | Self::Nearest(_)
            | Self::Nth { .. }
            | Self::LastOf { .. } => (1, 0, 1),
        };
        (first..=last).step_by(step.into())
    }
}

impl Syntax {
    pub(super) fn read(expression: &str) -> Result<Self, CronError> {
        if expression.len() > MAX_BYTES {
            return Err(CronError::TooLong { bytes: expression.len() });
        }
        let plain = without_nickname(expression.trim_ascii())?;
        let texts: SmallVec<[&str; 8]> = plain.split_ascii_whitespace().collect();
        let [second, minute, hour, day_of_month, month, day_of_week, year] = match texts[..] {
            [] => return Err(CronError::Empty),
            [minute, hour, day, month, weekday] => ["0", minute, hour, day, month, weekday, "*"],
            [second, minute, hour, day, month, weekday] => {
                [second, minute, hour, day, month, weekday, "*"]
            }
            [second, minute, hour, day, month, weekday, year] => {
                [second, minute, hour, day, month, weekday, year]
            }
            _ => {
                let (expression, count) = (expression.into(), texts.len());
                return Err(CronError::FieldCount { expression, count });
            }
        };
        let both_days = day_of_week.len() > 1 && day_of_week.starts_with('+');
        let day_of_week = &day_of_week[usize::from(both_days)..];
        Ok(Self {
            second: field(Field::Second, second)?,
            minute: field(Field::Minute, minute)?,
            hour: field(Field::Hour, hour)?,
            day_of_month: field(Field::DayOfMonth, day_of_month)?,
            month: field(Field::Month, month)?,
            day_of_week: field(Field::DayOfWeek, day_of_week)?,
            year: field(Field::Year, year)?,
            both_days,
        })
    }
}

/// The expression as croner reads it: it knows fewer nicknames, and no year after 5000.
///
/// The year is left to us: croner marks every year of a `*` one by one, which takes longer than all
/// the rest.
pub(super) fn for_croner(expression: &str) -> Result<String, CronError> {
    let fields: SmallVec<[&str; 6]> =
        without_nickname(expression)?.split_ascii_whitespace().take(6).collect();
    let second = if fields.len() < 6 { "0 " } else { "" };
    Ok(format!("{second}{} 2000", fields.join(" ")))
}

fn without_nickname(expression: &str) -> Result<&str, CronError> {
    if !expression.starts_with('@') {
        return Ok(expression);
    }
    if expression.eq_ignore_ascii_case("@reboot") {
        return Err(CronError::Reboot);
    }
    NICKNAMES
        .iter()
        .find(|(nickname, _)| expression.eq_ignore_ascii_case(nickname))
        .map(|(_, plain)| *plain)
        .ok_or_else(|| CronError::UnknownNickname { nickname: expression.into() })
}

fn field(field: Field, text: &str) -> Result<Items, CronError> {
    let days = matches!(field, Field::DayOfMonth | Field::DayOfWeek);
    if text == "*" || (text == "?" && days) {
        return Ok(SmallVec::from_slice(&[Item::Every]));
    }
    text.split(',')
        .map(|part| {
            item(field, &part.to_ascii_uppercase()).map_err(|problem| {
                // An empty part says nothing, so the whole field is quoted instead.
                let text = if part.is_empty() { text } else { part };
                CronError::Field { field, text: text.into(), problem }
            })
        })
        .collect()
}

fn item(field: Field, text: &str) -> Result<Item, Problem> {
    if text.is_empty() {
        return Err(Problem::EmptyItem);
    }
    if let Some((range, step)) = text.split_once('/') {
        return steps(field, range, step);
    }
    match field {
        Field::DayOfMonth => day_of_month(text),
        Field::DayOfWeek => day_of_week(text),
        Field::Second | Field::Minute | Field::Hour | Field::Month | Field::Year => {
            value_or_range(field, text)
        }
    }
}

fn steps(field: Field, range: &str, step: &str) -> Result<Item, Problem> {
    let (min, max) = field.bounds();
    let (first, last) = match range {
        "*" => (min, max),
        _ => match value_or_range(field, range)? {
            Item::Range(first, last) => (first, last),
            Item::Value(first) => (first, max),
            _ => return Err(Problem::NotUnderstood),
        },
    };
    let step = number(step)?;
    // Weekdays are eight numbers for seven days; a step of eight would be a slip of the finger.
    let most = if field == Field::DayOfWeek { 7 } else { max - min + 1 };
    match step {
        0 => Err(Problem::Step),
        _ if step > most => Err(Problem::Step),
        1 if range == "*" => Ok(Item::Every),
        _ if last - first < step => Ok(Item::Value(first)),
        _ => Ok(Item::Steps { first, last, step }),
    }
}

fn day_of_month(text: &str) -> Result<Item, Problem> {
    match (text, text.strip_suffix('W')) {
        ("L", _) => Ok(Item::LastDay),
        ("LW", _) => Ok(Item::LastWeekday),
        (_, Some(day)) => value(Field::DayOfMonth, day).map(Item::Nearest),
        _ => value_or_range(Field::DayOfMonth, text),
    }
}

fn day_of_week(text: &str) -> Result<Item, Problem> {
    let (days, nth) = match (text.split_once('#'), text.strip_suffix('L')) {
        (Some((days, nth)), _) => (days, nth),
        // A bare `L` means Saturday to some and the last of something to others: to us, nothing.
        (None, Some(day)) => return value(Field::DayOfWeek, day).map(|d| last_of(d, d)),
        (None, None) => return value_or_range(Field::DayOfWeek, text),
    };
    let (first, last) = match value_or_range(Field::DayOfWeek, days)? {
        Item::Range(first, last) => (first, last),
        Item::Value(day) => (day, day),
        _ => return Err(Problem::NotUnderstood),
    };
    match nth {
        "L" => Ok(last_of(first, last)),
        _ => match number(nth)? {
            nth @ 1..=5 => Ok(Item::Nth { first, last, nth }),
            _ => Err(Problem::OutOfRange),
        },
    }
}

const fn last_of(first: u16, last: u16) -> Item {
    Item::LastOf { first, last }
}

fn value_or_range(field: Field, text: &str) -> Result<Item, Problem> {
    let Some((first, last)) = text.split_once('-') else {
        return value(field, text).map(Item::Value);
    };
    let first = value(field, first)?;
    // Sunday ends a week as well as it begins one: MON-SUN is 1-7.
    let last = if field == Field::DayOfWeek && last == "SUN" { 7 } else { value(field, last)? };
    if first > last { Err(Problem::Backwards) } else { Ok(Item::Range(first, last)) }
}

fn value(field: Field, text: &str) -> Result<u16, Problem> {
    let place = |names: &[&str]| names.iter().position(|name| *name == text);
    let named = match field {
        Field::Month => place(&MONTHS).map(|place| place + 1),
        Field::DayOfWeek => place(&WEEKDAYS),
        Field::Second | Field::Minute | Field::Hour | Field::DayOfMonth | Field::Year => None,
    };
    let value = match named.and_then(|place| u16::try_from(place).ok()) {
        Some(value) => value,
        None => number(text)?,
    };
    let (min, max) = field.bounds();
    if (min..=max).contains(&value) { Ok(value) } else { Err(Problem::OutOfRange) }
}

fn number(text: &str) -> Result<u16, Problem> {
    // The standard parser also takes a sign, which has no meaning here.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::NotUnderstood);
    }
    text.parse().map_err(|_| Problem::OutOfRange)
}
