//! `chronos events`: what message jobs say, as they say it.

use std::io::Write;

use clap::Subcommand;
use serde_json::{Value, json};

use super::time::instant;
use super::{Ask, EXIT_CODES};
use crate::cli::Error;
use crate::cli::wall_clock::{Precision, WallClock};
use crate::proto;
use crate::proto::stream_events_request::From;
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct Events {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Follow message events until interrupted; with --json a line for each
    Tail(Tail),
}

#[derive(Debug, clap::Args)]
struct Tail {
    /// Begin after this sequence, 0 for all that are kept [default: with those that come from now on]
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    /// Only those of this job, by its name or id
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Stop after so many events
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<u64>,
}

pub(in crate::cli) fn events(args: Events, out: &mut dyn Write) -> Result<(), Error> {
    let Events { ask, verb: Verb::Tail(Tail { after, job, limit }) } = args;
    let from = Some(after.map_or(From::Latest(true), From::After));
    let request = proto::StreamEventsRequest { from, job: job.unwrap_or_default() };
    ask.daemon(async |mut daemon| {
        let stream = daemon.client.stream_events(request).await;
        let mut events = stream.map_err(|status| daemon.refusal(&status))?.into_inner();
        let mut left = limit.unwrap_or(u64::MAX);
        while left > 0 {
            let event = events.message().await.map_err(|status| daemon.refusal(&status))?;
            let Some(event) = event else {
                return Ok(());
            };
            write(&event, ask.json, out)?;
            // Nobody waits for a buffer to fill.
            out.flush()?;
            left -= 1;
        }
        Ok(())
    })
}

fn write(event: &proto::MessageEvent, as_json: bool, out: &mut dyn Write) -> Result<(), Error> {
    if as_json {
        writeln!(out, "{}", to_json(event))?;
        return Ok(());
    }
    let content = event.content.clone().unwrap_or_default();
    let said = if content.text.is_empty() { &content.structured } else { &content.text };
    let at = instant(event.occurred_at.as_ref()).unwrap_or_default();
    let clock = WallClock::of_the_reader();
    writeln!(
        out,
        "{:>8}  {}  {}",
        event.sequence,
        clock.date_and_time(at, Precision::of([at])),
        on_one_line(said)
    )?;
    Ok(())
}

/// The event with the names of the REST API.
fn to_json(event: &proto::MessageEvent) -> Value {
    let source = event.source.clone().unwrap_or_default();
    let content = event.content.clone().unwrap_or_default();
    let correlation = event.correlation.clone().unwrap_or_default();
    json!({
        "event_id": event.event_id,
        "schema_version": event.schema_version,
        "occurred_at": instant(event.occurred_at.as_ref()),
        "source": { "channel": source.channel, "connector_id": source.connector_id },
        "actor": event.actor,
        "content": {
            "text": Some(content.text).filter(|text| !text.is_empty()),
            "structured": serde_json::from_str::<Value>(&content.structured).ok(),
        },
        "context": { "timezone": event.context.clone().unwrap_or_default().timezone },
        "correlation": {
            "trace_id": correlation.trace_id,
            "dedupe_key": correlation.dedupe_key,
        },
        "slot": instant(event.slot.as_ref()),
        "sequence": event.sequence,
    })
}
