//! Jobs for people: the table of many, and one in full.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;

use super::super::execution::status_style;
use super::super::notify::Notify;
use super::super::spec::{CatchUp, Overlap, Schedule, Seconds, Spec, Target};
use super::super::time::{duration, instant};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, span};
use crate::proto;
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();

/// When the job runs next: "next run in 4 min (Mon 2026-11-16 09:00 +01:00)".
pub(in crate::cli::client) fn next_run(job: &proto::Job, now: Timestamp) -> String {
    match (instant(job.next_execution_time.as_ref()), &job.paused) {
        (_, Some(_)) => "paused".into(),
        (Some(next), None) => format!("next run {}", clock_of(job).both(next, now)),
        (None, None) => "no further run".into(),
    }
}

/// The clocks that the job itself goes by.
fn clock_of(job: &proto::Job) -> WallClock {
    let schedule = job.spec.as_ref().and_then(|spec| Spec::from(spec).schedule);
    let zone = match schedule {
        Some(Schedule::Cron { timezone, .. }) => Zone::parse(&timezone).ok(),
        _ => None,
    };
    zone.map_or_else(WallClock::of_the_reader, WallClock::of)
}

/// The status, unless a pause says more.
fn status(job: &proto::Job) -> &str {
    match (&job.paused, job.running) {
        (Some(_), 0) => "PAUSED",
        _ => &job.status,
    }
}

pub(super) fn write_table(
    jobs: &[proto::Job],
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&proto::Job) -> String| jobs.iter().map(cell).collect();
    let when = |wire: &Option<prost_types::Timestamp>| {
        instant(wire.as_ref()).map(|at| span::relative(at, now)).unwrap_or_default()
    };
    // Of a paused job the next slot will be skipped, so it is no next run.
    let next = |job: &proto::Job| match &job.paused {
        Some(_) => String::new(),
        None => when(&job.next_execution_time),
    };
    let name = |job: &proto::Job| job.spec.as_ref().map(|spec| spec.name.clone());
    let failed = |job: &proto::Job| match job.failed {
        0 => String::new(),
        failed => failed.to_string(),
    };
    let columns = vec![
        Column::new("Job", |_| STRONG, cells(&|job| name(job).unwrap_or_default())),
        Column::new("Status", status_style, cells(&|job| status(job).into())),
        Column::new("Next", plain, cells(&next)),
        Column::new("Last", plain, cells(&|job| when(&job.last_run_at))),
        Column::new("Ok", plain, cells(&|job| job.succeeded.to_string())).right(),
        Column::new("Failed", |_| AnsiColor::Red.on_default(), cells(&failed)).right(),
        Column::new("Schedule", plain, cells(&|job| job.description.clone())),
    ];
    table::write(columns, out)?;
    Ok(())
}

pub(super) fn write(job: &proto::Job, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let clock = clock_of(job);
    let at =
        |wire: &Option<_>| instant(wire.as_ref()).map(|at| clock.both(at, now)).unwrap_or_default();
    let spec = job.spec.as_ref().map(Spec::from).unwrap_or_default();
    let (status, style) = (status(job), status_style(status(job)));
    let name = on_one_line(&spec.name);
    writeln!(out, "{STRONG}{name}{STRONG:#}  {style}{}{style:#}", on_one_line(status))?;
    let pause = job.paused.as_ref().map(|pause| match pause.note.as_str() {
        "" => at(&pause.since),
        note => format!("{}: {note}", at(&pause.since)),
    });
    let resumes = job.paused.as_ref().map(|pause| at(&pause.resume_at)).unwrap_or_default();
    let took = duration(job.last_duration.as_ref()).map(span::took);
    let in_a_row = match job.failed_in_a_row {
        0 => String::new(),
        failed => format!(" ({failed} in a row)"),
    };
    let details = [
        ("id", job.id.clone()),
        ("tags", spec.tags.join(", ")),
        ("schedule", job.description.clone()),
        ("expression", expression(&spec)),
        ("paused", pause.unwrap_or_default()),
        ("resumes", resumes),
        (if job.paused.is_some() { "next slot" } else { "next run" }, at(&job.next_execution_time)),
        ("last run", at(&job.last_run_at)),
        ("took", took.unwrap_or_default()),
        ("last error", job.last_error.clone()),
        ("slots", format!("{} fired, {} skipped; {} by hand", job.fired, job.skipped, job.manual)),
        ("runs", format!("{} succeeded, {} failed{in_a_row}", job.succeeded, job.failed)),
        ("alive", format!("{} running, {} waiting", job.running, job.waiting)),
        ("target", target(&spec)),
        ("headers", headers(&spec)),
        ("overlap", overlap(&spec)),
        ("catch-up", catch_up(&spec)),
        ("priority", spec.priority.map(|level| level.to_string()).unwrap_or_default()),
        ("jitter", seconds(spec.jitter_seconds)),
        ("retries", retries(&spec)),
        ("time limit", spec.max_execution_time.map(of).unwrap_or_default()),
        ("quiet hours", spec.quiet_hours_policy_id.clone().unwrap_or_default()),
        ("notices", spec.notify.as_ref().map(Notify::in_words).unwrap_or_default()),
        ("created", at(&job.created_at)),
        ("version", job.version.to_string()),
    ];
    table::write_details(&details, out)?;
    Ok(())
}

fn of(Seconds(duration): Seconds) -> String {
    span::took(duration)
}

fn seconds(seconds: u64) -> String {
    if seconds == 0 { String::new() } else { of(Seconds(std::time::Duration::from_secs(seconds))) }
}

fn expression(spec: &Spec) -> String {
    match &spec.schedule {
        Some(Schedule::Cron { expression, .. }) => expression.clone(),
        _ => String::new(),
    }
}

fn target(spec: &Spec) -> String {
    match &spec.target {
        Some(Target::Http { method, url, timeout_seconds, .. }) => {
            let timeout = timeout_seconds.map(|timeout| format!(", up to {}", of(timeout)));
            format!("{method} {url}{}", timeout.unwrap_or_default())
        }
        Some(Target::Handler { name }) => format!("handler {name}"),
        Some(Target::Message { template }) => {
            let structured = template.structured.as_ref().map(ToString::to_string);
            format!("message {}", template.text.clone().or(structured).unwrap_or_default())
        }
        None => String::new(),
    }
}

/// Their names alone: values are often secrets, and terminals are often shared.
fn headers(spec: &Spec) -> String {
    match &spec.target {
        Some(Target::Http { headers, .. }) => {
            headers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

fn overlap(spec: &Spec) -> String {
    let limit = |limit: Option<u32>| limit.map(|limit| format!(" up to {limit}"));
    match spec.overlap_policy {
        Overlap::Skip => "skip".into(),
        Overlap::Replace => "replace".into(),
        Overlap::Concurrent => {
            format!("concurrent{}", limit(spec.max_concurrent).unwrap_or_default())
        }
        Overlap::Queue => format!("queue{}", limit(spec.max_queued).unwrap_or_default()),
    }
}

fn catch_up(spec: &Spec) -> String {
    let policy = match (spec.catch_up_policy, spec.catch_up_max) {
        (None, _) => return String::new(),
        (Some(CatchUp::Skip), _) => return "skip".into(),
        (Some(CatchUp::RunOnce), _) => "run once".into(),
        (Some(CatchUp::RunAllCapped), max) => format!("run all, up to {}", max.unwrap_or(0)),
    };
    let window = spec.catch_up_window_seconds.map(|window| format!(", of the last {}", of(window)));
    policy + &window.unwrap_or_default()
}

fn retries(spec: &Spec) -> String {
    if spec.max_retry == 0 {
        return String::new();
    }
    let base = spec.retry_base_seconds.map(|base| format!(", the first after {}", of(base)));
    let max = spec.retry_max_seconds.map(|max| format!(", none later than {}", of(max)));
    format!("{}{}{}", spec.max_retry, base.unwrap_or_default(), max.unwrap_or_default())
}
