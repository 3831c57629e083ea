//! `chronos executions`: one attempt at one slot, in full, or asked to stop.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use clap::Subcommand;
use serde::Serialize;

use super::time::{duration, instant};
use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, span, write_json};
use crate::proto;
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Executions {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show an execution in full, with what it logged
    Show(Named),
    /// Cancel an execution: at once while it waits, by request while it runs
    Cancel(Named),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The execution's id, as `chronos jobs executions` lists it
    id: String,
}

pub(in crate::cli) fn executions(
    args: Executions,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Executions { ask, verb } = args;
    let execution = ask.daemon(async |mut daemon| {
        let answer = match verb {
            Verb::Show(Named { id }) => {
                daemon.client.get_execution(proto::GetExecutionRequest { id }).await
            }
            Verb::Cancel(Named { id }) => {
                daemon.client.cancel_execution(proto::CancelExecutionRequest { id }).await
            }
        };
        answer.map_err(|status| daemon.refusal(&status))
    })?;
    let execution = execution.into_inner();
    if ask.json {
        return write_json(&ExecutionJson::from(&execution), out);
    }
    write_details(&execution, now, out)
}

/// An execution as JSON, with the names of the REST API.
#[derive(Debug, Serialize)]
pub(super) struct ExecutionJson {
    id: String,
    job_id: String,
    scheduled_for: Option<Timestamp>,
    run_at: Option<Timestamp>,
    status: String,
    reason: Option<String>,
    note: Option<String>,
    trigger: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<NoticeJson>,
    attempt: u32,
    retry_number: u32,
    worker_id: Option<String>,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    last_heartbeat_at: Option<Timestamp>,
    duration_ms: Option<u128>,
    response_code: Option<u32>,
    response_time_ms: Option<u128>,
    error: Option<String>,
    log: Option<String>,
}

/// What a notice tells.
#[derive(Debug, Serialize)]
struct NoticeJson {
    kind: String,
    about: String,
}

impl From<&proto::Execution> for ExecutionJson {
    fn from(wire: &proto::Execution) -> Self {
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let millis = |wire: &Option<_>| duration(wire.as_ref()).map(|span| span.as_millis());
        Self {
            id: wire.id.clone(),
            job_id: wire.job_id.clone(),
            scheduled_for: instant(wire.scheduled_for.as_ref()),
            run_at: instant(wire.run_at.as_ref()),
            status: wire.status.clone(),
            reason: said(&wire.reason),
            note: said(&wire.note),
            trigger: wire.trigger.clone(),
            notice: said(&wire.notice).map(|kind| NoticeJson { kind, about: wire.about.clone() }),
            attempt: wire.attempt,
            retry_number: wire.retry_number,
            worker_id: said(&wire.worker_id),
            started_at: instant(wire.started_at.as_ref()),
            finished_at: instant(wire.finished_at.as_ref()),
            last_heartbeat_at: instant(wire.last_heartbeat_at.as_ref()),
            duration_ms: millis(&wire.duration),
            response_code: code(wire),
            response_time_ms: millis(&wire.response_time),
            error: said(&wire.error),
            log: said(&wire.log),
        }
    }
}

/// What a notice tells, and about which execution; empty for any other.
fn tells(execution: &proto::Execution) -> String {
    match execution.notice.as_str() {
        "" => String::new(),
        kind => format!("{kind} of {}", execution.about),
    }
}

fn code(execution: &proto::Execution) -> Option<u32> {
    (execution.response_code > 0).then_some(execution.response_code)
}

/// How long it ran, in words; empty before it is over.
pub(super) fn took(execution: &proto::Execution) -> String {
    duration(execution.duration.as_ref()).map(span::took).unwrap_or_default()
}

/// Whether it waits or runs.
pub(super) fn is_live(execution: &proto::Execution) -> bool {
    matches!(execution.status.as_str(), "QUEUED" | "RUNNING")
}

/// How a status looks on a terminal.
pub(super) fn status_style(status: &str) -> Style {
    match status.trim_end() {
        "SUCCESS" => AnsiColor::Green.on_default(),
        "FAILED" | "TIMED_OUT" | "STUCK" => AnsiColor::Red.on_default().bold(),
        "RUNNING" => AnsiColor::Cyan.on_default().bold(),
        "CANCELLED" | "PAUSED" | "RETRY_PENDING" => AnsiColor::Yellow.on_default(),
        _ => Style::new().dimmed(),
    }
}

/// Why it is as it is, in one line: the error, the reason, what answered, which attempt it was.
pub(super) fn note(execution: &proto::Execution) -> String {
    let mut notes = Vec::new();
    notes.extend(code(execution).map(|code| format!("HTTP {code}")));
    if execution.retry_number > 0 {
        notes.push(format!("retry {}", execution.retry_number));
    }
    if !execution.notice.is_empty() {
        notes.push(format!("notice of {}", execution.notice));
    } else if execution.trigger != "schedule" {
        notes.push(execution.trigger.replace('_', " "));
    }
    notes.extend(Some(reason(execution)).filter(|reason| !reason.is_empty()));
    notes.extend(execution.error.lines().next().map(ToOwned::to_owned));
    notes.join(", ")
}

/// Why it was skipped, cancelled or asked to stop, with what somebody wrote about it.
fn reason(execution: &proto::Execution) -> String {
    let reason = execution.reason.replace('_', " ");
    if execution.note.is_empty() { reason } else { format!("{reason}: {}", execution.note) }
}

/// Writes executions as a table, on the clocks of whoever reads.
pub(super) fn write_table(
    executions: &[proto::Execution],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&proto::Execution) -> String| executions.iter().map(cell).collect();
    let slot = |execution: &proto::Execution| {
        instant(execution.scheduled_for.as_ref()).map(|at| clock.brief(at)).unwrap_or_default()
    };
    let columns = vec![
        Column::new("Execution", plain, cells(&|execution| execution.id.clone())),
        Column::new(&format!("Slot ({})", clock.tz.name()), plain, cells(&slot)),
        Column::new("Status", status_style, cells(&|execution| execution.status.clone())),
        Column::new("Took", plain, cells(&took)),
        Column::new("Note", plain, cells(&note)),
    ];
    table::write(columns, out)?;
    Ok(())
}

fn write_details(
    execution: &proto::Execution,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let at =
        |wire: &Option<_>| instant(wire.as_ref()).map(|at| clock.both(at, now)).unwrap_or_default();
    let style = status_style(&execution.status);
    writeln!(
        out,
        "{style}{}{style:#} {}",
        on_one_line(&execution.status),
        on_one_line(&execution.id)
    )?;
    let answered = duration(execution.response_time.as_ref()).unwrap_or(Duration::ZERO);
    let answer = code(execution).map(|code| format!("HTTP {code} after {}", span::took(answered)));
    let attempt = format!("{}, retry {}", execution.attempt, execution.retry_number);
    let details = [
        ("job", execution.job_id.clone()),
        ("slot", at(&execution.scheduled_for)),
        ("may begin", at(&execution.run_at)),
        ("trigger", execution.trigger.clone()),
        ("tells", tells(execution)),
        ("attempt", attempt),
        ("reason", reason(execution)),
        ("worker", execution.worker_id.clone()),
        ("started", at(&execution.started_at)),
        ("heartbeat", at(&execution.last_heartbeat_at)),
        ("finished", at(&execution.finished_at)),
        ("took", took(execution)),
        ("answer", answer.unwrap_or_default()),
        ("error", execution.error.clone()),
    ];
    table::write_details(&details, out)?;
    if !execution.log.is_empty() {
        writeln!(out, "\nLog:")?;
        for line in execution.log.lines() {
            writeln!(out, "  {}", on_one_line(line))?;
        }
    }
    Ok(())
}
