//! `chronos jobs`: made, changed, listed, looked at, removed.

mod comparison;
mod edit;
mod json;
mod logs;
mod show;

use std::io::Write;

use axum::http::Method;
use chronos_core::Timestamp;
use clap::Subcommand;
use serde_json::json;

use super::confirm::Confirm;
use super::execution::{self, ExecutionJson};
use super::pages::Paging;
use super::scheduler::{self, Named, PauseArgs, RunArgs, name};
use super::spec::Spec;
use super::spec_flags::SpecFlags;
use super::{Ask, Daemon, EXIT_CODES};
use crate::cli::{Error, write_json};
use crate::proto;
use crate::text::on_one_line;

pub(super) use json::JobJson;
pub(super) use show::next_run;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Jobs {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a job
    #[command(after_help = "Examples:
  chronos jobs create report --cron '0 9 * * 1-5' --tz Europe/Berlin --url https://example.com/report
  chronos jobs create ping --every 5m --http GET https://example.com/health --retries 3
  chronos jobs create launch --at 2026-12-01T09:00:00Z --url https://example.com/go --body '{\"go\":true}'
  chronos jobs show report --spec | chronos jobs create report-2 --file - --tz Asia/Tokyo")]
    Create(Box<CreateArgs>),
    /// Change a job by flags, or in an editor; what neither names stays as it is
    #[command(alias = "update")]
    Edit(Box<edit::Args>),
    /// List jobs in the order of their creation
    List(Paging),
    /// Show a job in full
    Show(ShowArgs),
    /// Keep a job from firing until it is resumed
    Pause(PauseArgs),
    /// Let a paused job fire again
    Resume(Named),
    /// Run a job now, whatever its schedule and a pause say, and follow the run to its end
    Run(RunArgs),
    /// Switch a job off: what waits is cancelled, what runs is asked to stop, no slot fires
    Cancel(SureArgs),
    /// Switch a job on again
    Enable(Named),
    /// Delete a job: what waits is cancelled, what runs is asked to stop, history stays
    Delete(SureArgs),
    /// List a job's executions and skipped slots, newest first
    Executions(ExecutionsArgs),
    /// Show what was captured of executions: how they went, errors, logs, what was answered
    Logs(logs::Args),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// The job's name; may come from --file
    name: Option<String>,
    #[command(flatten)]
    spec: SpecFlags,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The job's name or id
    job: String,
    /// Print the JSON that --file takes
    #[arg(long)]
    spec: bool,
}

#[derive(Debug, clap::Args)]
struct SureArgs {
    /// The job's name or id
    job: String,
    #[command(flatten)]
    confirm: Confirm,
}

#[derive(Debug, clap::Args)]
struct ExecutionsArgs {
    /// The job's name or id
    job: String,
    #[command(flatten)]
    paging: Paging,
}

pub(in crate::cli) fn jobs(args: Jobs, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let Jobs { ask, verb } = args;
    match verb {
        Verb::Create(args) => create(&ask, *args, now, out),
        Verb::Edit(args) => edit::run(&ask, *args, now, out),
        Verb::List(paging) => list(&ask, &paging, now, out),
        Verb::Show(args) => {
            let job = ask.daemon(async |mut daemon| get(&mut daemon, args.job).await)?;
            if args.spec {
                return write_json(&job.spec.as_ref().map(Spec::from), out);
            }
            if ask.json {
                return write_json(&JobJson::from(&job), out);
            }
            show::write(&job, now, out)
        }
        Verb::Pause(args) => scheduler::pause(&ask, args, out),
        Verb::Resume(args) => scheduler::resume(&ask, args, now, out),
        Verb::Run(args) => scheduler::run(&ask, args, out),
        Verb::Cancel(args) => cancel(&ask, args, now, out),
        Verb::Enable(args) => enable(&ask, args, now, out),
        Verb::Delete(args) => delete(&ask, args, out),
        Verb::Executions(args) => executions(&ask, args, out),
        Verb::Logs(args) => logs::run(&ask, &args, out),
    }
}

pub(super) async fn get(daemon: &mut Daemon, job: String) -> Result<proto::Job, Error> {
    let answer = daemon.client.get_job(proto::GetJobRequest { job }).await;
    Ok(answer.map_err(|status| daemon.refusal(&status))?.into_inner())
}

fn create(ask: &Ask, args: CreateArgs, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let mut spec = args.spec.spec(Spec::default())?;
    spec.name = args.name.unwrap_or(spec.name);
    // The daemon would say the same, in the words of its contract.
    for (flag, missing, what) in [
        ("NAME", spec.name.is_empty(), "the job needs a name"),
        ("--cron", spec.schedule.is_none(), "the job needs one of --cron, --every and --at"),
        ("--url", spec.target.is_none(), "the job needs one of --url, --http and --handler"),
    ] {
        if missing {
            return Err(Error::input(flag, &what));
        }
    }
    let job = ask.daemon(async |mut daemon| {
        let request = proto::CreateJobRequest { spec: Some(spec.into()) };
        let answer = daemon.client.create_job(request).await;
        Ok(answer.map_err(|status| daemon.refusal(&status))?.into_inner())
    })?;
    write_changed("Created", ask, &job, now, out)
}

fn write_changed(
    verb: &str,
    ask: &Ask,
    job: &proto::Job,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    if ask.json {
        return write_json(&JobJson::from(job), out);
    }
    writeln!(out, "{verb} {} ({})", name(job), on_one_line(&job.id))?;
    writeln!(out, "{}; {}", on_one_line(&job.description), next_run(job, now))?;
    if !job.dropped_secrets.is_empty() {
        let names = job.dropped_secrets.join(", ");
        let names = on_one_line(&names);
        writeln!(out, "It calls another host now, and has no secrets for it: {names}")?;
    }
    Ok(())
}

fn list(ask: &Ask, paging: &Paging, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let listed = ask.daemon(async |daemon| {
        let fetch = async |limit, cursor| {
            let request = proto::ListJobsRequest { limit, cursor };
            let page = daemon.client.clone().list_jobs(request).await;
            let page = page.map_err(|status| daemon.refusal(&status))?.into_inner();
            Ok((page.jobs, page.next_cursor))
        };
        paging.collect(fetch).await
    })?;
    if ask.json {
        let jobs: Vec<JobJson> = listed.items.iter().map(JobJson::from).collect();
        return write_json(&jobs, out);
    }
    if listed.items.is_empty() {
        writeln!(out, "No jobs yet; create one with: chronos jobs create")?;
        return Ok(());
    }
    show::write_table(&listed.items, now, out)?;
    write_more(listed.more, out)
}

fn executions(ask: &Ask, args: ExecutionsArgs, out: &mut dyn Write) -> Result<(), Error> {
    let ExecutionsArgs { job, paging } = args;
    let listed = ask.daemon(async |daemon| {
        let fetch = async |limit, cursor| {
            let request = proto::ListExecutionsRequest { job: job.clone(), limit, cursor };
            let page = daemon.client.clone().list_executions(request).await;
            let page = page.map_err(|status| daemon.refusal(&status))?.into_inner();
            Ok((page.executions, page.next_cursor))
        };
        paging.collect(fetch).await
    })?;
    if ask.json {
        let executions: Vec<_> = listed.items.iter().map(ExecutionJson::from).collect();
        return write_json(&executions, out);
    }
    if listed.items.is_empty() {
        writeln!(out, "\"{}\" has not run yet", on_one_line(&job))?;
        return Ok(());
    }
    execution::write_table(&listed.items, out)?;
    write_more(listed.more, out)
}

pub(super) fn write_more(more: bool, out: &mut dyn Write) -> Result<(), Error> {
    if more {
        writeln!(out, "\nThere are more: --limit N shows more of them, --all shows all.")?;
    }
    Ok(())
}

fn cancel(ask: &Ask, args: SureArgs, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    args.confirm.check("what waits of the job is cancelled, and what runs is asked to stop")?;
    let cancelled = ask.daemon(async |mut daemon| {
        let job = get(&mut daemon, args.job).await?;
        let alive = format!("{} running, {} waiting", job.running, job.waiting);
        if !args.confirm.ask(&format!("Switch off {} ({alive})?", name(&job)))? {
            return Ok(None);
        }
        daemon.rest.call(Method::POST, &format!("/jobs/{}/cancel", job.id), None).await?;
        get(&mut daemon, job.id).await.map(Some)
    })?;
    let Some(job) = cancelled else {
        return Ok(writeln!(out, "Nothing was cancelled")?);
    };
    write_changed("Switched off", ask, &job, now, out)
}

fn enable(ask: &Ask, args: Named, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let job = ask.daemon(async |mut daemon| {
        let job = get(&mut daemon, args.job).await?;
        let path = format!("/jobs/{}", job.id);
        daemon.rest.patch(&path, &json!({"enabled": true}), job.version).await?;
        get(&mut daemon, job.id).await
    })?;
    write_changed("Switched on", ask, &job, now, out)
}

fn delete(ask: &Ask, args: SureArgs, out: &mut dyn Write) -> Result<(), Error> {
    args.confirm.check("a deleted job does not come back")?;
    let deleted = ask.daemon(async |mut daemon| {
        // Asked about by its name, deleted by its id: what the question was about is what goes.
        let job = get(&mut daemon, args.job).await?;
        let description = on_one_line(&job.description);
        let question = format!("Delete {} ({description})? It does not come back.", name(&job));
        if !args.confirm.ask(&question)? {
            return Ok(None);
        }
        let request = proto::DeleteJobRequest { job: job.id.clone() };
        let answer = daemon.client.delete_job(request).await;
        answer.map_err(|status| daemon.refusal(&status))?;
        Ok(Some(job))
    })?;
    let Some(job) = deleted else {
        return Ok(writeln!(out, "Nothing was deleted")?);
    };
    if ask.json {
        return write_json(&json!({"deleted": job.id}), out);
    }
    writeln!(out, "Deleted {} ({})", name(&job), on_one_line(&job.id))?;
    Ok(())
}
