//! What was found in the history, on the wire.

use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use chronos_history::search::{Found, Fragment, Hit, Part, Snippet, Tally};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of what was found, the best and newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchPage {
    items: Vec<SearchHit>,
    /// Leads to the next page; null on the last.
    next_cursor: Option<String>,
    /// How many there are, and when they happened; with the first page alone.
    tally: Option<SearchTally>,
}

/// Something that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchHit {
    /// `execution`, `audit`, `message` or `toc`.
    #[schema(example = "execution")]
    kind: &'static str,
    /// When it happened; of a period, when it began.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[schema(example = "2026-11-15T03:10:00+01:00")]
    local_at: String,
    /// Its type.
    #[schema(example = "execution.failed")]
    r#type: Box<str>,
    /// Whose it is.
    owner: Option<Box<str>>,
    #[schema(format = "uuid")]
    job_id: Option<String>,
    #[schema(format = "uuid")]
    execution_id: Option<String>,
    /// The period, of a node of the table of contents.
    #[schema(example = "toc:day:2026-11-15")]
    toc_id: Option<String>,
    #[schema(example = "FAILED")]
    status: Option<String>,
    /// Why it was skipped or cancelled.
    reason: Option<Box<str>>,
    /// The node that ran it, or that it is about.
    worker_id: Option<Box<str>>,
    response_code: Option<u16>,
    duration_ms: Option<f64>,
    /// How well it fits; zero where no word was asked for.
    score: f32,
    /// What the job was called when this was read; of a period, its title. In fragments: those that were looked for
    /// are marked.
    name: Vec<TextFragment>,
    /// The part of what was said about it, in fragments.
    text: Vec<TextFragment>,
    /// The part of its log or of what its target answered, if something that was looked for is there.
    output: Vec<TextFragment>,
}

/// A fragment of a text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextFragment {
    text: String,
    /// Whether it was looked for.
    marked: bool,
}

/// How many were found, and when they happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchTally {
    total: u64,
    /// Whether all were counted; of very many some are, for all.
    exact: bool,
    /// How long the parts of time are: `hour`, `day` or `month`, as the clocks of `tz` have them.
    #[schema(example = "day")]
    grain: &'static str,
    /// The parts in which there are any, in order.
    facets: Vec<SearchFacet>,
}

/// A part of time, and how many were found in it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchFacet {
    /// When it begins.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    local_from: String,
    count: u64,
}

impl SearchPage {
    pub(crate) fn of(found: Found, zone: Zone) -> Self {
        let Found { hits, next, tally } = found;
        Self {
            items: hits.into_iter().map(|hit| SearchHit::of(hit, zone)).collect(),
            next_cursor: next,
            tally: tally.map(|tally| SearchTally::of(tally, zone)),
        }
    }
}

impl SearchHit {
    fn of(hit: Hit, zone: Zone) -> Self {
        let Hit { record, score, name, text, output } = hit;
        Self {
            kind: record.kind.as_str(),
            at: record.at,
            local_at: local(record.at, zone),
            r#type: record.event,
            owner: Some(record.owner).filter(|owner| !owner.is_empty()),
            job_id: record.job.map(|job| job.to_string()),
            execution_id: record.execution.map(|execution| execution.to_string()),
            toc_id: record.period.map(|period| period.to_string()),
            status: record.status.map(|status| status.to_uppercase()),
            reason: record.reason,
            worker_id: record.node,
            response_code: record.response,
            duration_ms: record.took.map(|took| took.as_secs_f64() * 1e3),
            score,
            name: fragments(Some(name)),
            text: fragments(text),
            output: fragments(output),
        }
    }
}

impl SearchTally {
    fn of(tally: Tally, zone: Zone) -> Self {
        let Tally { total, exact, grain, parts } = tally;
        let facet =
            |Part { from, count }| SearchFacet { from, local_from: local(from, zone), count };
        let facets = parts.into_iter().map(facet).collect();
        Self { total, exact, grain: grain.as_str(), facets }
    }
}

fn fragments(snippet: Option<Snippet>) -> Vec<TextFragment> {
    let fragments = snippet.unwrap_or_default().fragments.into_iter();
    fragments.map(|Fragment { text, marked }| TextFragment { text, marked }).collect()
}

fn local(at: Timestamp, zone: Zone) -> String {
    at.to_datetime().with_timezone(&zone.tz()).to_rfc3339()
}
