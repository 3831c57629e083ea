//! `chronos keys`: what this user's programs show in the user's place.

use std::io::Write;
use std::time::Duration;

use anstyle::Style;
use axum::http::Method;
use chronos_core::Timestamp;
use clap::Subcommand;
use serde_json::{Value, json};

use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Keys {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List your API keys, without what proves them
    List,
    /// Make an API key, which is shown this once
    Create(Create),
    /// End an API key
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What the key is for
    name: String,
    /// What it is good for: read, write, admin; several are given with several flags
    #[arg(long = "scope", value_name = "SCOPE", required = true, value_parser = ["read", "write", "admin"])]
    scopes: Vec<String>,
    /// How long it is good, such as 90d; for ever if left out
    #[arg(long, value_name = "SPAN", value_parser = args::span)]
    expires_in: Option<Duration>,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// The key's id, as `chronos keys list` shows it
    id: String,
}

pub(in crate::cli) fn keys(args: Keys, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let Keys { ask, verb } = args;
    match verb {
        Verb::List => list(&ask, out),
        Verb::Create(args) => create(&ask, &args, now, out),
        Verb::Revoke(args) => revoke(&ask, &args, out),
    }
}

fn list(ask: &Ask, out: &mut dyn Write) -> Result<(), Error> {
    let page = ask.rest(async |rest| rest.get("/api-keys").await)?;
    let items = page["items"].as_array().cloned().unwrap_or_default();
    if ask.json {
        return write_json(&items, out);
    }
    if items.is_empty() {
        writeln!(out, "You have no API keys; chronos keys create makes one")?;
        return Ok(());
    }
    let plain = |_: &str| Style::new();
    let cells = |cell: &dyn Fn(&Value) -> String| items.iter().map(cell).collect();
    let text =
        |field: &'static str| move |key: &Value| key[field].as_str().unwrap_or_default().to_owned();
    let scopes = |key: &Value| {
        let scopes = key["scopes"].as_array().into_iter().flatten();
        scopes.filter_map(Value::as_str).collect::<Vec<_>>().join(",")
    };
    let columns = vec![
        Column::new("Id", plain, cells(&text("id"))),
        Column::new("Name", plain, cells(&text("name"))),
        Column::new("Scopes", plain, cells(&scopes)),
        Column::new("Expires", plain, cells(&text("expires_at"))),
        Column::new("Last used", plain, cells(&text("last_used_at"))),
    ];
    table::write(columns, out)?;
    Ok(())
}

fn create(ask: &Ask, args: &Create, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let expires_at = args.expires_in.map(|span| now.after(span).to_string());
    let body = json!({"name": args.name, "scopes": args.scopes, "expires_at": expires_at});
    let made = ask.rest(async |rest| rest.post("/api-keys", &body).await)?;
    if ask.json {
        return write_json(&made, out);
    }
    writeln!(out, "{}", on_one_line(made["key"].as_str().unwrap_or_default()))?;
    // Beside the key, so that a script gets the key alone.
    writeln!(
        anstream::stderr().lock(),
        "Made {}. Keep the key now: it is not shown again.",
        on_one_line(made["id"].as_str().unwrap_or_default())
    )?;
    Ok(())
}

fn revoke(ask: &Ask, args: &Revoke, out: &mut dyn Write) -> Result<(), Error> {
    if args.id.parse::<chronos_core::KeyId>().is_err() {
        let problem = "it is no id; use one that chronos keys list shows";
        return Err(Error::input("ID", &problem));
    }
    let path = format!("/api-keys/{}", args.id);
    ask.rest(async |rest| rest.call(Method::DELETE, &path, None).await)?;
    if ask.json {
        return write_json(&json!({"revoked": args.id}), out);
    }
    writeln!(out, "Revoked {}", args.id)?;
    Ok(())
}
