//! What an edit would change about the runs to come, for people.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use serde_json::Value;

use super::super::Ask;
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::{Precision, WallClock};
use crate::cli::{Error, write_json};
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();
/// Runs of each kind that are shown; `--json` has more of them.
const SHOWN: usize = 10;

pub(super) fn write(ask: &Ask, told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    if ask.json {
        return write_json(told, out);
    }
    let summary = on_one_line(told["summary"].as_str().unwrap_or_default());
    writeln!(out, "Nothing was changed. The edit {STRONG}{summary}{STRONG:#}")?;
    let clock = WallClock::of_the_reader();
    let mut rows: Vec<[String; 3]> = Vec::new();
    for kind in ["added", "removed", "moved"] {
        let runs = told[kind].as_array().map(Vec::as_slice).unwrap_or_default();
        rows.extend(runs.iter().take(SHOWN).map(|run| row(kind, run, &clock)));
        let more = told["counts"][kind].as_u64().unwrap_or(0).saturating_sub(SHOWN as u64);
        if more > 0 {
            rows.push([kind.into(), format!("and {more} more"), String::new()]);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let cells = |place: usize| rows.iter().map(|row| row[place].clone()).collect();
    let columns = vec![
        Column::new("Run", style, cells(0)),
        Column::new(clock.tz.name(), |_| Style::new(), cells(1)),
        Column::new("Notes", |_| Style::new(), cells(2)),
    ];
    table::write(columns, out)?;
    Ok(())
}

fn style(kind: &str) -> Style {
    match kind {
        "added" => AnsiColor::Green.on_default(),
        "removed" => AnsiColor::Red.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

fn row(kind: &str, run: &Value, clock: &WallClock) -> [String; 3] {
    let instant = |field: &str| run[field].as_str().and_then(Timestamp::parse);
    let shown = |at: Timestamp| clock.date_and_time(at, Precision::of([at]));
    let effective = instant("effective").map(shown).unwrap_or_default();
    let when = match instant("from") {
        Some(from) => format!("{} → {effective}", shown(from)),
        None => effective,
    };
    let reasons = run["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
    let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
    [kind.into(), when, reasons.join(", ")]
}
