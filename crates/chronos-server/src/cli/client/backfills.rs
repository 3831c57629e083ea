//! `chronos backfill` and `chronos backfills`: past slots of a job that run after all.

use std::io::Write;
use std::time::Duration;

use anstyle::Style;
use axum::http::Method;
use chronos_core::Timestamp;
use clap::{Subcommand, ValueEnum};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use super::pages::Paging;
use super::progress::shown;
use super::rest::Rest;
use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();
/// How often whoever follows a backfill asks how far it has come.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES,
    before_help = "Examples:
  chronos backfill report --from '2026-11-01 00:00' --to '2026-11-08 00:00' --dry-run
  chronos backfill report --from 2026-11-01T00:00:00Z --at-once 4 --rate 60
  chronos backfill report --from 2026-11-01T00:00:00Z --order newest-first --cap 100 --force --detach"
)]
pub(in crate::cli) struct Backfill {
    #[command(flatten)]
    ask: Ask,
    /// The job's name or id
    job: String,
    /// Slots from here on, in RFC 3339 or on your clock: '2026-12-01 09:00'
    #[arg(long, value_name = "TIME", value_parser = args::moment)]
    from: Timestamp,
    /// And before here [default: as far as the schedule has come]
    #[arg(long, value_name = "TIME", value_parser = args::moment)]
    to: Option<Timestamp>,
    /// Which slots come first
    #[arg(long, value_enum, default_value = "oldest-first")]
    order: Order,
    /// Go through no more slots than this, 1 to 100000 [default: 1000]
    #[arg(long, value_name = "N")]
    cap: Option<u32>,
    /// Slots under way at once, 1 to 100 [default: 1]
    #[arg(long, value_name = "N")]
    at_once: Option<u32>,
    /// Slots that begin in a minute, 1 to 6000 [default: as they come]
    #[arg(long, value_name = "PER_MINUTE")]
    rate: Option<u32>,
    /// Run slots again that have run
    #[arg(long)]
    force: bool,
    /// Show what would become of each slot, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not wait for the end
    #[arg(long, conflicts_with = "dry_run")]
    detach: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    OldestFirst,
    NewestFirst,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Backfills {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List a job's backfills, newest first
    List(List),
    /// Show a backfill in full, and how far it has come
    Show(Named),
    /// Follow a backfill until its end
    Follow(Named),
    /// Let nothing more of a backfill begin; what is under way goes on
    Pause(Named),
    /// Have a paused backfill go on
    Resume(Named),
    /// Give a backfill up: what waits of it is cancelled, what runs is asked to stop
    Cancel(Named),
}

#[derive(Debug, clap::Args)]
struct List {
    /// The job's name or id
    job: String,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The backfill's id
    backfill: String,
}

pub(in crate::cli) fn backfill(args: Backfill, out: &mut dyn Write) -> Result<(), Error> {
    let body = args.body();
    let Backfill { ask, job, dry_run, detach, .. } = args;
    if dry_run {
        let told = ask.daemon(async |mut daemon| {
            let job = super::job::get(&mut daemon, job).await?.id;
            daemon.rest.post(&format!("/jobs/{job}/backfills"), &body).await
        })?;
        return if ask.json { write_json(&told, out) } else { preview(&told, out) };
    }
    let told = ask.daemon(async |mut daemon| {
        let id = super::job::get(&mut daemon, job.clone()).await?.id;
        let made = daemon.rest.post(&format!("/jobs/{id}/backfills"), &body).await?;
        if detach { Ok(made) } else { follow(&daemon.rest, &job, made).await }
    })?;
    ended(&ask, &told, out)
}

pub(in crate::cli) fn backfills(
    args: Backfills,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Backfills { ask, verb } = args;
    let told = match verb {
        Verb::List(args) => return list(&ask, args, now, out),
        Verb::Show(named) => {
            let told = ask.rest(async |rest| rest.get(&named.path("")).await)?;
            return if ask.json { write_json(&told, out) } else { show(&told, now, out) };
        }
        Verb::Follow(named) => {
            let told = ask.rest(async |rest| {
                let found = rest.get(&named.path("")).await?;
                follow(&rest, "the job", found).await
            })?;
            return ended(&ask, &told, out);
        }
        Verb::Pause(named) => switch(&ask, &named, "/pause")?,
        Verb::Resume(named) => switch(&ask, &named, "/resume")?,
        Verb::Cancel(named) => switch(&ask, &named, "/cancel")?,
    };
    if ask.json { write_json(&told, out) } else { sentence(&told, out) }
}

impl Backfill {
    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("from".into(), json!(self.from));
        body.insert("to".into(), json!(self.to));
        let order = match self.order {
            Order::OldestFirst => "oldest_first",
            Order::NewestFirst => "newest_first",
        };
        body.insert("order".into(), order.into());
        body.insert("cap".into(), json!(self.cap));
        body.insert("rate".into(), json!({"at_once": self.at_once, "per_minute": self.rate}));
        body.insert("force".into(), self.force.into());
        body.insert("dry_run".into(), self.dry_run.into());
        Value::Object(body)
    }
}

impl Named {
    fn path(&self, verb: &str) -> String {
        // What is no id must not reach into another path.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let id: String = self.backfill.chars().filter(|c| plain(*c)).collect();
        format!("/backfills/{id}{verb}")
    }
}

fn switch(ask: &Ask, named: &Named, verb: &str) -> Result<Value, Error> {
    ask.rest(async |rest| rest.call(Method::POST, &named.path(verb), None).await)
}

/// Asks how far a backfill has come until nothing more is to come of it.
async fn follow(rest: &Rest, job: &str, begun: Value) -> Result<Value, Error> {
    let template = "{spinner} {msg} [{bar:30}] {pos}/{len} {elapsed}";
    let bar = shown(ProgressBar::new(count(&begun, "total")), template);
    bar.enable_steady_tick(Duration::from_millis(100));
    let path = format!("/backfills/{}", begun["id"].as_str().unwrap_or_default());
    let mut told = begun;
    while !is_over(&told) {
        bar.set_position(count(&told, "done"));
        bar.set_message(format!("{} {}", on_one_line(job), doing(&told)));
        tokio::time::sleep(BETWEEN_LOOKS).await;
        told = rest.get(&path).await.inspect_err(|_| bar.finish_and_clear())?;
        // Somebody else may keep it paused for days.
        if told["state"] == "paused" && count(&told, "under_way") == 0 {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(told)
}

fn doing(told: &Value) -> String {
    let waits = told["waits_for"].as_str().map(|waits| match waits {
        "job_paused" => ", waits: the job is paused",
        "quiet_hours" => ", waits for the end of quiet hours",
        "job_busy" => ", waits for other runs of the job",
        _ => "",
    });
    let failed = match count(told, "failed") {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    format!("{} under way{failed}{}", count(told, "under_way"), waits.unwrap_or_default())
}

fn is_over(told: &Value) -> bool {
    let over = matches!(told["state"].as_str(), Some("finished" | "cancelled"));
    over && count(told, "under_way") == 0
}

/// Tells how a backfill stands; one that is through and had failures is no success.
fn ended(ask: &Ask, told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    if ask.json {
        write_json(told, out)?;
    } else {
        sentence(told, out)?;
    }
    match count(told, "failed") {
        failed if failed > 0 && is_over(told) => {
            let error = told["error"].as_str().unwrap_or_default();
            Err(Error::RunFailed(format!("{failed} slot(s) failed: {}", on_one_line(error))))
        }
        _ => Ok(()),
    }
}

fn sentence(told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    let state = told["state"].as_str().unwrap_or_default();
    let (done, total) = (count(told, "done"), count(told, "total"));
    let counts = ["succeeded", "failed", "cancelled", "skipped", "already_run", "under_way"];
    let counts = counts.into_iter().filter(|field| count(told, field) > 0);
    let counts: Vec<String> =
        counts.map(|field| format!("{} {}", count(told, field), field.replace('_', " "))).collect();
    let detail = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    writeln!(
        out,
        "Backfill {} is {state}, {done} of {total} slots done{detail}",
        text(told, "id")
    )?;
    if told["beyond_cap"] == true {
        writeln!(out, "The range has more slots; --cap N goes through more of them.")?;
    }
    Ok(())
}

fn preview(told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    let slots = told["slots"].as_array().map(Vec::as_slice).unwrap_or_default();
    let plain = |_: &str| Style::new();
    let clock = WallClock::of_the_reader();
    let cells = |cell: &dyn Fn(&Value) -> String| slots.iter().map(cell).collect();
    let columns = vec![
        Column::new("Slot", |_| STRONG, cells(&|it| brief(it, "scheduled_for", &clock))),
        Column::new("Action", plain, cells(&|it| text(it, "action"))),
        Column::new("Why", plain, cells(&|it| text(it, "reason"))),
        Column::new("Execution", plain, cells(&|it| text(it, "execution_id"))),
    ];
    table::write(columns, out)?;
    let of = |action: &str| slots.iter().filter(|slot| slot["action"] == action).count();
    let (run, redo, skip) = (of("run"), of("redo"), of("skip"));
    writeln!(out, "\n{run} would run, {redo} run again, {skip} be passed over. Nothing was done.")?;
    let (total, listed) = (count(told, "total"), slots.len() as u64);
    if listed < total {
        writeln!(out, "{} further slots are not listed.", total - listed)?;
    }
    if told["beyond_cap"] == true {
        writeln!(out, "The range has more slots; --cap N goes through more of them.")?;
    }
    Ok(())
}

fn list(ask: &Ask, args: List, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let listed = ask.daemon(async |mut daemon| {
        let job = super::job::get(&mut daemon, args.job).await?.id;
        daemon.rest.pages(&format!("/jobs/{job}/backfills"), &[], &args.paging).await
    })?;
    if ask.json {
        return write_json(&listed.items, out);
    }
    if listed.items.is_empty() {
        return Ok(writeln!(out, "The job has no backfills")?);
    }
    let plain = |_: &str| Style::new();
    let clock = WallClock::of_the_reader();
    let cells = |cell: &dyn Fn(&Value) -> String| listed.items.iter().map(cell).collect();
    let done = |it: &Value| format!("{}/{}", count(it, "done"), count(it, "total"));
    let columns = vec![
        Column::new("Number", |_| STRONG, cells(&|it| it["number"].to_string())).right(),
        Column::new("State", plain, cells(&|it| text(it, "state"))),
        Column::new("Done", plain, cells(&done)).right(),
        Column::new("Failed", plain, cells(&|it| it["failed"].to_string())).right(),
        Column::new("From", plain, cells(&|it| brief(it, "from", &clock))),
        Column::new("To", plain, cells(&|it| brief(it, "to", &clock))),
        Column::new("Asked for", plain, cells(&|it| at(it, "created_at", &clock, now))),
        Column::new("Id", plain, cells(&|it| text(it, "id"))),
    ];
    table::write(columns, out)?;
    if listed.more {
        writeln!(out, "\nThere are more: --limit N shows more of them, --all shows all.")?;
    }
    Ok(())
}

fn show(it: &Value, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let at = |field: &str| at(it, field, &clock, now);
    let rate = match it["rate"]["per_minute"].as_u64() {
        Some(per_minute) => format!("{} at once, {per_minute} a minute", it["rate"]["at_once"]),
        None => format!("{} at once", it["rate"]["at_once"]),
    };
    writeln!(out, "{STRONG}Backfill {}{STRONG:#}", it["number"])?;
    let details = [
        ("id", text(it, "id")),
        ("job", text(it, "job_id")),
        ("state", text(it, "state")),
        ("waits for", text(it, "waits_for").replace('_', " ")),
        ("from", at("from")),
        ("to", at("to")),
        ("order", text(it, "order").replace('_', " ")),
        ("cap", it["cap"].to_string()),
        ("rate", rate),
        ("again", if it["force"] == true { "slots that have run".into() } else { String::new() }),
        ("done", format!("{} of {}", it["done"], it["total"])),
        ("under way", it["under_way"].to_string()),
        ("succeeded", it["succeeded"].to_string()),
        ("failed", it["failed"].to_string()),
        ("cancelled", it["cancelled"].to_string()),
        ("skipped", it["skipped"].to_string()),
        ("already run", it["already_run"].to_string()),
        ("error", text(it, "error")),
        ("next slot", at("next_slot")),
        ("asked for", at("created_at")),
        ("changed", at("updated_at")),
        ("ended", at("ended_at")),
    ];
    table::write_details(&details, out)?;
    Ok(())
}

fn at(it: &Value, field: &str, clock: &WallClock, now: Timestamp) -> String {
    let at = it[field].as_str().and_then(Timestamp::parse);
    at.map(|at| clock.both(at, now)).unwrap_or_default()
}

fn brief(it: &Value, field: &str, clock: &WallClock) -> String {
    let at = it[field].as_str().and_then(Timestamp::parse);
    at.map(|at| clock.brief(at)).unwrap_or_default()
}

fn count(it: &Value, field: &str) -> u64 {
    it[field].as_u64().unwrap_or(0)
}

fn text(it: &Value, field: &str) -> String {
    on_one_line(it[field].as_str().unwrap_or_default()).into_owned()
}
