//! `chronos history search`: what happened, found by its words.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use serde_json::{Value, json};

use super::super::rest::Rest;
use super::Ask;
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const FAINT: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();
const MARKED: Style = AnsiColor::Yellow.on_default().bold();
/// Hits of a page at most.
const PAGE: usize = 100;

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  chronos history search 'job:invoice status:failed \"connection reset\"'
  chronos history search 'disk full after:2026-11-01 -staging'
  chronos history search kind:audit type:schedule.paused --json

Words and phrases are all asked for; -word is what must not be there, and goes
into quotes with the rest. Fields are job, status, owner, type, node,
reason, kind (execution, audit, message or toc), after and before.")]
pub(super) struct Args {
    /// What to look for; everything if left out
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// How many to show, at most
    #[arg(long, value_name = "N", default_value = "20", value_parser = args::limit)]
    limit: usize,
    /// The zone of days and times in the query, and of those that are shown [default: that of this machine]
    #[arg(long, value_name = "ZONE", value_parser = args::zone)]
    tz: Option<Zone>,
}

/// What was found.
struct Found {
    items: Vec<Value>,
    tally: Value,
    more: bool,
}

pub(super) fn run(ask: &Ask, args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let clock = match args.tz {
        Some(zone) => WallClock::of(zone),
        None => WallClock::of_the_reader(),
    };
    let query = query(&args.query);
    let found =
        ask.daemon(async |daemon| search(&daemon.rest, &query, clock.tz.name(), args.limit).await)?;
    let Found { items, tally, more } = found;
    if ask.json {
        return write_json(&json!({"items": items, "tally": tally, "more": more}), out);
    }
    for item in &items {
        write(item, &clock, out)?;
    }
    let total = tally["total"].as_u64().unwrap_or(items.len() as u64);
    let about = if tally["exact"].as_bool().unwrap_or(true) { "" } else { "about " };
    let shown =
        if more { format!(", {} shown; --limit shows more", items.len()) } else { String::new() };
    match total {
        0 => writeln!(out, "Nothing was found")?,
        total => writeln!(out, "{FAINT}{about}{total} found{shown}{FAINT:#}")?,
    }
    Ok(())
}

async fn search(rest: &Rest, query: &str, tz: &str, limit: usize) -> Result<Found, Error> {
    let mut found = Found { items: Vec::new(), tally: Value::Null, more: false };
    let mut cursor = String::new();
    loop {
        let mut parameters = url::form_urlencoded::Serializer::new(String::new());
        let page = (limit - found.items.len()).min(PAGE).to_string();
        parameters.append_pair("query", query).append_pair("tz", tz).append_pair("limit", &page);
        if !cursor.is_empty() {
            parameters.append_pair("cursor", &cursor);
        }
        let mut page = rest.get(&format!("/history/search?{}", parameters.finish())).await?;
        if let Value::Array(items) = page["items"].take() {
            found.items.extend(items);
        }
        if found.tally.is_null() {
            found.tally = page["tally"].take();
        }
        page["next_cursor"].as_str().unwrap_or_default().clone_into(&mut cursor);
        found.more = !cursor.is_empty();
        if !found.more || found.items.len() >= limit {
            return Ok(found);
        }
    }
}

/// The query that arguments mean. One alone is a query as it is; of several, those with blanks in them were
/// phrases before the shell took their quotes away.
fn query(arguments: &[String]) -> String {
    if let [whole] = arguments {
        return whole.clone();
    }
    let part = |argument: &String| {
        if !argument.contains(char::is_whitespace) || argument.contains('"') {
            return argument.clone();
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.trim_start_matches('-').chars().all(char::is_alphabetic)
        };
        match argument.split_once(':') {
            Some((field, value)) if is_name(field) => format!("{field}:\"{value}\""),
            _ => match argument.strip_prefix('-') {
                Some(phrase) => format!("-\"{phrase}\""),
                None => format!("\"{argument}\""),
            },
        }
    };
    arguments.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn write(item: &Value, clock: &WallClock, out: &mut dyn Write) -> Result<(), Error> {
    let text = |field: &str| on_one_line(item[field].as_str().unwrap_or_default()).to_string();
    let at = item["at"].as_str().and_then(Timestamp::parse);
    let at = at.map(|at| clock.brief(at)).unwrap_or_default();
    let status = text("status");
    let what = if status.is_empty() { text("type") } else { status };
    let style = match what.as_str() {
        "SUCCESS" => AnsiColor::Green.on_default(),
        "FAILED" | "TIMED_OUT" | "STUCK" => AnsiColor::Red.on_default(),
        "CANCELLED" | "SKIPPED" => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    };
    write!(out, "{at}  {style}{what}{style:#}  ")?;
    write_fragments(&item["name"], STRONG, out)?;
    for field in ["response_code", "reason", "worker_id"] {
        let told = match &item[field] {
            Value::String(told) => on_one_line(told).to_string(),
            Value::Number(told) => told.to_string(),
            _ => continue,
        };
        write!(out, "  {FAINT}{told}{FAINT:#}")?;
    }
    writeln!(out)?;
    for field in ["text", "output"] {
        if item[field].as_array().is_some_and(|fragments| !fragments.is_empty()) {
            write!(out, "    ")?;
            write_fragments(&item[field], Style::new(), out)?;
            writeln!(out)?;
        }
    }
    let ids = ["toc_id", "execution_id"].map(text);
    if let Some(id) = ids.iter().find(|id| !id.is_empty()) {
        writeln!(out, "    {FAINT}{id}{FAINT:#}")?;
    }
    Ok(())
}

fn write_fragments(fragments: &Value, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    for fragment in fragments.as_array().into_iter().flatten() {
        let text = fragment["text"].as_str().unwrap_or_default();
        let style = if fragment["marked"] == true { MARKED } else { style };
        write!(out, "{style}{}{style:#}", on_one_line(text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_shell_took_the_quotes_of_is_a_phrase_again() {
        for (arguments, meant) in [
            (vec![], ""),
            (vec!["connection reset"], "connection reset"),
            (vec!["job:invoice", "connection reset"], "job:invoice \"connection reset\""),
            (vec!["a", "-by peer"], "a -\"by peer\""),
            (vec!["a", "job:invoice sync"], "a job:\"invoice sync\""),
            (vec!["a", "-job:invoice sync"], "a -job:\"invoice sync\""),
            (vec!["a", "\"b c\" d"], "a \"b c\" d"),
        ] {
            let arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
            assert_eq!(query(&arguments), meant);
        }
    }
}
