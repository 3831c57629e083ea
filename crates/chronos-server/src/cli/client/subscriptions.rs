//! `chronos subscriptions`: where what message jobs say is sent.

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
const PATH: &str = "/subscriptions";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Subscriptions {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List subscriptions, in the order in which they were made
    List(Paging),
    /// Have events sent to a URL
    #[command(after_help = "Examples:
  chronos subscriptions create billing --url https://example.com/events --tag billing
  chronos subscriptions create nightly --url https://example.com/events --name 'nightly-*' \\
      --signing-secret @secret.txt --after 0")]
    Create(Create),
    /// Show a subscription in full, and how far it is behind
    Show(Named),
    /// Change a subscription; what no flag names stays as it is
    Edit(Edit),
    /// Send nothing until the subscription is resumed
    Pause(Named),
    /// Go on after the event that was taken last
    Resume(Named),
    /// Delete a subscription
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The subscription's name or id
    subscription: String,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What people call the subscription
    name: String,
    /// Where events go
    #[arg(long, value_name = "URL")]
    url: String,
    /// Begin after the event of this sequence, 0 for all that are kept [default: with what comes next]
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// The subscription's name or id
    subscription: String,
    /// Give the subscription this name
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    /// Where events go from now on
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Send all events that may be heard
    #[arg(long, conflicts_with_all = ["job", "named", "tag", "owner"])]
    no_filter: bool,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
struct Delete {
    /// The subscription's name or id
    subscription: String,
    #[command(flatten)]
    confirm: Confirm,
}

pub(in crate::cli) fn subscriptions(
    args: Subscriptions,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Subscriptions { ask, verb } = args;
    match verb {
        Verb::List(paging) => list(&ask, &paging, now, out),
        Verb::Create(args) => create(&ask, args, out),
        Verb::Show(Named { subscription }) => {
            let shown = ask.rest(async |rest| {
                let found = find(&rest, &subscription).await?;
                rest.get(&path(&found)).await
            })?;
            if ask.json { write_json(&shown, out) } else { show(&shown, now, out) }
        }
        Verb::Edit(args) => edit(&ask, args, out),
        Verb::Pause(named) => switch(&ask, &named, "pause", "Paused", out),
        Verb::Resume(named) => switch(&ask, &named, "resume", "Resumed", out),
        Verb::Delete(args) => delete(&ask, &args, out),
    }
}

fn list(ask: &Ask, paging: &Paging, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let listed = ask.rest(async |rest| rest.pages(PATH, &[], paging).await)?;
    if ask.json {
        return write_json(&listed.items, out);
    }
    if listed.items.is_empty() {
        return Ok(writeln!(out, "There are no subscriptions")?);
    }
    let plain = |_: &str| Style::new();
    let clock = WallClock::of_the_reader();
    let cells = |cell: &dyn Fn(&Value) -> String| listed.items.iter().map(cell).collect();
    let columns = vec![
        Column::new("Name", |_| STRONG, cells(&|it| text(it, "name"))),
        Column::new("Status", plain, cells(&|it| text(it, "status"))),
        Column::new("Delivered", plain, cells(&|it| it["delivered"].to_string())).right(),
        Column::new("Next attempt", plain, cells(&|it| at(it, "next_attempt_at", &clock, now))),
        Column::new("Hears", plain, cells(&flags::heard)),
        Column::new("Url", plain, cells(&|it| text(it, "url"))),
        Column::new("Id", plain, cells(&|it| text(it, "id"))),
    ];
    table::write(columns, out)?;
    if listed.more {
        writeln!(out, "\nThere are more: --limit N shows more of them, --all shows all.")?;
    }
    Ok(())
}

/// The subscription of this id or name.
async fn find(rest: &Rest, asked: &str) -> Result<Value, Error> {
    let known = rest.pages(PATH, &[], &Paging::all()).await?.items;
    let is_asked = |it: &&Value| it["id"] == asked || it["name"] == asked;
    known.iter().find(is_asked).cloned().ok_or_else(|| {
        let shown: String = asked.chars().take(200).collect();
        Error::NotFound(format!("no subscription with the name or id \"{shown}\""))
    })
}

fn create(ask: &Ask, args: Create, out: &mut dyn Write) -> Result<(), Error> {
    let Create { name, url, after, flags } = args;
    let mut body = flags.changes(&json!({}))?;
    body.insert("name".into(), name.into());
    body.insert("url".into(), url.into());
    if let Some(after) = after {
        body.insert("after".into(), after.into());
    }
    let made = ask.rest(async |rest| rest.post(PATH, &Value::Object(body)).await)?;
    tell(ask, "Created", &made, out)
}

fn edit(ask: &Ask, args: Edit, out: &mut dyn Write) -> Result<(), Error> {
    let Edit { subscription, rename, url, no_filter, flags } = args;
    let edited = ask.rest(async |rest| {
        let before = find(&rest, &subscription).await?;
        let mut body = flags.changes(&before)?;
        for (field, given) in [("name", rename), ("url", url)] {
            if let Some(given) = given {
                body.insert(field.into(), given.into());
            }
        }
        if no_filter {
            body.insert("filter".into(), Value::Null);
        }
        if body.is_empty() {
            let problem = "nothing is to be changed; use --url, --rename, --job, --name, --tag, \
                --owner, --no-filter, --header, --secret-header, --signing-secret, --timeout, --retries, \
                --retry-base or --retry-max";
            return Err(Error::input("--url", &problem));
        }
        let version = before["version"].as_u64().unwrap_or(0);
        rest.patch(&path(&before), &Value::Object(body), version).await
    })?;
    tell(ask, "Changed", &edited, out)?;
    let dropped = edited["dropped_secrets"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !ask.json && !dropped.is_empty() {
        let names: Vec<&str> = dropped.iter().filter_map(Value::as_str).collect();
        writeln!(out, "Events go elsewhere now, without these secrets: {}", names.join(", "))?;
    }
    Ok(())
}

fn switch(
    ask: &Ask,
    named: &Named,
    verb: &str,
    done: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let switched = ask.rest(async |rest| {
        let found = find(&rest, &named.subscription).await?;
        rest.call(Method::POST, &format!("{}/{verb}", path(&found)), None).await
    })?;
    tell(ask, done, &switched, out)
}

fn delete(ask: &Ask, args: &Delete, out: &mut dyn Write) -> Result<(), Error> {
    args.confirm.check("a deleted subscription does not come back")?;
    let deleted = ask.rest(async |rest| {
        let found = find(&rest, &args.subscription).await?;
        let (name, url) = (text(&found, "name"), text(&found, "url"));
        if !args.confirm.ask(&format!("Delete \"{name}\" ({url})? It does not come back."))? {
            return Ok(None);
        }
        rest.call(Method::DELETE, &path(&found), None).await?;
        Ok(Some(found))
    })?;
    let Some(deleted) = deleted else {
        return Ok(writeln!(out, "Nothing was deleted")?);
    };
    if ask.json {
        return write_json(&json!({"deleted": deleted["id"]}), out);
    }
    tell(ask, "Deleted", &deleted, out)
}

fn show(it: &Value, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let at = |field: &str| at(it, field, &clock, now);
    let lag = match it["lag"]["events"].as_u64().unwrap_or(0) {
        0 => "nothing waits".into(),
        events => format!("{events} event(s), for {} s", it["lag"]["seconds"]),
    };
    let cause = it["pause_cause"].as_str().map(|cause| format!("{} by a {cause}", at("paused_at")));
    let failures = it["consecutive_failures"].as_u64().filter(|failures| *failures > 0);
    writeln!(out, "{STRONG}{}{STRONG:#}", text(it, "name"))?;
    let details = [
        ("id", text(it, "id")),
        ("status", text(it, "status")),
        ("url", text(it, "url")),
        ("headers", flags::headers(it)),
        ("signed", if it["signing_secret"].is_string() { "yes".into() } else { "no".into() }),
        ("hears", flags::heard(it)),
        ("delivered", it["delivered"].to_string()),
        ("last", at("last_delivered_at")),
        ("cursor", it["cursor"].to_string()),
        ("lag", lag),
        ("paused", cause.unwrap_or_default()),
        ("error", text(it, "last_error")),
        ("failing since", at("failing_since")),
        ("failures", failures.map(|failures| failures.to_string()).unwrap_or_default()),
        ("next attempt", at("next_attempt_at")),
        ("retries", flags::retries(it)),
        ("created", at("created_at")),
        ("changed", at("updated_at")),
        ("version", it["version"].to_string()),
    ];
    table::write_details(&details, out)?;
    Ok(())
}

fn tell(ask: &Ask, done: &str, it: &Value, out: &mut dyn Write) -> Result<(), Error> {
    if ask.json {
        return write_json(it, out);
    }
    writeln!(out, "{done} \"{}\" ({})", text(it, "name"), text(it, "id"))?;
    Ok(())
}

fn at(it: &Value, field: &str, clock: &WallClock, now: Timestamp) -> String {
    let at = it[field].as_str().and_then(Timestamp::parse);
    at.map(|at| clock.both(at, now)).unwrap_or_default()
}

fn path(it: &Value) -> String {
    format!("{PATH}/{}", it["id"].as_str().unwrap_or_default())
}

fn text(it: &Value, field: &str) -> String {
    on_one_line(it[field].as_str().unwrap_or_default()).into_owned()
}
