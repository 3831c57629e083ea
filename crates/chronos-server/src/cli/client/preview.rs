//! `chronos preview`: the next runs of a job as it stands, with what moves or stops them.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use serde_json::Value;

use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();
const NOTE: Style = AnsiColor::Yellow.on_default();

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES,
    before_help = "Examples:
  chronos preview report
  chronos preview report -n 30 --json"
)]
pub(in crate::cli) struct Preview {
    #[command(flatten)]
    ask: Ask,
    /// The job's name or id
    job: String,
    /// How many runs to show, at most 100
    #[arg(short, value_name = "N", default_value = "10", value_parser = args::few)]
    n: usize,
}

pub(in crate::cli) fn preview(args: Preview, out: &mut dyn Write) -> Result<(), Error> {
    let Preview { ask, job, n } = args;
    let told = ask.daemon(async |mut daemon| {
        let job = super::job::get(&mut daemon, job).await?.id;
        daemon.rest.get(&format!("/jobs/{job}/preview?count={n}")).await
    })?;
    if ask.json { write_json(&told, out) } else { write(&told, n, out) }
}

fn write(told: &Value, asked: usize, out: &mut dyn Write) -> Result<(), Error> {
    let description = on_one_line(told["description"].as_str().unwrap_or_default());
    writeln!(out, "{STRONG}{description}{STRONG:#}\n")?;
    let runs = told["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    if runs.is_empty() {
        writeln!(out, "It has no run to come.")?;
        return Ok(());
    }
    let clock = WallClock::of_the_reader();
    let at = |run: &Value, field: &str| {
        let at = run[field].as_str().and_then(Timestamp::parse);
        at.map(|at| clock.brief(at))
    };
    let begins = |run: &Value| match at(run, "effective") {
        None => "not at all".into(),
        Some(begins) if Some(&begins) == at(run, "nominal").as_ref() => String::new(),
        Some(begins) => begins,
    };
    let reasons = |run: &Value| {
        let reasons = run["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
        let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
        reasons.join("; ")
    };
    let cells = |cell: &dyn Fn(&Value) -> String| runs.iter().map(cell).collect();
    let slots = cells(&|run| at(run, "nominal").unwrap_or_default());
    let columns = vec![
        Column::new("Slot", |_| STRONG, slots),
        Column::new("Begins", |_| Style::new(), cells(&begins)),
        Column::new("Why", |_| NOTE, cells(&reasons)),
    ];
    table::write(columns, out)?;
    if runs.len() < asked {
        writeln!(out, "\nThere is no run after these.")?;
    }
    Ok(())
}
