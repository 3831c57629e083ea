//! `chronos explain`: what happened to a job at a time, or will, and why.

use std::io::Write;

use anstyle::Style;
use chronos_core::Timestamp;
use serde_json::Value;

use super::{Ask, EXIT_CODES, audit};
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const STRONG: Style = Style::new().bold();

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES,
    before_help = "Examples:
  chronos explain report --at 2026-12-01T09:00:00Z
  chronos explain report --at '2026-12-01 10:00'"
)]
pub(in crate::cli) struct Explain {
    #[command(flatten)]
    ask: Ask,
    /// The job's name or id
    job: String,
    /// The time that is asked about, in RFC 3339 or on your clock: '2026-12-01 09:00'
    #[arg(long, value_name = "TIME", value_parser = args::moment)]
    at: Timestamp,
}

pub(in crate::cli) fn explain(args: Explain, out: &mut dyn Write) -> Result<(), Error> {
    let Explain { ask, job, at } = args;
    let told = ask.daemon(async |mut daemon| {
        let job = super::job::get(&mut daemon, job).await?.id;
        daemon.rest.get(&format!("/jobs/{job}/explain?at={at}")).await
    })?;
    if ask.json { write_json(&told, out) } else { write(&told, out) }
}

fn write(told: &Value, out: &mut dyn Write) -> Result<(), Error> {
    let [verdict, sentence] =
        ["verdict", "explanation"].map(|field| told[field].as_str().unwrap_or_default());
    writeln!(out, "{STRONG}{}{STRONG:#}: {}", verdict.replace('_', " "), on_one_line(sentence))?;
    let executions = told["executions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for run in executions {
        let text = |field: &str| on_one_line(run[field].as_str().unwrap_or_default()).to_string();
        writeln!(
            out,
            "  execution {}  attempt {}  {}",
            text("id"),
            run["attempt"],
            text("status")
        )?;
    }
    if let Some(message) = told.get("message_event") {
        writeln!(out, "  message event {}", message["sequence"])?;
    }
    let events = told["audit"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !events.is_empty() {
        writeln!(out)?;
        audit::write_table(events, out)?;
    }
    Ok(())
}
