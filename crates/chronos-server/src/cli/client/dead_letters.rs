//! `chronos dead-letters`: what failed for good, listed and tried again.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::Style;
use chronos_core::ExecutionId;
use clap::Subcommand;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::confirm::Confirm;
use super::execution::status_style;
use super::pages::Paging;
use super::progress::shown;
use super::told::Told;
use super::{Ask, Daemon, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, write_json};
use crate::proto;
use crate::text::on_one_line;

/// Dead letters of one request, so that progress shows and no request takes long.
const BATCH: usize = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct DeadLetters {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List executions whose slot failed for good, newest first
    List(ListArgs),
    /// Try dead letters again: each is queued as the next attempt at its slot
    #[command(after_help = "Examples:
  chronos dead-letters redrive 01a1e18a-5bd5-7001-ab96-019cdcc30be9
  chronos dead-letters redrive --all --job report --yes")]
    Redrive(RedriveArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Those of this job alone, by its name or id
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, clap::Args)]
struct RedriveArgs {
    /// The dead letters' ids, as `chronos dead-letters list` shows them
    #[arg(value_name = "ID", required_unless_present = "all", value_parser = id)]
    ids: Vec<ExecutionId>,
    /// Every one there is now
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// With --all: those of this job alone, by its name or id
    #[arg(long, value_name = "JOB", requires = "all")]
    job: Option<String>,
    #[command(flatten)]
    confirm: Confirm,
}

fn id(text: &str) -> Result<ExecutionId, String> {
    let id = text.parse();
    id.map_err(|_| format!("\"{text}\" is no id; use one that chronos dead-letters list shows"))
}

pub(in crate::cli) fn dead_letters(args: DeadLetters, out: &mut dyn Write) -> Result<(), Error> {
    let DeadLetters { ask, verb } = args;
    match verb {
        Verb::List(args) => list(&ask, args, out),
        Verb::Redrive(args) => redrive(&ask, args, out),
    }
}

fn list(ask: &Ask, args: ListArgs, out: &mut dyn Write) -> Result<(), Error> {
    let ListArgs { job, paging } = args;
    let (listed, names) = ask.daemon(async |mut daemon| {
        let listed = find(&mut daemon, job, &paging).await?;
        let names =
            if ask.json { BTreeMap::new() } else { names(&mut daemon, &listed.items).await? };
        Ok((listed, names))
    })?;
    if ask.json {
        return write_json(&listed.items, out);
    }
    if listed.items.is_empty() {
        return Ok(writeln!(out, "Nothing has failed for good")?);
    }
    let told = listed.items.iter().map(Told::read).collect::<Result<Vec<_>, _>>()?;
    write_table(&told, &names, out)?;
    super::job::write_more(listed.more, out)
}

/// The dead letters there are, of one job or of all.
async fn find(
    daemon: &mut Daemon,
    job: Option<String>,
    paging: &Paging,
) -> Result<super::pages::Listed<Value>, Error> {
    let job = match job {
        Some(job) => Some(super::job::get(daemon, job).await?.id),
        None => None,
    };
    let parameters: Vec<(&str, &str)> = job.iter().map(|id| ("job_id", id.as_str())).collect();
    daemon.rest.pages("/dead-letters", &parameters, paging).await
}

/// What the jobs are called, by their ids.
async fn names(daemon: &mut Daemon, dead: &[Value]) -> Result<BTreeMap<String, String>, Error> {
    let mut names = BTreeMap::new();
    for id in dead.iter().filter_map(|dead| dead["job_id"].as_str()) {
        if names.contains_key(id) {
            continue;
        }
        let name = match super::job::get(daemon, id.into()).await {
            Ok(proto::Job { spec, .. }) => spec.map(|spec| spec.name).unwrap_or_default(),
            Err(Error::NotFound(_)) => "(deleted)".into(),
            Err(error) => return Err(error),
        };
        names.insert(id.into(), name);
    }
    Ok(names)
}

fn write_table(
    dead: &[Told],
    names: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&Told) -> String| dead.iter().map(cell).collect();
    let name = |dead: &Told| names.get(&dead.job_id).cloned().unwrap_or_default();
    let error = |dead: &Told| dead.error.clone().unwrap_or_default();
    let columns = vec![
        Column::new("Execution", plain, cells(&|dead| dead.id.clone())),
        Column::new("Job", plain, cells(&name)),
        Column::new(
            &format!("Slot ({})", clock.tz.name()),
            plain,
            cells(&|dead| clock.brief(dead.scheduled_for)),
        ),
        Column::new("Status", status_style, cells(&|dead| dead.status.clone())),
        Column::new("Attempts", plain, cells(&|dead| dead.attempt.to_string())).right(),
        Column::new("Error", plain, cells(&error)),
    ];
    table::write(columns, out)?;
    Ok(())
}

fn redrive(ask: &Ask, args: RedriveArgs, out: &mut dyn Write) -> Result<(), Error> {
    let RedriveArgs { ids, all, job, confirm } = args;
    if all {
        confirm.check("every dead letter is tried again")?;
    }
    let outcome = ask.daemon(async |mut daemon| {
        let ids: Vec<String> = if all {
            // Gathered first, so that one that fails again meanwhile is not tried for ever.
            let found = find(&mut daemon, job, &Paging::all()).await?.items;
            found.iter().filter_map(|dead| dead["id"].as_str().map(ToOwned::to_owned)).collect()
        } else {
            ids.iter().map(ToString::to_string).collect()
        };
        let question = format!("Try {} again?", counted(ids.len()));
        if all && !ids.is_empty() && !confirm.ask(&question)? {
            return Ok(None);
        }
        send(&daemon, &ids).await.map(Some)
    })?;
    let Some(Outcome { redriven, refused }) = outcome else {
        return Ok(writeln!(out, "Nothing is tried again")?);
    };
    if ask.json {
        write_json(&json!({"redriven": redriven, "refused": refused}), out)?;
    } else {
        writeln!(out, "Trying {} again", counted(redriven.len()))?;
    }
    if refused.is_empty() {
        return Ok(());
    }
    // What was written must come before what is said about it.
    out.flush()?;
    let why = refused.iter().map(|refused| {
        let (id, problem) = (&refused["id"], &refused["problem"]["detail"]);
        format!("{}: {}", id.as_str().unwrap_or_default(), problem.as_str().unwrap_or_default())
    });
    let why = why.take(3).collect::<Vec<_>>().join("; ");
    let total = redriven.len() + refused.len();
    Err(Error::Refused(format!("{} of {total} refused: {}", refused.len(), on_one_line(&why))))
}

fn counted(count: usize) -> String {
    if count == 1 { "1 dead letter".into() } else { format!("{count} dead letters") }
}

/// What became of dead letters.
#[derive(Default)]
struct Outcome {
    redriven: Vec<Value>,
    refused: Vec<Value>,
}

/// Sends them batch by batch. What a batch that fails leaves undone is still there to be tried again.
async fn send(daemon: &Daemon, ids: &[String]) -> Result<Outcome, Error> {
    let progress = match ids.len() {
        count if count <= BATCH => ProgressBar::hidden(),
        count => shown(ProgressBar::new(count as u64), "{bar:40} {pos} of {len}, {eta} left"),
    };
    let mut outcome = Outcome::default();
    for batch in ids.chunks(BATCH) {
        let answer = daemon.rest.post("/dead-letters/redrive", &json!({"ids": batch})).await;
        let mut answer = answer.map_err(|error| {
            let done = outcome.redriven.len();
            error.and(format!("{done} of {} were tried again before", ids.len()))
        })?;
        for (field, told) in
            [("redriven", &mut outcome.redriven), ("refused", &mut outcome.refused)]
        {
            if let Value::Array(items) = answer[field].take() {
                told.extend(items);
            }
        }
        progress.inc(batch.len() as u64);
    }
    progress.finish_and_clear();
    Ok(outcome)
}
