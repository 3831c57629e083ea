//! `chronos history prune`: what is no longer to be kept, forgotten or only counted.

use std::io::Write;

use anstyle::Style;
use serde_json::{Value, json};

use super::super::confirm::Confirm;
use super::Ask;
use crate::cli::table::{self, Column};
use crate::cli::{Error, write_json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Say what would go, and let it be
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: Confirm,
}

pub(super) fn run(ask: &Ask, args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    if !args.dry_run {
        args.confirm.check("forgetting what is no longer to be kept")?;
        let question = "What is forgotten cannot be had back. Forget what is no longer to be kept?";
        if !args.confirm.ask(question)? {
            writeln!(out, "Nothing was done")?;
            return Ok(());
        }
    }
    let told = ask.daemon(async |daemon| {
        daemon.rest.post("/history/prune", &json!({ "dry_run": args.dry_run })).await
    })?;
    if ask.json {
        return write_json(&told, out);
    }
    if !args.dry_run {
        writeln!(
            out,
            "What is no longer to be kept is being forgotten; see: chronos scheduler list"
        )?;
        return Ok(());
    }
    write(&told, out)
}

fn write(told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    let items = told["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let cells = |cell: &dyn Fn(&Value) -> String| items.iter().map(cell).collect();
    let text = |field: &'static str| {
        move |item: &Value| match &item[field] {
            Value::Null => "for ever".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    };
    // What is kept for ever is not counted.
    let count = |item: &Value| item["count"].as_u64().map(|it| it.to_string()).unwrap_or_default();
    let plain = |_: &str| Style::new();
    table::write(
        vec![
            Column::new("What", |_| Style::new().bold(), cells(&text("what"))),
            Column::new("Kept for (days)", plain, cells(&text("keep_days"))).right(),
            Column::new("Kept since", plain, cells(&text("kept_since"))),
            Column::new("Would go", plain, cells(&count)).right(),
        ],
        out,
    )?;
    Ok(())
}
