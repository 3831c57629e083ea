//! An expression in plain English: its times of day, then its days, months and years.

use super::error::Field;
use super::syntax::{Item, Items, Syntax};

/// More times than this are told as hours and minutes instead of one by one.
const MOST_TIMES: usize = 6;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn describe(syntax: &Syntax) -> String {
    let mut text = times(syntax);
    text.push_str(&dates(syntax));
    text.push_str(&years(&syntax.year));
    text
}

fn times(syntax: &Syntax) -> String {
    let values = |items: &Items, field| -> Option<Vec<u16>> {
        let plain = items.iter().all(|item| matches!(item, Item::Value(_)));
        plain.then(|| sorted(items, field))
    };
    let second = values(&syntax.second, Field::Second);
    let minute = values(&syntax.minute, Field::Minute);
    let hour = values(&syntax.hour, Field::Hour);
    if let (Some(seconds), Some(minutes), Some(hours)) = (&second, &minute, &hour)
        && seconds.len() * minutes.len() * hours.len() <= MOST_TIMES
    {
        return format!("at {}", clock_times(hours, minutes, seconds));
    }
    if let (Some([second]), Some([minute])) = (second.as_deref(), minute.as_deref())
        && let Some(text) = hourly(&syntax.hour, *minute, *second)
    {
        return text;
    }
    if second.as_deref() == Some(&[0]) {
        let of_hours = hours_of(&syntax.hour, is_count(&syntax.minute));
        return format!("{}{of_hours}", lead(&syntax.minute, Field::Minute));
    }
    let counted = is_count(&syntax.second);
    let of_minutes = match syntax.minute[..] {
        [Item::Every] if counted => String::new(),
        [Item::Every] => " of every minute".into(),
        _ => format!(" of {}", numbered(&syntax.minute, Field::Minute)),
    };
    let of_hours =
        hours_of(&syntax.hour, of_minutes.is_empty() || syntax.minute[..] == [Item::Every]);
    format!("{}{of_minutes}{of_hours}", lead(&syntax.second, Field::Second))
}

fn clock_times(hours: &[u16], minutes: &[u16], seconds: &[u16]) -> String {
    let mut times = Vec::new();
    for hour in hours {
        for minute in minutes {
            times.extend(seconds.iter().map(|second| clock(*hour, *minute, *second)));
        }
    }
    join(&times)
}

fn clock(hour: u16, minute: u16, second: u16) -> String {
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

/// One time an hour, over one run of hours: `every 2 hours from 08:30 to 18:30`.
fn hourly(hours: &Items, minute: u16, second: u16) -> Option<String> {
    let [item] = hours[..] else { return None };
    let on_the_hour = minute == 0 && second == 0;
    let (first, last, step) = match item {
        Item::Every if on_the_hour => return Some("every hour".into()),
        Item::Steps { first: 0, last: 23, step } if on_the_hour && 24 % step == 0 => {
            return Some(every(step, "hour"));
        }
        Item::Range(first, last) => (first, last, 1),
        Item::Steps { first, last, step } => (first, last, step),
        _ => return None,
    };
    let last = reached(first, last, step);
    let (first, last) = (clock(first, minute, second), clock(last, minute, second));
    Some(format!("{} from {first} to {last}", every(step, "hour")))
}

/// The finest field, which says how often: `every 15 minutes`, `at minutes 5 and 35`.
fn lead(items: &Items, field: Field) -> String {
    let (min, max) = field.bounds();
    match items[..] {
        [Item::Every] => every(1, &field.to_string()),
        [Item::Steps { first, last, step }]
            if (first, last) == (min, max) && (max + 1) % step == 0 =>
        {
            every(step, &field.to_string())
        }
        [Item::Steps { first, last, step }] => {
            let last = last - (last - first) % step;
            format!("{} from {field} {first} to {last}", every(step, &field.to_string()))
        }
        [Item::Range(first, last)] => {
            format!("{} from {field} {first} to {last}", every(1, &field.to_string()))
        }
        _ => format!("at {}", numbered(items, field)),
    }
}

/// The hours within which a finer field counts.
fn hours_of(items: &Items, counted: bool) -> String {
    match items[..] {
        [Item::Every] if counted => String::new(),
        [Item::Every] => " of every hour".into(),
        [Item::Value(hour)] if counted => format!(" from {hour:02}:00 to {hour:02}:59"),
        [Item::Range(first, last)] if counted => format!(" from {first:02}:00 to {last:02}:59"),
        _ => format!(" of {}", numbered(items, Field::Hour)),
    }
}

/// Whether the field reads as a plain count, `every 15 minutes`, that needs no `of every hour`.
fn is_count(items: &Items) -> bool {
    let full = |first, last, step: u16| first == 0 && last == 59 && 60 % step == 0;
    match items[..] {
        [Item::Every] => true,
        [Item::Steps { first, last, step }] => full(first, last, step),
        _ => false,
    }
}

fn dates(syntax: &Syntax) -> String {
    let month_days = days_of_month(&syntax.day_of_month);
    let weekdays = days_of_week(&syntax.day_of_week);
    let in_months = months(&syntax.month);
    if let ([Item::Value(day)], [Item::Value(month)], None) =
        (&syntax.day_of_month[..], &syntax.month[..], &weekdays)
    {
        return format!(" on {day} {}", MONTHS[usize::from(*month) - 1]);
    }
    let run = matches!(syntax.day_of_week[..], [Item::Range(..)]);
    let days = match (month_days, weekdays) {
        (None, None) => String::new(),
        (Some(days), None) => format!(" on {days}"),
        (None, Some(weekdays)) if run => format!(", {weekdays}"),
        (None, Some(weekdays)) => format!(" on {weekdays}"),
        (Some(days), Some(weekdays)) if syntax.both_days => {
            format!(" on {days} if also on {weekdays}")
        }
        (Some(days), Some(weekdays)) => format!(" on {days} or on {weekdays}"),
    };
    format!("{days}{in_months}")
}

fn days_of_month(items: &Items) -> Option<String> {
    if items[..] == [Item::Every] {
        return None;
    }
    if let [Item::Steps { first, last, step }] = items[..] {
        let (step, last) = (ordinal(step), reached(first, last, step));
        return Some(format!("every {step} day from {first} to {last} of the month"));
    }
    let plain: Items =
        items.iter().copied().filter(|i| i.values(Field::DayOfMonth).next().is_some()).collect();
    let mut parts = match plain[..] {
        [] => Vec::new(),
        [Item::Value(day)] => vec![format!("day {day}")],
        _ => vec![format!("days {}", list(&plain, Field::DayOfMonth))],
    };
    for item in items {
        match item {
            Item::LastDay => parts.push("the last day".into()),
            Item::LastWeekday => parts.push("the last weekday".into()),
            Item::Nearest(day) => parts.push(format!("the weekday nearest day {day}")),
            _ => {}
        }
    }
    Some(format!("{} of the month", join(&parts)))
}

fn days_of_week(items: &Items) -> Option<String> {
    if items[..] == [Item::Every] {
        return None;
    }
    let (mut plain, mut within_month) = (Vec::new(), Vec::new());
    for item in items {
        match *item {
            Item::Range(first, last) => {
                plain.push(format!("{} to {}", weekday(first), weekday(last)));
            }
            Item::Nth { first, last, nth } => {
                let nth = ["first", "second", "third", "fourth", "fifth"][usize::from(nth) - 1];
                within_month
                    .extend((first..=last).map(|day| format!("the {nth} {}", weekday(day))));
            }
            Item::LastOf { first, last } => {
                within_month.extend((first..=last).map(|day| format!("the last {}", weekday(day))));
            }
            _ => plain.extend(item.values(Field::DayOfWeek).map(|day| weekday(day).to_string())),
        }
    }
    let of_the_month = if within_month.is_empty() { "" } else { " of the month" };
    plain.append(&mut within_month);
    // Sunday is 0 and 7, so a list can name it twice; it stays at its first place.
    let mut parts: Vec<String> = Vec::new();
    for part in plain {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Some(format!("{}{of_the_month}", join(&parts)))
}

fn months(items: &Items) -> String {
    let name = |month: u16| MONTHS[usize::from(month) - 1];
    match items[..] {
        [Item::Every] => String::new(),
        [Item::Range(first, last)] => format!(" from {} to {}", name(first), name(last)),
        _ => {
            let names: Vec<_> = sorted(items, Field::Month).into_iter().map(name).collect();
            format!(" in {}", join(&names))
        }
    }
}

fn years(items: &Items) -> String {
    match items[..] {
        [Item::Every] => String::new(),
        [Item::Range(first, last)] => format!(" from {first} to {last}"),
        [Item::Steps { first, last, step }] => {
            let (step, last) = (ordinal(step), reached(first, last, step));
            format!(" in every {step} year from {first} to {last}")
        }
        _ => format!(" in {}", list(items, Field::Year)),
    }
}

fn weekday(day: u16) -> &'static str {
    WEEKDAYS[usize::from(day % 7)]
}

fn every(step: u16, unit: &str) -> String {
    if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") }
}

/// `minute 5`, `minutes 5 and 35`, `every 2nd hour`.
fn numbered(items: &Items, field: Field) -> String {
    let (min, max) = field.bounds();
    match items[..] {
        [Item::Value(value)] => format!("{field} {value}"),
        [Item::Steps { first, last, step }] if (first, last) == (min, max) => {
            format!("every {} {field}", ordinal(step))
        }
        _ => format!("{field}s {}", list(items, field)),
    }
}

/// `1 to 5, 10 and every 2nd from 20 to 30`.
fn list(items: &Items, field: Field) -> String {
    let parts: Vec<_> = items
        .iter()
        .map(|item| match *item {
            Item::Value(value) => value.to_string(),
            Item::Range(first, last) => format!("{first} to {last}"),
            Item::Steps { first, last, step } => {
                let last = reached(first, last, step);
                format!("every {} from {first} to {last}", ordinal(step))
            }
            other => join(&other.values(field).map(|value| value.to_string()).collect::<Vec<_>>()),
        })
        .collect();
    join(&parts)
}

/// The last value that the steps reach.
const fn reached(first: u16, last: u16, step: u16) -> u16 {
    last - (last - first) % step
}

fn sorted(items: &Items, field: Field) -> Vec<u16> {
    let mut values: Vec<u16> = items.iter().flat_map(|item| item.values(field)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn ordinal(number: u16) -> String {
    let ending = match (number % 10, number % 100) {
        (1, n) if n != 11 => "st",
        (2, n) if n != 12 => "nd",
        (3, n) if n != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn join<T: AsRef<str>>(parts: &[T]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts[..] {
        [] => String::new(),
        [only] => only.into(),
        [ref most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
