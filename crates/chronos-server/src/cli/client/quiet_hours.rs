//! `chronos quiet-hours`: the hours in which nothing fires.

mod flags;

use std::io::Write;

use anstyle::Style;
use axum::http::Method;
use chronos_core::Timestamp;
use clap::Subcommand;
use serde_json::{Value, json};

use super::confirm::Confirm;
use super::pages::Paging;
use super::rest::Rest;
use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, write_json};
use crate::text::on_one_line;
use flags::Flags;

const STRONG: Style = Style::new().bold();
const PATH: &str = "/quiet-hours";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct QuietHours {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List policies, in the order in which they were made
    List(Paging),
    /// Make a policy
    #[command(after_help = "Examples:
  chronos quiet-hours create nights --window 'mon-fri 22:00-07:00' --tz Europe/Berlin
  chronos quiet-hours create weekends --window 'sat,sun 00:00-24:00' --mode defer
  chronos quiet-hours create holidays --quiet-on 2026-12-25 --quiet-on 2026-12-26")]
    Create(Create),
    /// Show a policy in full
    Show(Named),
    /// Change a policy; what no flag names stays as it is
    Edit(Edit),
    /// Delete a policy that no job observes
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The policy's name or id
    policy: String,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What people call the policy
    name: String,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// The policy's name or id
    policy: String,
    /// Give the policy this name
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    /// Let a date be as its weekday says
    #[arg(long, value_name = "DATE", value_parser = flags::date)]
    usual_on: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
struct Delete {
    /// The policy's name or id
    policy: String,
    #[command(flatten)]
    confirm: Confirm,
}

pub(in crate::cli) fn quiet_hours(
    args: QuietHours,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let QuietHours { ask, verb } = args;
    match verb {
        Verb::List(paging) => list(&ask, &paging, out),
        Verb::Create(args) => create(&ask, args, out),
        Verb::Show(Named { policy }) => {
            let policy = ask.rest(async |rest| find(&rest, &policy).await)?;
            if ask.json { write_json(&policy, out) } else { show(&policy, now, out) }
        }
        Verb::Edit(args) => edit(&ask, args, out),
        Verb::Delete(args) => delete(&ask, &args, out),
    }
}

fn list(ask: &Ask, paging: &Paging, out: &mut dyn Write) -> Result<(), Error> {
    let listed = ask.rest(async |rest| rest.pages(PATH, &[], paging).await)?;
    if ask.json {
        return write_json(&listed.items, out);
    }
    if listed.items.is_empty() {
        return Ok(writeln!(out, "There are no quiet-hours policies")?);
    }
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&Value) -> String| listed.items.iter().map(cell).collect();
    let count = |policy: &Value| match policy["exceptions"].as_array().map_or(0, Vec::len) {
        0 => String::new(),
        dates => dates.to_string(),
    };
    let columns = vec![
        Column::new("Name", |_| STRONG, cells(&|policy| text(policy, "name"))),
        Column::new("Mode", plain, cells(&|policy| text(policy, "mode"))),
        Column::new("Zone", plain, cells(&|policy| text(policy, "timezone"))),
        Column::new("Dates", plain, cells(&count)).right(),
        Column::new("Windows", plain, cells(&flags::windows)),
        Column::new("Id", plain, cells(&|policy| text(policy, "id"))),
    ];
    table::write(columns, out)?;
    if listed.more {
        writeln!(out, "\nThere are more: --limit N shows more of them, --all shows all.")?;
    }
    Ok(())
}

/// The policy of this id or name.
async fn find(rest: &Rest, asked: &str) -> Result<Value, Error> {
    let policies = rest.pages(PATH, &[], &Paging::all()).await?.items;
    let is_asked = |policy: &&Value| policy["id"] == asked || policy["name"] == asked;
    policies.iter().find(is_asked).cloned().ok_or_else(|| {
        let shown: String = asked.chars().take(200).collect();
        Error::NotFound(format!("no quiet-hours policy with the name or id \"{shown}\""))
    })
}

fn create(ask: &Ask, args: Create, out: &mut dyn Write) -> Result<(), Error> {
    let Create { name, flags } = args;
    let nothing = json!({"windows": [], "exceptions": []});
    let mut body = flags.changes(&nothing, &[]);
    body.insert("name".into(), name.into());
    let policy = ask.rest(async |rest| rest.post(PATH, &Value::Object(body)).await)?;
    tell(ask, "Created", &policy, out)
}

fn edit(ask: &Ask, args: Edit, out: &mut dyn Write) -> Result<(), Error> {
    let Edit { policy, rename, usual_on, flags } = args;
    let edited = ask.rest(async |rest| {
        let before = find(&rest, &policy).await?;
        let mut body = flags.changes(&before, &usual_on);
        if let Some(name) = rename {
            body.insert("name".into(), name.into());
        }
        if body.is_empty() {
            let problem = "nothing is to be changed; use --window, --quiet-on, --open-on, \
                --usual-on, --tz, --mode or --rename";
            return Err(Error::input("--window", &problem));
        }
        let version = before["version"].as_u64().unwrap_or(0);
        rest.patch(&path(&before), &Value::Object(body), version).await
    })?;
    tell(ask, "Changed", &edited, out)
}

fn delete(ask: &Ask, args: &Delete, out: &mut dyn Write) -> Result<(), Error> {
    args.confirm.check("a deleted policy does not come back")?;
    let deleted = ask.rest(async |rest| {
        let policy = find(&rest, &args.policy).await?;
        let (name, windows) = (text(&policy, "name"), flags::windows(&policy));
        if !args.confirm.ask(&format!("Delete \"{name}\" ({windows})? It does not come back."))? {
            return Ok(None);
        }
        rest.call(Method::DELETE, &path(&policy), None).await?;
        Ok(Some(policy))
    })?;
    let Some(policy) = deleted else {
        return Ok(writeln!(out, "Nothing was deleted")?);
    };
    if ask.json {
        return write_json(&json!({"deleted": policy["id"]}), out);
    }
    tell(ask, "Deleted", &policy, out)
}

fn show(policy: &Value, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let at = |field: &str| {
        let at = policy[field].as_str().and_then(Timestamp::parse);
        at.map(|at| clock.both(at, now)).unwrap_or_default()
    };
    writeln!(out, "{STRONG}{}{STRONG:#}", text(policy, "name"))?;
    let details = [
        ("id", text(policy, "id")),
        ("zone", text(policy, "timezone")),
        ("mode", text(policy, "mode")),
        ("windows", flags::windows(policy)),
        ("quiet on", flags::dates(policy, true)),
        ("open on", flags::dates(policy, false)),
        ("created", at("created_at")),
        ("changed", at("updated_at")),
        ("version", policy["version"].to_string()),
    ];
    table::write_details(&details, out)?;
    Ok(())
}

fn tell(ask: &Ask, done: &str, policy: &Value, out: &mut dyn Write) -> Result<(), Error> {
    if ask.json {
        return write_json(policy, out);
    }
    writeln!(out, "{done} \"{}\" ({})", text(policy, "name"), text(policy, "id"))?;
    Ok(())
}

fn path(policy: &Value) -> String {
    format!("{PATH}/{}", policy["id"].as_str().unwrap_or_default())
}

fn text(policy: &Value, field: &str) -> String {
    on_one_line(policy[field].as_str().unwrap_or_default()).into_owned()
}
