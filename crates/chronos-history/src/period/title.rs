//! Titles of periods, as people say them.

use chrono::{Datelike, Days, NaiveDate, Timelike};

use super::{Level, Period};

impl Period {
    /// Its name for people, such as "Sunday, 15 November 2026".
    #[must_use]
    pub fn title(self) -> String {
        let start = self.start.to_datetime();
        let date = start.date_naive();
        match self.level {
            Level::Hour => {
                let hour = start.hour();
                format!("{}, {hour:02}:00–{:02}:00 UTC", day(date), hour + 1)
            }
            Level::Day => day(date),
            Level::Week => {
                let week = date.iso_week();
                let days = days_of_week(date);
                format!("Week {} of {} ({days})", week.week(), week.year())
            }
            Level::Month => format!("{} {}", month(date), date.year()),
            Level::Year => date.year().to_string(),
        }
    }
}

fn day(date: NaiveDate) -> String {
    let weekday = date.format("%A");
    format!("{weekday}, {} {} {}", date.day(), month(date), date.year())
}

/// The days of a week, each part said only once: "9–15 November", "26 October – 1 November".
fn days_of_week(monday: NaiveDate) -> String {
    let sunday = monday + Days::new(6);
    let (first, last) = (monday.day(), sunday.day());
    let (from, to) = (month(monday), month(sunday));
    if monday.year() != sunday.year() {
        let (old, new) = (monday.year(), sunday.year());
        format!("{first} {from} {old} – {last} {to} {new}")
    } else if monday.month() != sunday.month() {
        format!("{first} {from} – {last} {to}")
    } else {
        format!("{first}–{last} {to}")
    }
}

fn month(date: NaiveDate) -> String {
    date.format("%B").to_string()
}
