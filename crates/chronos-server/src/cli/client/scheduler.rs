//! `chronos scheduler`: where every job stands, and the levers of the one who is on call.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use clap::Subcommand;
use serde::Serialize;

use super::execution::{ExecutionJson, note, status_style, took};
use super::job::{JobJson, next_run};
use super::time::{instant, to_instant};
use super::{Ask, Daemon, EXIT_CODES, follow};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, span, write_json};
use crate::grpc::TRUNCATED;
use crate::proto;
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Scheduler {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List every job: when it ran, when it runs next, how it fares
    List,
    /// Show where one job stands
    Status(Named),
    /// Keep a job from firing until it is resumed
    Pause(PauseArgs),
    /// Let a paused job fire again
    Resume(Named),
    /// Run a job now, whatever its schedule and a pause say, and follow the run to its end
    Run(RunArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct Named {
    /// The job's name or id
    pub(super) job: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// The job's name or id
    job: String,
    /// Why, for whoever wonders later
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// Resume by itself at this instant, in RFC 3339
    #[arg(long, value_name = "INSTANT", value_parser = args::instant)]
    until: Option<Timestamp>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// The job's name or id
    job: String,
    /// Return as soon as the run is queued
    #[arg(long)]
    no_wait: bool,
}

pub(in crate::cli) fn scheduler(
    args: Scheduler,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Scheduler { ask, verb } = args;
    match verb {
        Verb::List => ask.daemon(async |mut daemon| list(&mut daemon, ask.json, now, out).await),
        Verb::Status(Named { job }) => {
            ask.daemon(async |mut daemon| status(&mut daemon, job, ask.json, now, out).await)
        }
        Verb::Pause(args) => pause(&ask, args, out),
        Verb::Resume(args) => resume(&ask, args, now, out),
        Verb::Run(args) => run(&ask, args, out),
    }
}

/// Keeps a job from firing.
pub(super) fn pause(ask: &Ask, args: PauseArgs, out: &mut dyn Write) -> Result<(), Error> {
    let PauseArgs { job, note, until } = args;
    let resume_at = until.map(to_instant);
    let job = ask.daemon(async |mut daemon| {
        let request = proto::PauseJobRequest { job, note, resume_at };
        let paused = daemon.client.pause_job(request).await;
        Ok(paused.map_err(|status| daemon.refusal(&status))?.into_inner())
    })?;
    if ask.json {
        return write_json(&JobJson::from(&job), out);
    }
    let pause = job.paused.as_ref();
    match pause.and_then(|pause| instant(pause.resume_at.as_ref())) {
        Some(end) => writeln!(out, "Paused {} until {end}", name(&job))?,
        None => {
            writeln!(
                out,
                "Paused {0} until someone says: chronos scheduler resume {0}",
                name(&job)
            )?;
        }
    }
    Ok(())
}

/// Lets a paused job fire again.
pub(super) fn resume(
    ask: &Ask,
    Named { job }: Named,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let job = ask.daemon(async |mut daemon| {
        let resumed = daemon.client.resume_job(proto::ResumeJobRequest { job }).await;
        Ok(resumed.map_err(|status| daemon.refusal(&status))?.into_inner())
    })?;
    if ask.json {
        return write_json(&JobJson::from(&job), out);
    }
    writeln!(out, "Resumed {}; {}", name(&job), next_run(&job, now))?;
    Ok(())
}

/// Runs a job now.
pub(super) fn run(ask: &Ask, args: RunArgs, out: &mut dyn Write) -> Result<(), Error> {
    ask.daemon(async |mut daemon| run_job(&mut daemon, args, ask.json, out).await)
}

/// What a job is called, in quotes and on one line.
pub(super) fn name(job: &proto::Job) -> String {
    let name = job.spec.as_ref().map_or("", |spec| &spec.name);
    format!("\"{}\"", on_one_line(name))
}

#[derive(Serialize)]
struct SchedulerJson {
    scheduler_running: bool,
    jobs: Vec<StatusJson>,
    /// Whether there are more, which `chronos jobs list --all` lists.
    truncated: bool,
}

/// Where a job stands, with the names of the contract.
#[derive(Serialize)]
struct StatusJson {
    job_name: String,
    cron_expr: String,
    last_run: Option<Timestamp>,
    last_duration_ms: Option<u64>,
    last_result: Option<String>,
    next_run: Option<Timestamp>,
    run_count: u64,
    error_count: u64,
    is_running: bool,
    is_paused: bool,
}

impl From<&proto::JobStatusProto> for StatusJson {
    fn from(wire: &proto::JobStatusProto) -> Self {
        let last_run = instant(wire.last_run.as_ref());
        Self {
            job_name: wire.job_name.clone(),
            cron_expr: wire.cron_expr.clone(),
            last_run,
            last_duration_ms: last_run.map(|_| wire.last_duration_ms),
            last_result: Some(wire.last_result.clone()).filter(|result| !result.is_empty()),
            next_run: instant(wire.next_run.as_ref()),
            run_count: wire.run_count,
            error_count: wire.error_count,
            is_running: wire.is_running,
            is_paused: wire.is_paused,
        }
    }
}

/// What the daemon tells of a job or of all of them, and whether there are more.
async fn fetch(
    daemon: &mut Daemon,
    job_name: String,
) -> Result<(proto::GetSchedulerStatusResponse, bool), Error> {
    let request = proto::GetSchedulerStatusRequest { job_name };
    let answer = daemon.client.get_scheduler_status(request).await;
    let answer = answer.map_err(|status| daemon.refusal(&status))?;
    let truncated = answer.metadata().contains_key(TRUNCATED);
    Ok((answer.into_inner(), truncated))
}

async fn list(
    daemon: &mut Daemon,
    json: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (answer, truncated) = fetch(daemon, String::new()).await?;
    if json {
        let jobs = answer.jobs.iter().map(StatusJson::from).collect();
        let scheduler_running = answer.scheduler_running;
        return write_json(&SchedulerJson { scheduler_running, jobs, truncated }, out);
    }
    if !answer.scheduler_running {
        writeln!(out, "The scheduler at {} is stopped: nothing fires.\n", daemon.address)?;
    }
    if answer.jobs.is_empty() {
        writeln!(out, "No jobs yet; create one with: chronos jobs create")?;
        return Ok(());
    }
    table::write(columns(&answer.jobs, now), out)?;
    if truncated {
        writeln!(out, "\nThere are more than these: chronos jobs list --all")?;
    }
    Ok(())
}

fn columns(jobs: &[proto::JobStatusProto], now: Timestamp) -> Vec<Column> {
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&proto::JobStatusProto) -> String| jobs.iter().map(cell).collect();
    let when = |wire: &Option<prost_types::Timestamp>| {
        instant(wire.as_ref()).map(|at| span::relative(at, now)).unwrap_or_default()
    };
    // Of a paused job the next slot will be skipped, so it is no next run.
    let next = |job: &proto::JobStatusProto| {
        if job.is_paused { String::new() } else { when(&job.next_run) }
    };
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    vec![
        Column::new("Job", |_| STRONG, cells(&|job| job.job_name.clone())),
        Column::new("Schedule", plain, cells(&|job| job.cron_expr.clone())),
        Column::new("State", state_style, cells(&|job| state(job).into())),
        Column::new("Next", plain, cells(&next)),
        Column::new("Last", plain, cells(&|job| when(&job.last_run))),
        Column::new("Runs", plain, cells(&|job| job.run_count.to_string())).right(),
        Column::new("Failed", error_style, cells(&|job| count(job.error_count))).right(),
    ]
}

fn state(job: &proto::JobStatusProto) -> &'static str {
    match (job.is_running, job.is_paused, job.last_result.as_str()) {
        (true, true, _) => "running, paused",
        (true, false, _) => "running",
        (false, true, _) => "paused",
        (false, false, "") => "new",
        (false, false, "success") => "ok",
        (false, false, _) if job.last_result.starts_with("failed") => "failed",
        (false, false, _) => "ok",
    }
}

fn state_style(state: &str) -> Style {
    match state {
        "failed" => AnsiColor::Red.on_default().bold(),
        "ok" => AnsiColor::Green.on_default(),
        "new" => Style::new().dimmed(),
        "running" => AnsiColor::Cyan.on_default().bold(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

fn error_style(_: &str) -> Style {
    AnsiColor::Red.on_default()
}

async fn status(
    daemon: &mut Daemon,
    job: String,
    json: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (answer, _) = fetch(daemon, job.clone()).await?;
    let [status] = answer.jobs.as_slice() else {
        return Err(Error::NotFound(format!("no job named \"{job}\"")));
    };
    if json {
        return write_json(&StatusJson::from(status), out);
    }
    let clock = WallClock::of_the_reader();
    let at =
        |wire: &Option<_>| instant(wire.as_ref()).map(|at| clock.both(at, now)).unwrap_or_default();
    let (word, style) = (state(status), state_style(state(status)));
    writeln!(out, "{STRONG}{}{STRONG:#}  {style}{word}{style:#}", on_one_line(&status.job_name))?;
    let took = std::time::Duration::from_millis(status.last_duration_ms);
    let took = if status.last_run.is_some() { span::took(took) } else { String::new() };
    let runs = format!("{}, of which {} failed", status.run_count, status.error_count);
    let details = [
        ("schedule", status.cron_expr.clone()),
        (if status.is_paused { "next slot" } else { "next run" }, at(&status.next_run)),
        ("last run", at(&status.last_run)),
        ("took", took),
        ("result", status.last_result.clone()),
        ("runs", runs),
    ];
    table::write_details(&details, out)?;
    Ok(())
}

async fn run_job(
    daemon: &mut Daemon,
    args: RunArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let RunArgs { job, no_wait } = args;
    let queued = daemon.client.run_job(proto::RunJobRequest { job: job.clone() }).await;
    let mut execution = queued.map_err(|status| daemon.refusal(&status))?.into_inner();
    if !no_wait {
        execution = follow::to_the_end(daemon, &job, execution).await?;
    }
    let failed = !no_wait && execution.status != "SUCCESS";
    if json {
        write_json(&ExecutionJson::from(&execution), out)?;
    } else {
        write_end(&job, &execution, no_wait, out)?;
    }
    if failed {
        // What was written must come before what is said about it.
        out.flush()?;
        let why = [&execution.error, &execution.reason].into_iter().find(|text| !text.is_empty());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        return Err(Error::RunFailed(format!("the run ended {}{why}", execution.status)));
    }
    Ok(())
}

fn write_end(
    job: &str,
    execution: &proto::Execution,
    no_wait: bool,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (status, style) = (&execution.status, status_style(&execution.status));
    write!(out, "{style}{}{style:#} {}", on_one_line(status), on_one_line(job))?;
    if execution.duration.is_some() {
        write!(out, " in {}", took(execution))?;
    }
    let note = note(&proto::Execution { error: String::new(), ..execution.clone() });
    writeln!(out, " ({})", on_one_line(&note))?;
    if no_wait {
        writeln!(out, "See how it goes: chronos executions show {}", execution.id)?;
    }
    Ok(())
}
