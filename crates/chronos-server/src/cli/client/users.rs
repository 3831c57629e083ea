//! `chronos users`: who may ask a daemon for what.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use axum::http::Method;
use clap::Subcommand;
use serde_json::{Value, json};

use super::pages::Paging;
use super::password::PasswordFrom;
use super::rest::Rest;
use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::{Error, write_json};
use crate::text::on_one_line;

const ROLES: [&str; 3] = ["user", "viewer", "admin"];

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Users {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List users, in the order in which they were made
    List(Paging),
    /// Make a user; the first one is an admin
    Create(Create),
    /// Change a user's role or password, or shut the user out
    Change(Change),
    /// Remove a user; the user's jobs stay
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What people call the user
    username: String,
    /// What the user may do: user (own jobs), viewer (sees all) or admin
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = ROLES)]
    role: String,
    #[command(flatten)]
    password: PasswordFrom,
}

#[derive(Debug, clap::Args)]
struct Change {
    /// The user's name or id
    user: String,
    /// What the user may do from now on
    #[arg(long, value_name = "ROLE", value_parser = ROLES)]
    role: Option<String>,
    /// Shut the user out
    #[arg(long, conflicts_with = "enable")]
    disable: bool,
    /// Let the user in again
    #[arg(long)]
    enable: bool,
    /// Ask for a new password
    #[arg(long)]
    password: bool,
    #[command(flatten)]
    from: PasswordFrom,
}

#[derive(Debug, clap::Args)]
struct Delete {
    /// The user's name or id
    user: String,
    /// Yes: remove the user, with all logins and keys
    #[arg(long)]
    yes: bool,
}

pub(in crate::cli) fn users(args: Users, out: &mut dyn Write) -> Result<(), Error> {
    let Users { ask, verb } = args;
    match verb {
        Verb::List(paging) => list(&ask, &paging, out),
        Verb::Create(args) => create(&ask, &args, out),
        Verb::Change(args) => change(&ask, &args, out),
        Verb::Delete(args) => delete(&ask, &args, out),
    }
}

fn list(ask: &Ask, paging: &Paging, out: &mut dyn Write) -> Result<(), Error> {
    let listed = ask.rest(async |rest| {
        let fetch = async |limit, cursor: String| page(&rest, limit, &cursor).await;
        paging.collect(fetch).await
    })?;
    if ask.json {
        return write_json(&listed.items, out);
    }
    if listed.items.is_empty() {
        writeln!(out, "There are no users: whoever is on the daemon's machine may do anything")?;
        return Ok(());
    }
    let cells = |field: &str| {
        listed.items.iter().map(|user| user[field].as_str().unwrap_or_default().into()).collect()
    };
    let is_out = |user: &Value| if user["disabled"] == true { "disabled" } else { "" };
    let plain = |_: &str| Style::new();
    let columns = vec![
        Column::new("Name", plain, cells("username")),
        Column::new("Role", plain, cells("role")),
        Column::new(
            "State",
            |_| AnsiColor::Yellow.on_default(),
            listed.items.iter().map(|user| is_out(user).into()).collect(),
        ),
        Column::new("Since", plain, cells("created_at")),
        Column::new("Id", plain, cells("id")),
    ];
    table::write(columns, out)?;
    if listed.more {
        writeln!(out, "\nThere are more: --limit N shows more of them, --all shows all.")?;
    }
    Ok(())
}

async fn page(rest: &Rest, limit: u32, cursor: &str) -> Result<(Vec<Value>, String), Error> {
    let after = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
    let mut page = rest.get(&format!("/users?limit={limit}{after}")).await?;
    let items = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    Ok((items, page["next_cursor"].as_str().unwrap_or_default().into()))
}

/// The user of this id or name.
async fn find(rest: &Rest, user: &str) -> Result<Value, Error> {
    let mut cursor = String::new();
    let named = user.to_lowercase();
    loop {
        let (items, next) = page(rest, 1_000, &cursor).await?;
        let found = items.into_iter().find(|item| {
            let name = item["username"].as_str().unwrap_or_default();
            item["id"] == user || name.to_lowercase() == named
        });
        match found {
            Some(found) => return Ok(found),
            None if next.is_empty() => {
                let shown: String = user.chars().take(200).collect();
                return Err(Error::NotFound(format!("no user with the name or id \"{shown}\"")));
            }
            None => cursor = next,
        }
    }
}

fn path(user: &Value) -> String {
    format!("/users/{}", user["id"].as_str().unwrap_or_default())
}

fn create(ask: &Ask, args: &Create, out: &mut dyn Write) -> Result<(), Error> {
    let password = args.password.new_one("Password of the new user")?;
    let body = json!({"username": args.username, "password": password, "role": args.role});
    let user = ask.rest(async |rest| rest.post("/users", &body).await)?;
    tell(ask, "Made", &user, out)
}

fn change(ask: &Ask, args: &Change, out: &mut dyn Write) -> Result<(), Error> {
    let mut body = json!({});
    if let Some(role) = &args.role {
        body["role"] = json!(role);
    }
    if args.disable || args.enable {
        body["disabled"] = json!(args.disable);
    }
    if args.password || args.from.password_stdin {
        body["password"] = json!(args.from.new_one("New password")?);
    }
    if body == json!({}) {
        let problem = "nothing is to be changed; use --role, --disable, --enable or --password";
        return Err(Error::input("--role", &problem));
    }
    let user = ask.rest(async |rest| {
        let user = find(&rest, &args.user).await?;
        rest.call(Method::PATCH, &path(&user), Some(&body)).await
    })?;
    tell(ask, "Changed", &user, out)
}

fn delete(ask: &Ask, args: &Delete, out: &mut dyn Write) -> Result<(), Error> {
    if !args.yes {
        return Err(Error::input("--yes", &"needed: a removed user does not come back"));
    }
    let user = ask.rest(async |rest| {
        let user = find(&rest, &args.user).await?;
        rest.call(Method::DELETE, &path(&user), None).await?;
        Ok(user)
    })?;
    tell(ask, "Removed", &user, out)
}

fn tell(ask: &Ask, done: &str, user: &Value, out: &mut dyn Write) -> Result<(), Error> {
    if ask.json {
        return write_json(user, out);
    }
    let text = |field: &str| on_one_line(user[field].as_str().unwrap_or_default()).into_owned();
    let state = if user["disabled"] == true { ", disabled" } else { "" };
    writeln!(out, "{done} {} ({}{state}), {}", text("username"), text("role"), text("id"))?;
    Ok(())
}
