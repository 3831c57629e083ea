//! What is looked for in the history, and what was found, on the wire.

use chronos_core::schedule::Zone;
use chronos_history::search::{Found, Fragment, Hit, Part, Snippet, Tally};

use super::super::refusal::Refusal;
use super::time::{duration, timestamp};
use crate::history::Sought;
use crate::proto;

/// What somebody looks for.
pub(crate) fn asked(request: proto::SearchHistoryRequest) -> Result<Sought, Refusal> {
    let proto::SearchHistoryRequest { query, timezone, limit, cursor } = request;
    let zone = if timezone.is_empty() {
        Zone::UTC
    } else {
        Zone::parse(&timezone).map_err(|error| {
            let accepted = "an IANA name such as Europe/Berlin";
            Refusal::of("timezone", format!("{error}; use {accepted}"))
        })?
    };
    let limit = match usize::try_from(limit) {
        Ok(0) => Sought::USUAL,
        Ok(limit) if limit <= Sought::MOST => limit,
        _ => {
            let problem = format!("{limit} is too many; use a number from 1 to {}", Sought::MOST);
            return Err(Refusal::of("limit", problem));
        }
    };
    let cursor = Some(cursor).filter(|cursor| !cursor.is_empty());
    Ok(Sought { query, zone, cursor, limit })
}

/// A page of what was found.
pub(crate) fn page(found: Found) -> proto::SearchHistoryResponse {
    let Found { hits, next, tally } = found;
    proto::SearchHistoryResponse {
        hits: hits.into_iter().map(hit).collect(),
        next_cursor: next.unwrap_or_default(),
        tally: tally.map(self::tally),
    }
}

fn hit(hit: Hit) -> proto::SearchHit {
    let Hit { record, score, name, text, output } = hit;
    proto::SearchHit {
        kind: record.kind.as_str().into(),
        at: Some(timestamp(record.at)),
        r#type: record.event.into(),
        owner: record.owner.into(),
        job_id: record.job.map(|job| job.to_string()).unwrap_or_default(),
        execution_id: record.execution.map(|it| it.to_string()).unwrap_or_default(),
        toc_id: record.period.map(|period| period.to_string()).unwrap_or_default(),
        status: record.status.map(|status| status.to_uppercase()).unwrap_or_default(),
        reason: record.reason.unwrap_or_default().into(),
        worker_id: record.node.unwrap_or_default().into(),
        response_code: record.response.map(u32::from),
        duration: record.took.map(duration),
        score,
        name: fragments(Some(name)),
        text: fragments(text),
        output: fragments(output),
    }
}

fn tally(tally: Tally) -> proto::SearchTally {
    let Tally { total, exact, grain, parts } = tally;
    let facet = |Part { from, count }| proto::SearchFacet { from: Some(timestamp(from)), count };
    let facets = parts.into_iter().map(facet).collect();
    proto::SearchTally { total, exact, grain: grain.as_str().into(), facets }
}

fn fragments(snippet: Option<Snippet>) -> Vec<proto::TextFragment> {
    let fragments = snippet.unwrap_or_default().fragments.into_iter();
    fragments.map(|Fragment { text, marked }| proto::TextFragment { text, marked }).collect()
}
