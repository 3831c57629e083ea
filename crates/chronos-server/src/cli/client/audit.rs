//! `chronos audit`: what was decided and done, by whom and when.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use chronos_core::Timestamp;
use serde_json::Value;

use super::pages::Paging;
use super::rest::Rest;
use super::{Ask, EXIT_CODES};
use crate::cli::table::{self, Column};
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, args, write_json};
use crate::text::on_one_line;

const PATH: &str = "/audit";
/// How often whoever follows looks again.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Events that a look is at first.
const FIRST_LOOK: usize = 100;
/// Events that a look goes back to find what it has shown.
const LOOKED_AT: usize = 10_000;

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES,
    before_help = "Examples:
  chronos audit --job report --since '2026-12-01 09:00'
  chronos audit --kind schedule.missed --json
  chronos audit --kind execution --follow"
)]
pub(in crate::cli) struct Audit {
    #[command(flatten)]
    ask: Ask,
    /// Those about this job, by its name or id
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Those of this type, such as schedule.missed, or of a group, such as schedule or auth
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Those that this user asked for, by id
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Those about what is this user's, by id
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// Those that belong to this trace
    #[arg(long, value_name = "TRACE")]
    trace_id: Option<String>,
    /// Those made at this time or later, in RFC 3339 or on your clock: '2026-12-01 09:00'
    #[arg(long, value_name = "TIME", value_parser = args::moment)]
    since: Option<Timestamp>,
    /// Those made before this time
    #[arg(long, value_name = "TIME", value_parser = args::moment, conflicts_with = "follow")]
    until: Option<Timestamp>,
    /// Go on with what comes from now on, until interrupted; with --json a line for each
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(in crate::cli) fn audit(args: Audit, out: &mut dyn Write) -> Result<(), Error> {
    let Audit { ask, job, kind, actor, owner, trace_id, since, until, follow, paging } = args;
    ask.daemon(async |mut daemon| {
        let job = match job {
            Some(job) => Some(super::job::get(&mut daemon, job).await?.id),
            None => None,
        };
        let [since, until] = [since, until].map(|at| at.map(|at| at.to_string()));
        let filters = [
            ("job", job),
            ("kind", kind),
            ("actor", actor),
            ("owner", owner),
            ("trace_id", trace_id),
            ("since", since),
            ("until", until),
        ];
        let filters: Vec<(&str, &str)> =
            filters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        if follow {
            return follow_on(&daemon.rest, &filters, ask.json, out).await;
        }
        let listed = daemon.rest.pages(PATH, &filters, &paging).await?;
        if ask.json {
            return write_json(&listed.items, out);
        }
        if listed.items.is_empty() {
            return Ok(writeln!(out, "Nothing was decided that is asked for")?);
        }
        write_table(&listed.items, out)?;
        super::job::write_more(listed.more, out)
    })
}

/// Shows what comes after what was there, the oldest first, until interrupted.
async fn follow_on(
    rest: &Rest,
    filters: &[(&str, &str)],
    as_json: bool,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let there = rest.pages(PATH, filters, &Paging::of(FIRST_LOOK)).await?;
    let mut last = Last::default();
    there.items.iter().for_each(|event| last.note(event));
    loop {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let mut limit = FIRST_LOOK;
        let fresh = loop {
            let listed = rest.pages(PATH, filters, &Paging::of(limit)).await?;
            let known = listed.items.iter().any(|event| last.knows(event));
            if known || !listed.more || limit >= LOOKED_AT {
                break listed.items;
            }
            limit *= 10;
        };
        for event in fresh.iter().rev().filter(|event| !last.knows(event)) {
            if as_json {
                writeln!(out, "{event}")?;
            } else {
                let row = Row::of(event, &WallClock::of_the_reader());
                writeln!(
                    out,
                    "{}  {:<22}  {:<10}  {}",
                    row.at, row.kind, row.outcome, row.summary
                )?;
            }
        }
        for event in &fresh {
            last.note(event);
        }
        // Nobody waits for a buffer to fill.
        out.flush()?;
    }
}

/// The newest that was shown of each log.
#[derive(Default)]
struct Last {
    decision: u64,
    account: u64,
}

impl Last {
    fn note(&mut self, event: &Value) {
        match place(event) {
            Some((ACCOUNT, number)) => self.account = number.max(self.account),
            Some((_, number)) => self.decision = number.max(self.decision),
            None => {}
        }
    }

    fn knows(&self, event: &Value) -> bool {
        match place(event) {
            Some((ACCOUNT, number)) => number <= self.account,
            Some((_, number)) => number <= self.decision,
            None => false,
        }
    }
}

/// What the ids of what is told of accounts begin with.
const ACCOUNT: &str = "account";

/// The log that an event is in, and its number there.
fn place(event: &Value) -> Option<(&str, u64)> {
    let (log, number) = event["audit_id"].as_str()?.split_once('-')?;
    Some((log, number.parse().ok()?))
}

/// An event as people read it.
struct Row {
    at: String,
    kind: String,
    outcome: String,
    summary: String,
    actor: String,
}

impl Row {
    fn of(event: &Value, clock: &WallClock) -> Self {
        let text = |field: &str| on_one_line(event[field].as_str().unwrap_or_default()).to_string();
        let at = event["timestamp"].as_str().and_then(Timestamp::parse);
        Self {
            at: at.map(|at| clock.brief(at)).unwrap_or_default(),
            kind: text("type"),
            outcome: text("outcome"),
            summary: text("summary"),
            actor: text("actor"),
        }
    }
}

/// Writes events as a table.
pub(super) fn write_table(events: &[Value], out: &mut dyn Write) -> Result<(), Error> {
    let clock = WallClock::of_the_reader();
    let rows: Vec<Row> = events.iter().map(|event| Row::of(event, &clock)).collect();
    let plain = |_: &str| Style::new();
    let cells = |cell: fn(&Row) -> &String| rows.iter().map(|row| cell(row).clone()).collect();
    let columns = vec![
        Column::new(clock.tz.name(), plain, cells(|row| &row.at)),
        Column::new("Event", plain, cells(|row| &row.kind)),
        Column::new("Outcome", style, cells(|row| &row.outcome)),
        Column::new("By", plain, cells(|row| &row.actor)),
        Column::new("What", plain, cells(|row| &row.summary)),
    ];
    table::write(columns, out)?;
    Ok(())
}

fn style(outcome: &str) -> Style {
    match outcome {
        "success" => AnsiColor::Green.on_default(),
        "failure" => AnsiColor::Red.on_default(),
        "suppressed" => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    }
}
