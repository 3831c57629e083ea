//! `chronos login`, `logout` and `whoami`: who the commands of this user ask as.

use std::io::Write;

use serde_json::{Value, json};

use super::identity::Logins;
use super::password::PasswordFrom;
use super::{Ask, EXIT_CODES};
use crate::cli::{Error, table, write_json};
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Login {
    /// Who logs in
    username: String,
    #[command(flatten)]
    password: PasswordFrom,
    #[command(flatten)]
    ask: Ask,
}

pub(in crate::cli) fn login(args: &Login, out: &mut dyn Write) -> Result<(), Error> {
    let Login { username, password, ask } = args;
    let password = password.known("Password")?;
    let told = ask.anonymous(async |rest| {
        let body = json!({"username": username, "password": password});
        rest.post("/auth/login", &body).await
    })?;
    let username = Logins::make()?.keep(ask.server(), &told)?;
    let role = told["user"]["role"].as_str().unwrap_or_default();
    if ask.json {
        return write_json(&told["user"], out);
    }
    let server = ask.server();
    writeln!(out, "Logged in at {server} as {} ({})", on_one_line(&username), on_one_line(role))?;
    Ok(())
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Logout {
    /// End every login of the user, on every machine
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    ask: Ask,
}

pub(in crate::cli) fn logout(args: &Logout, out: &mut dyn Write) -> Result<(), Error> {
    let ask = &args.ask;
    let ended =
        ask.rest(async |rest| rest.post("/auth/logout", &json!({"all": args.all})).await.map(drop));
    // A login that the daemon no longer knows is over as well.
    let known = Logins::open()?.forget(ask.server())?;
    match ended {
        Err(Error::Denied(_)) if known => {}
        ended => ended?,
    }
    if ask.json {
        return write_json(&json!({"logged_out": ask.server()}), out);
    }
    writeln!(out, "Logged out at {}", ask.server())?;
    Ok(())
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Whoami {
    #[command(flatten)]
    ask: Ask,
}

pub(in crate::cli) fn whoami(args: &Whoami, out: &mut dyn Write) -> Result<(), Error> {
    let me = args.ask.rest(async |rest| rest.get("/auth/me").await)?;
    if args.ask.json {
        return write_json(&me, out);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = match me["user"]["username"].as_str() {
        Some(name) => name.to_owned(),
        None => "the owner of the daemon on this machine".into(),
    };
    writeln!(out, "{}", on_one_line(&name))?;
    let scopes = me["scopes"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let details = [
        ("role", text(&me["role"])),
        ("known by", text(&me["known_by"])),
        ("scopes", if me["known_by"] == "key" { scopes.join(", ") } else { String::new() }),
        ("id", text(&me["user"]["id"])),
        ("daemon", args.ask.server().to_owned()),
    ];
    table::write_details(&details, out)?;
    Ok(())
}
