//! What quiet hours are made of, as flags and as text.

use chrono::Weekday;
use chronos_core::policy::quiet_hours::{Date, WeekdaySet, Window};
use chronos_core::schedule::Zone;
use serde_json::{Map, Value, json};

use crate::cli::args;

const MODES: [&str; 2] = ["skip", "defer"];

#[derive(Debug, clap::Args)]
pub(super) struct Flags {
    /// When it is quiet, such as 'mon-fri 22:00-07:00', 'sat,sun 00:00-24:00' or '12:00-13:00'; may come
    /// several times, and takes the place of all windows that there were
    #[arg(long, value_name = "WINDOW", value_parser = window)]
    window: Vec<Window>,
    /// A date that is quiet all day
    #[arg(long, value_name = "DATE", value_parser = date)]
    quiet_on: Vec<String>,
    /// A date on which no window starts
    #[arg(long, value_name = "DATE", value_parser = date)]
    open_on: Vec<String>,
    /// The time zone whose clocks windows and dates are read on [default: the daemon's]
    #[arg(long, value_name = "ZONE", value_parser = args::zone)]
    tz: Option<Zone>,
    /// What happens to slots: skip them, or defer the first to the end [default: skip]
    #[arg(long, value_name = "MODE", value_parser = MODES)]
    mode: Option<String>,
}

impl Flags {
    /// What the flags change about a policy; some of its dates are to be as their weekdays say.
    pub(super) fn changes(self, before: &Value, usual_on: &[String]) -> Map<String, Value> {
        let mut body = Map::new();
        if !self.window.is_empty() {
            let windows: Vec<Value> = self.window.into_iter().map(to_json).collect();
            body.insert("windows".into(), windows.into());
        }
        if !(self.quiet_on.is_empty() && self.open_on.is_empty() && usual_on.is_empty()) {
            let known = before["exceptions"].as_array().cloned().unwrap_or_default();
            let mut dates: Vec<Value> = known
                .into_iter()
                .filter(|known| {
                    let said = [&self.quiet_on, &self.open_on].into_iter().flatten();
                    !said.chain(usual_on).any(|date| known["date"] == date.as_str())
                })
                .collect();
            for (said, quiet) in [(&self.quiet_on, true), (&self.open_on, false)] {
                dates.extend(said.iter().map(|date| json!({"date": date, "quiet": quiet})));
            }
            body.insert("exceptions".into(), dates.into());
        }
        if let Some(zone) = self.tz {
            body.insert("timezone".into(), zone.name().into());
        }
        if let Some(mode) = self.mode {
            body.insert("mode".into(), mode.into());
        }
        body
    }
}

fn to_json(window: Window) -> Value {
    let days: Vec<&str> = window.days().names().collect();
    json!({"days": days, "start": window.start(), "end": window.end()})
}

pub(super) fn date(text: &str) -> Result<String, String> {
    let date = Date::parse(text).map(|date| date.to_string());
    date.ok_or_else(|| format!("\"{text}\" is no date; use one such as 2026-12-24"))
}

/// `DAYS HH:MM-HH:MM`, where the days may be left out.
fn window(text: &str) -> Result<Window, String> {
    let refused = || {
        format!("\"{text}\" is no window; use one such as 'mon-fri 22:00-07:00' or '12:00-13:00'")
    };
    let (days, span) = text.trim().rsplit_once(' ').unwrap_or(("daily", text.trim()));
    let (start, end) = span.split_once('-').ok_or_else(refused)?;
    let mut set = Vec::new();
    for part in days.split(',').map(str::trim) {
        set.extend(weekdays(part).ok_or_else(refused)?);
    }
    Window::new(WeekdaySet::of(&set), start, end).map_err(|error| error.to_string())
}

/// A weekday, or all from one to another.
fn weekdays(text: &str) -> Option<Vec<Weekday>> {
    if text == "daily" {
        return weekdays("mon-sun");
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (Weekday, Weekday) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let mut days = vec![first];
    while let Some(day) = days.last().copied().filter(|day| *day != last) {
        days.push(day.succ());
    }
    Some(days)
}

/// The windows of a policy in a few words.
pub(super) fn windows(policy: &Value) -> String {
    let windows = policy["windows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = |window: &Value| {
        let days = window["days"].as_array().map(Vec::as_slice).unwrap_or_default();
        let days = WeekdaySet::parse(days.iter().filter_map(Value::as_str)).ok()?;
        Window::new(days, window["start"].as_str()?, window["end"].as_str()?).ok()
    };
    let said: Vec<String> = windows.iter().filter_map(said).map(|it| it.to_string()).collect();
    said.join(", ")
}

/// The dates of a policy that are quiet, or open.
pub(super) fn dates(policy: &Value, quiet: bool) -> String {
    let dates = policy["exceptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let dates = dates.iter().filter(|date| date["quiet"] == quiet);
    let dates: Vec<&str> = dates.filter_map(|date| date["date"].as_str()).collect();
    dates.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_as_they_are_shown() {
        for (text, shown) in [
            ("mon-fri 22:00-07:00", "mon-fri 22:00-07:00"),
            ("12:00-13:00", "daily 12:00-13:00"),
            ("sat,sun 00:00-24:00", "sat,sun 00:00-24:00"),
            ("Friday-Monday 01:00-02:00", "mon,fri,sat,sun 01:00-02:00"),
            ("mon, wed-thu 01:00-02:00", "mon,wed,thu 01:00-02:00"),
        ] {
            assert_eq!(window(text).unwrap().to_string(), shown);
            assert_eq!(window(shown).unwrap().to_string(), shown);
            assert_eq!(windows(&json!({"windows": [to_json(window(text).unwrap())]})), shown);
        }
        for text in ["", "mon-fri", "someday 01:00-02:00", "01:00", "mon 25:00-26:00", "mon 1-2"] {
            assert!(window(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dates_are_added_changed_and_forgotten() {
        let before = json!({"exceptions": [
            {"date": "2026-01-01", "quiet": true}, {"date": "2026-12-24", "quiet": true},
            {"date": "2026-12-31", "quiet": true},
        ]});
        let flags = Flags {
            window: vec![],
            quiet_on: vec!["2026-12-25".into()],
            open_on: vec!["2026-12-31".into()],
            tz: None,
            mode: None,
        };
        let changes = flags.changes(&before, &["2026-01-01".into()]);
        let expected = json!({"exceptions": [
            {"date": "2026-12-24", "quiet": true}, {"date": "2026-12-25", "quiet": true},
            {"date": "2026-12-31", "quiet": false},
        ]});
        assert_eq!(Value::Object(changes), expected);
    }
}
