//! `chronos next`: the coming runs of a schedule, from the planner that would fire them.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use chrono_tz::Tz;
use chronos_core::plan::{PreviewRun, preview};
use chronos_core::schedule::Zone;
use chronos_core::{Job, JobId, JobSpec, Schedule, Timestamp};
use clap::ArgGroup;
use serde::Serialize;

use super::table::{self, Column};
use super::wall_clock::{Precision, WallClock};
use super::{Error, args, span, write_json};

const PLAIN: Style = Style::new();
const QUIET: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();
const NOTE: Style = AnsiColor::Yellow.on_default();

#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("schedule").required(true).args(["expr", "every"]),
    after_help = "Examples:
  chronos next '0 9 * * 1-5' --tz Europe/Berlin
  chronos next @hourly -n 3 --jitter 60 --json
  chronos next --every 5m --from 2026-12-01T09:00:00Z"
)]
pub(super) struct Args {
    /// A cron expression of 5, 6 (second first) or 7 fields (year last), or @daily and its like
    expr: Option<String>,
    /// Run at this distance instead, counted from --from
    #[arg(long, value_name = "SPAN", value_parser = args::every, allow_negative_numbers = true)]
    every: Option<Duration>,
    /// The time zone whose clocks the expression is read by
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = args::zone)]
    tz: Zone,
    /// Show the runs after this instant, in RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = args::instant)]
    from: Option<Timestamp>,
    /// How many runs to show, at most 1000
    #[arg(
        short,
        value_name = "N",
        default_value = "5",
        value_parser = args::count,
        allow_negative_numbers = true
    )]
    n: usize,
    /// Spread the start of each run over this window
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "0",
        hide_default_value = true,
        value_parser = args::span,
        allow_negative_numbers = true
    )]
    jitter: Duration,
    /// Print JSON, with instants in UTC
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    description: String,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    nominal: Timestamp,
    effective: Option<Timestamp>,
    reasons: Vec<String>,
}

pub(super) fn run(args: &Args, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    // Nobody types fractions of a second, so none are shown unless --from has them.
    let from = args.from.unwrap_or(Timestamp::from_secs(now.as_secs()));
    let (field, schedule) = match (&args.expr, args.every) {
        (Some(expr), _) => ("EXPR", Schedule::cron(expr, args.tz)),
        (None, every) => ("--every", Schedule::interval(every.unwrap_or_default(), from)),
    };
    let planned = schedule.and_then(|schedule| {
        let mut spec = JobSpec::new(JobId::from_bytes([0; 16]), "next", schedule, from);
        spec.jitter = args.jitter;
        Job::new(spec, from)
    });
    let job = planned.map_err(|error| Error::input(field, &error))?;
    let runs = preview(&job, None, args.n);
    let description = job.spec.schedule.describe();
    if args.json {
        let runs = runs.into_iter().map(Run::from).collect();
        return write_json(&Answer { description, runs }, out);
    }
    write_text(args, &description, from, &runs, out)
}

impl From<PreviewRun> for Run {
    fn from(run: PreviewRun) -> Self {
        let reasons = run.reasons.iter().map(ToString::to_string).collect();
        Self { nominal: run.nominal, effective: run.effective, reasons }
    }
}

fn write_text(
    args: &Args,
    description: &str,
    from: Timestamp,
    runs: &[PreviewRun],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let clock = WallClock::of(args.tz);
    writeln!(out, "{STRONG}{description}{STRONG:#}")?;
    let after = if args.from.is_some() { "after" } else { "from now," };
    let runs_after = if args.n == 1 { "Next run".into() } else { format!("Next {} runs", args.n) };
    let start = clock.date_and_time(from, Precision::of([from]));
    writeln!(out, "{QUIET}{runs_after} {after} {start}{QUIET:#}\n")?;
    table::write(columns(&clock, from, runs), out)?;
    if !args.jitter.is_zero() {
        writeln!(out, "\n{QUIET}Jitter depends on the job: a saved job gets its own.{QUIET:#}")?;
    }
    if let Some(last) = runs.last().filter(|_| runs.len() < args.n) {
        let (shown, last) = (runs.len(), last.nominal);
        writeln!(out, "\nOnly {shown} of {}: the schedule has no run after {last}.", args.n)?;
    }
    Ok(())
}

fn columns(clock: &WallClock, from: Timestamp, runs: &[PreviewRun]) -> Vec<Column> {
    let column = |title: &str, style: fn(&str) -> Style, cell: &dyn Fn(&PreviewRun) -> String| {
        Column { title: title.into(), cells: runs.iter().map(cell).collect(), style }
    };
    let nominal = Precision::of(runs.iter().map(|run| run.nominal));
    let effective = Precision::of(runs.iter().filter_map(|run| run.effective));
    let number_width = runs.len().to_string().len();
    let numbers = Column {
        title: format!("{:>number_width$}", "#"),
        cells: (1..=runs.len()).map(|number| format!("{number:>number_width$}")).collect(),
        style: |_| QUIET,
    };
    vec![
        numbers,
        column(clock.tz.name(), |_| STRONG, &|run| clock.date_and_time(run.nominal, nominal)),
        // In UTC the column before says the same.
        column("UTC", |_| PLAIN, &|run| match clock.tz {
            Tz::UTC => String::new(),
            _ => run.nominal.to_string(),
        }),
        column("When", |_| PLAIN, &|run| span::until(run.nominal, from)),
        column("Starts", |_| STRONG, &|run| match run.effective {
            None => "skipped".into(),
            Some(start) if start == run.nominal => String::new(),
            Some(start) => clock.time(start, run.nominal, effective),
        }),
        column("Notes", |_| NOTE, &|run| {
            let reasons: Vec<String> = run.reasons.iter().map(ToString::to_string).collect();
            reasons.join(", ")
        }),
    ]
}
