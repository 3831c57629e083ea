//! Explaining: what happened at a time of a job, or will, and why, with the records that say so.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use chronos_core::audit::Decision;
use chronos_core::explain::{self, Explanation, Question};
use chronos_core::store::{AuditFilter, AuditWalk, EventFilter, Store};
use chronos_core::{Execution, ExecutionId, JobId, MessageEvent, Timestamp, audit, store};
use serde::Serialize;
use utoipa::ToSchema;

use super::api::{Api, json};
use super::document::WhyNot;
use super::preview::Run;
use super::query::{Id, Query};
use super::wire;
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

/// Executions that are read at a time.
const AT_ONCE: usize = 100;
/// Executions and decisions that are told at most.
const MOST: usize = 100;
/// Pages of the audit that are looked at for one answer.
const PAGES: usize = 24;
/// A decision may be filed this much later than its execution tells.
const LEEWAY: Duration = Duration::from_secs(1);

/// What happened at a time of a job, or will, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SlotExplanation {
    #[schema(format = "uuid")]
    job_id: String,
    /// The time that was asked about.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The slot that is meant by it; null where there is none.
    #[schema(value_type = Option<String>, format = DateTime)]
    slot: Option<Timestamp>,
    /// `fired`, `skipped`, `missed`, `deferred`, `due`, `upcoming`, `will_be_skipped`, `off`, `no_slot`,
    /// `not_kept` or `no_record`.
    #[schema(example = "skipped")]
    verdict: &'static str,
    /// What happened and why, in a sentence.
    #[schema(example = "2026-12-01T09:00:00Z was skipped: the job was paused")]
    explanation: String,
    /// The slots of today's schedule nearest to it.
    nearest: NearestSlots,
    /// When and why it will run, if it is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    coming: Option<Run>,
    /// What ran, runs, waits or was skipped for it, the first attempt first.
    executions: Vec<wire::execution::Execution>,
    /// What was decided about it, the oldest first.
    audit: Vec<wire::audit::AuditEvent>,
    /// What it said, if it is of a message job.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_event: Option<wire::event::MessageEvent>,
}

/// The slots before and after a time.
#[derive(Debug, Serialize, ToSchema)]
struct NearestSlots {
    #[schema(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
}

/// Says what happened to a job at a time, or will, and why: in one sentence, with the records that say so. A
/// time without a part of a second stands for all of that second.
#[utoipa::path(get, path = "/jobs/{id}/explain", tag = "audit",
    params(("id" = String, Path, format = "uuid"),
        ("at" = String, Query, format = DateTime, description = "The time that is asked about")),
    responses(
        (status = 200, description = "What happened", body = SlotExplanation),
        WhyNot))]
pub(super) async fn explain(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let bad = |error| Problem::bad_parameters(vec![error]);
    let missing =
        || FieldError::new("at", "it is missing; use an instant such as 2026-12-01T09:00:00Z");
    let at = query.instant("at").and_then(|at| query.done("at").map(|()| at)).map_err(bad)?;
    let at = at.ok_or_else(|| bad(missing()))?;
    let job = api.job(&caller, id).await?;
    let quiet_hours = api.service.quiet_hours_of(&job.spec).await?;
    let (kept, now) = (api.store_of(id), api.now());
    let store = kept.as_ref();
    let meant = explain::meant(at);
    let executions = executions(store, id, meant).await?;
    let events = decisions(store, id, meant, &executions).await?;
    let found = explain::explain(&Question {
        job: &job,
        quiet_hours: quiet_hours.as_ref(),
        at,
        now,
        executions: &executions,
        events: &events,
        kept_since: kept_since(store, job.spec.created_at).await?,
        off_since: off_since(store, id, meant.1).await?,
    });
    let message = match executions.iter().find(|run| run.run().is_some()) {
        Some(run) if job.spec.template().is_some() => message(store, run).await?,
        _ => None,
    };
    Ok(json(&told(id, at, found, (&executions, &events, message))))
}

fn told(
    job: JobId,
    at: Timestamp,
    found: Explanation,
    (executions, events, message): (&[Execution], &[audit::AuditEvent], Option<MessageEvent>),
) -> SlotExplanation {
    let (before, after) = found.nearest;
    SlotExplanation {
        job_id: job.to_string(),
        at,
        slot: found.slot,
        verdict: found.verdict.as_str(),
        explanation: found.sentence,
        nearest: NearestSlots { before, after },
        coming: found.coming.map(Run::from),
        executions: executions.iter().map(wire::execution::Execution::from).collect(),
        audit: events.iter().map(wire::audit::AuditEvent::from).collect(),
        message_event: message.as_ref().map(wire::event::MessageEvent::from),
    }
}

/// The job's executions for slots that are meant, the oldest first.
async fn executions(
    store: &dyn Store,
    job: JobId,
    (from, to): (Timestamp, Timestamp),
) -> store::Result<Vec<Execution>> {
    // Ids sort by their slots, to the millisecond.
    let mut before = ExecutionId::new(to.after(Duration::from_millis(1)), [0; 10]);
    let mut found: Vec<Execution> = Vec::new();
    while found.len() < MOST {
        let page = store.executions(job, Some(before), AT_ONCE).await?;
        let Some(last) = page.last() else { break };
        before = last.id;
        let over = last.slot < from || page.len() < AT_ONCE;
        found.extend(page.into_iter().filter(|run| (from..to).contains(&run.slot)));
        if over {
            break;
        }
    }
    found.truncate(MOST);
    found.reverse();
    Ok(found)
}

/// What was decided about slots that are meant, the oldest first. Nothing is decided about a slot before it
/// comes, nor long after the last run for it was over.
async fn decisions(
    store: &dyn Store,
    job: JobId,
    (from, to): (Timestamp, Timestamp),
    executions: &[Execution],
) -> store::Result<Vec<audit::AuditEvent>> {
    let ends: Option<Vec<Timestamp>> = executions.iter().map(Execution::finished_at).collect();
    let until = ends.and_then(|ends| ends.into_iter().max()).map(|end| end.after(LEEWAY));
    let filter = AuditFilter { job: Some(job), since: Some(from), until, ..AuditFilter::default() };
    let (mut found, mut after) = (Vec::new(), 0);
    for _ in 0..PAGES {
        let page = store.find_audit(&filter, AuditWalk::OldestFirst(after), 1_000).await?;
        let concerned = |event: &audit::AuditEvent| event.decision.concerns(from, to);
        found.extend(page.events.into_iter().filter(concerned));
        // Without a run a slot is accounted for by the first that is decided about it.
        let decided = executions.is_empty() && !found.is_empty();
        match page.next {
            Some(next) if !decided && found.len() < MOST => after = next,
            _ => break,
        }
    }
    found.truncate(MOST);
    Ok(found)
}

/// Since when all that was decided is kept.
async fn kept_since(store: &dyn Store, created_at: Timestamp) -> store::Result<Timestamp> {
    let oldest = store.find_audit(&AuditFilter::default(), AuditWalk::OldestFirst(0), 1).await?;
    let oldest = oldest.events.first();
    // The first decision there ever was is followed by all others.
    let kept = oldest.filter(|oldest| oldest.sequence > 1).map(|oldest| oldest.at);
    Ok(kept.unwrap_or(created_at).max(created_at))
}

/// When the job was switched off, if it was then.
async fn off_since(
    store: &dyn Store,
    job: JobId,
    until: Timestamp,
) -> store::Result<Option<Timestamp>> {
    let last = |kind: &str| {
        let (kind, until) = (Some(kind.into()), Some(until));
        AuditFilter { job: Some(job), kind, until, ..AuditFilter::default() }
    };
    let off = newest(store, &last("schedule.cancelled"), &Decision::Disabled).await?;
    let on = newest(store, &last("schedule.resumed"), &Decision::Enabled).await?;
    let is_off = |off: &audit::AuditEvent| on.is_none_or(|on| on.sequence < off.sequence);
    Ok(off.filter(is_off).map(|off| off.at))
}

/// The newest decision of these that says just this.
async fn newest(
    store: &dyn Store,
    filter: &AuditFilter,
    decision: &Decision,
) -> store::Result<Option<audit::AuditEvent>> {
    let mut walk = AuditWalk::NewestFirst(None);
    for _ in 0..PAGES {
        let page = store.find_audit(filter, walk, AT_ONCE).await?;
        if let Some(found) = page.events.into_iter().find(|event| event.decision == *decision) {
            return Ok(Some(found));
        }
        let Some(next) = page.next else { break };
        walk = AuditWalk::NewestFirst(Some(next));
    }
    Ok(None)
}

/// What a run of a message job said, if that is still kept. Messages are in the order of their times, but for
/// clocks that differ by a little: so the place is found by halving.
async fn message(store: &dyn Store, run: &Execution) -> store::Result<Option<MessageEvent>> {
    let said_at = run.finished_at().unwrap_or(run.slot).before(LEEWAY);
    let (mut low, mut high) = (0, store.newest_message().await?);
    while low < high {
        let middle = low + (high - low) / 2;
        let page = store.message_events(&EventFilter::default(), middle, 1).await?;
        match page.events.first() {
            Some(event) if event.message.occurred_at < said_at => low = event.sequence,
            _ => high = middle,
        }
    }
    let filter = EventFilter { job: Some(run.job), ..EventFilter::default() };
    let page = store.message_events(&filter, low, AT_ONCE).await?;
    Ok(page.events.into_iter().find(|event| event.message.id == run.id))
}
