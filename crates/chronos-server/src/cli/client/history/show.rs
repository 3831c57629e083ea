//! `chronos history show`: what the table of contents says of a period.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use chrono::{Datelike, NaiveDate, NaiveDateTime, Weekday};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use chronos_history::{Level, Period};
use serde_json::Value;

use super::super::rest::Rest;
use super::Ask;
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// hour, day, week, month or year
    #[arg(default_value = "day", value_parser = level)]
    level: Level,
    /// Any day of it, such as 2026-11-15; or 2026-11-15T13, 2026-W46, 2026-11, 2026 [default: the latest]
    date: Option<String>,
    /// The zone that times are shown in [default: that of this machine]
    #[arg(long, value_name = "ZONE", value_parser = args::zone)]
    tz: Option<Zone>,
}

fn level(text: &str) -> Result<Level, String> {
    let found = Level::ALL.into_iter().find(|level| level.as_str() == text);
    found.ok_or_else(|| format!("\"{text}\" is not accepted; use hour, day, week, month or year"))
}

pub(super) fn run(
    ask: &Ask,
    args: &Args,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let asked = match &args.date {
        Some(date) => Some(period(args.level, date).ok_or_else(|| {
            Error::Rejected(format!(
                "\"{date}\" names no {}; use a date such as 2026-11-15, or 2026-11-15T13, 2026-W46, 2026-11 or 2026",
                args.level
            ))
        })?),
        None => None,
    };
    let tz = args.tz.map_or_else(|| WallClock::of_the_reader().tz.name(), Zone::name);
    let node = ask.daemon(async |daemon| {
        let id = match asked {
            Some(period) => period.to_string(),
            None => latest(&daemon.rest, args.level, now).await?,
        };
        daemon.rest.get(&format!("/history/toc/{id}?tz={tz}")).await
    })?;
    if ask.json { write_json(&node, out) } else { write(&node, out) }
}

/// The latest period of a level of which something is told.
async fn latest(rest: &Rest, level: Level, now: Timestamp) -> Result<String, Error> {
    let days = match level {
        Level::Hour => 7,
        Level::Day => 366,
        Level::Week => 5_000,
        Level::Month | Level::Year => 20_000,
    };
    let from = now.before(Duration::from_hours(24) * days);
    let list = rest.get(&format!("/history/toc?level={level}&from={from}")).await?;
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let latest = items.last().and_then(|item| item["id"].as_str());
    latest.map(ToOwned::to_owned).ok_or_else(|| {
        Error::NotFound(format!(
            "no {level} is told of yet: an hour is told once it has been over for an hour"
        ))
    })
}

/// The period of a level that a text means: a day in it, or its name.
fn period(level: Level, text: &str) -> Option<Period> {
    if let Ok(period) = text.parse::<Period>() {
        return (period.level() == level).then_some(period);
    }
    let number = |text: &str| text.parse::<i32>().ok();
    let date = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let of_week = || {
        let (year, week) = text.split_once("-W").or_else(|| text.split_once('W'))?;
        NaiveDate::from_isoywd_opt(number(year)?, week.parse().ok()?, Weekday::Mon)
    };
    let of_hour = || {
        let text = text.replace(' ', "T");
        let full = format!("{}:00", text.trim_end_matches(":00"));
        let hour = NaiveDateTime::parse_from_str(&full, "%Y-%m-%dT%H:%M").ok();
        hour.or_else(|| date(&text)?.and_hms_opt(0, 0, 0))
    };
    let instant = match level {
        Level::Hour => return Some(Period::containing(level, of_hour()?.and_utc().into())),
        Level::Day => date(text),
        Level::Week => of_week().or_else(|| date(text)),
        Level::Month => date(&format!("{text}-01")).or_else(|| date(text)),
        Level::Year => {
            let year = number(text).filter(|_| text.len() == 4);
            year.and_then(|year| NaiveDate::from_ymd_opt(year, 1, 1)).or_else(|| date(text))
        }
    }?;
    let known = (1..=9999).contains(&instant.year());
    let midnight = instant.and_hms_opt(0, 0, 0)?.and_utc();
    known.then(|| Period::containing(level, midnight.into()))
}

fn write(node: &Value, out: &mut dyn Write) -> Result<(), Error> {
    let text = |field: &str| on_one_line(node[field].as_str().unwrap_or_default()).to_string();
    let phase = text("phase");
    let style = if phase == "final" { FAINT } else { AnsiColor::Yellow.on_default() };
    writeln!(out, "{STRONG}{}{STRONG:#}  {style}{phase}{style:#}", text("title"))?;
    let (from, to) = (clock(&node["local_start"]), clock(&node["local_end"]));
    writeln!(out, "{FAINT}{}  {from} – {to} {}{FAINT:#}\n", text("id"), text("timezone"))?;
    for bullet in items(&node["bullets"]) {
        writeln!(out, "  • {}", on_one_line(bullet["text"].as_str().unwrap_or_default()))?;
    }
    writeln!(out)?;
    table::write_details(&figures(&node["figures"]), out)?;
    let failing = items(&node["most_failing"]);
    if !failing.is_empty() {
        writeln!(out)?;
        let cells = |field: &str| failing.iter().map(|job| told(&job[field])).collect();
        table::write(
            vec![
                Column::new("Failing job", |_| STRONG, cells("name")),
                Column::new("Failed", |_| AnsiColor::Red.on_default(), cells("failures")).right(),
                Column::new("Attempts", plain, cells("attempts")).right(),
                Column::new("Id", |_| FAINT, cells("job_id")),
            ],
            out,
        )?;
    }
    let children = items(&node["children"]);
    if !children.is_empty() {
        writeln!(out)?;
        table::write(of_children(children), out)?;
    }
    Ok(())
}

fn plain(_: &str) -> Style {
    Style::new()
}

fn of_children(children: &[Value]) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Value) -> String| children.iter().map(cell).collect();
    let failed = |child: &Value| {
        let endings = &child["endings"];
        let count = |field: &str| endings[field].as_u64().unwrap_or_default();
        match count("failed") + count("timed_out") + count("stuck") {
            0 => String::new(),
            failed => failed.to_string(),
        }
    };
    vec![
        Column::new("Period", |_| STRONG, cells(&|child| told(&child["title"]))),
        Column::new("From", plain, cells(&|child| clock(&child["local_start"]))),
        Column::new("Runs", plain, cells(&|child| told(&child["endings"]["total"]))).right(),
        Column::new("Failed", |_| AnsiColor::Red.on_default(), cells(&failed)).right(),
        Column::new("Skipped", plain, cells(&|child| told(&child["skipped"]))).right(),
        Column::new("", plain, cells(&|child| told(&child["phase"]))),
    ]
}

fn figures(figures: &Value) -> Vec<(&'static str, String)> {
    let endings = &figures["endings"];
    let counted = ["success", "failed", "timed_out", "stuck", "cancelled"].into_iter();
    let counted = counted.filter(|kind| endings[*kind].as_u64().is_some_and(|count| count > 0));
    let parts: Vec<String> =
        counted.map(|kind| format!("{} {}", endings[kind], kind.replace('_', " "))).collect();
    let runs = match parts.as_slice() {
        [] => "0".to_owned(),
        parts => format!("{} ({})", endings["total"], parts.join(", ")),
    };
    let skips = figures["skips"].as_object().into_iter().flatten();
    let skips: Vec<String> =
        skips.map(|(reason, slots)| format!("{slots} {}", reason.replace('_', " "))).collect();
    vec![
        ("runs", runs),
        ("retries", told(&figures["retries"])),
        ("skipped", skips.join(", ")),
        ("took", spread(&figures["durations"])),
        ("began late by", spread(&figures["lags"])),
    ]
}

/// "p50 1.2 s, p95 4 s, p99 9 s, at most 12 s".
fn spread(of: &Value) -> String {
    let part = |name: &str, field: &str| {
        let took = of[field].as_f64().map(|millis| Duration::from_secs_f64(millis / 1_000.0));
        took.map(|took| format!("{name} {}", crate::cli::span::took(took)))
    };
    let parts = [("p50", "p50_ms"), ("p95", "p95_ms"), ("p99", "p99_ms"), ("at most", "max_ms")];
    let parts: Vec<String> =
        parts.into_iter().filter_map(|(name, field)| part(name, field)).collect();
    parts.join(", ")
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn told(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => on_one_line(text).to_string(),
        other => other.to_string(),
    }
}

/// A local time without its seconds and its offset.
fn clock(local: &Value) -> String {
    let text = local.as_str().unwrap_or_default();
    text.get(..16).unwrap_or(text).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_named_by_a_day_in_it_or_by_itself() {
        for (level, text, id) in [
            (Level::Day, "2026-11-15", Some("toc:day:2026-11-15")),
            (Level::Day, "2026-02-29", None),
            (Level::Day, "2028-02-29", Some("toc:day:2028-02-29")),
            (Level::Week, "2026-W46", Some("toc:week:2026:W46")),
            (Level::Week, "2026-W54", None),
            (Level::Week, "2021-01-01", Some("toc:week:2020:W53")),
            (Level::Month, "2026-11", Some("toc:month:2026-11")),
            (Level::Month, "2026-11-30", Some("toc:month:2026-11")),
            (Level::Year, "2026", Some("toc:year:2026")),
            (Level::Year, "26", None),
            (Level::Hour, "2026-11-15T13", Some("toc:hour:2026-11-15T13")),
            (Level::Hour, "2026-11-15 13:00", Some("toc:hour:2026-11-15T13")),
            (Level::Hour, "2026-11-15T24", None),
            (Level::Week, "toc:week:2026:W46", Some("toc:week:2026:W46")),
            (Level::Day, "toc:week:2026:W46", None),
            (Level::Day, "yesterday", None),
        ] {
            let found = period(level, text).map(|period| period.to_string());
            assert_eq!(found.as_deref(), id, "{level} {text}");
        }
    }
}
