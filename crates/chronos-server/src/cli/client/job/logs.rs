//! `chronos jobs logs`: what was captured of a job's executions, and of those that end from now on.

use std::collections::HashSet;
use std::io::Write;

use chronos_core::ExecutionId;
use serde_json::Value;

use super::super::execution::is_live;
use super::super::pages::Paging;
use super::super::told::Told;
use super::super::{Ask, Daemon};
use super::get;
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::proto;
use crate::proto::watch_executions_request::Of;
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A job's name or id, or an execution's id
    #[arg(value_name = "JOB|EXECUTION")]
    of: String,
    /// How many executions to show, the newest last
    #[arg(long, short = 'n', value_name = "N", default_value = "10", value_parser = args::limit)]
    limit: usize,
    /// Go on with what ends from now on, until interrupted; with --json a line for each
    #[arg(long, short)]
    follow: bool,
}

pub(super) fn run(ask: &Ask, args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let json = ask.json;
    ask.daemon(async |mut daemon| {
        let of = subject(&mut daemon, args.of.clone()).await?;
        // Followed from before the first look, so that nothing ends unseen between the two.
        let changes = if args.follow { Some(watch(&mut daemon, of.clone()).await?) } else { None };
        let items = match &of {
            Of::Job(id) => newest(&daemon, id, args.limit).await?,
            Of::Execution(id) => vec![daemon.rest.get(&format!("/executions/{id}")).await?],
        };
        let Some(mut changes) = changes else {
            return write_all(&args.of, &items, json, out);
        };
        let mut written = HashSet::new();
        for told in items.iter().filter(|told| !is_alive(told)) {
            written.insert(told["id"].to_string());
            write(told, json, out)?;
        }
        loop {
            // Nobody waits for a buffer to fill.
            out.flush()?;
            let change = changes.message().await.map_err(|status| daemon.refusal(&status))?;
            let Some(change) = change else {
                return Ok(());
            };
            if is_live(&change) {
                continue;
            }
            let told = daemon.rest.get(&format!("/executions/{}", change.id)).await?;
            if !written.remove(&told["id"].to_string()) {
                write(&told, json, out)?;
            }
        }
    })
}

/// The id of the job, or of the execution, that is meant.
async fn subject(daemon: &mut Daemon, of: String) -> Result<Of, Error> {
    match get(daemon, of.clone()).await {
        Ok(job) => Ok(Of::Job(job.id)),
        Err(Error::NotFound(_)) if of.parse::<ExecutionId>().is_ok() => Ok(Of::Execution(of)),
        Err(error) => Err(error),
    }
}

async fn watch(daemon: &mut Daemon, of: Of) -> Result<tonic::Streaming<proto::Execution>, Error> {
    let request = proto::WatchExecutionsRequest { of: Some(of) };
    let watched = daemon.client.watch_executions(request).await;
    Ok(watched.map_err(|status| daemon.refusal(&status))?.into_inner())
}

/// The newest executions of a job, the newest last.
async fn newest(daemon: &Daemon, job: &str, limit: usize) -> Result<Vec<Value>, Error> {
    let path = format!("/jobs/{job}/executions");
    let mut items = daemon.rest.pages(&path, &[], &Paging::of(limit)).await?.items;
    items.reverse();
    Ok(items)
}

fn is_alive(told: &Value) -> bool {
    matches!(told["status"].as_str(), Some("QUEUED" | "RUNNING"))
}

fn write_all(of: &str, items: &[Value], json: bool, out: &mut dyn Write) -> Result<(), Error> {
    if json {
        return write_json(&items, out);
    }
    if items.is_empty() {
        writeln!(out, "\"{}\" has not run yet", on_one_line(of))?;
    }
    items.iter().try_for_each(|told| write(told, false, out))
}

fn write(told: &Value, json: bool, out: &mut dyn Write) -> Result<(), Error> {
    if json {
        writeln!(out, "{told}")?;
        return Ok(());
    }
    Told::read(told)?.write(&WallClock::of_the_reader(), out)
}
