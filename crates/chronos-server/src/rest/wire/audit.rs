//! Audit events as they are told: decisions, and what was done about accounts, in one form.

use chronos_core::Timestamp;
use chronos_core::account::{Event, What};
use chronos_core::audit::{self, BackfillAct, Decision, EndingKind, Outcome, Reconciliation};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Something that was decided, done or refused. Nothing changes it afterwards.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditEvent {
    /// Names it; its number only grows within what is told of jobs (`decision-`) and of accounts (`account-`).
    #[schema(example = "decision-1042")]
    audit_id: String,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
    /// What kind of event it is.
    #[serde(rename = "type")]
    #[schema(example = "schedule.fired")]
    kind: &'static str,
    /// What was decided, in words.
    #[schema(example = "fired for 2026-12-01T09:00:00Z")]
    summary: String,
    /// `success`, `failure`, `suppressed` or `info`.
    #[schema(example = "success")]
    outcome: &'static str,
    /// The id of the user who did it; `scheduler` where nobody asked for it, `local` where somebody did who is
    /// no user: whoever is on the daemon's machine, or has not got in yet.
    #[schema(example = "scheduler")]
    actor: String,
    /// The trace that it belongs to, if it is about a run.
    #[schema(example = "4bf92f3577b34da6a3ce929d0e0e4736")]
    trace_id: Option<String>,
    /// The id of the user whose job or policy it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    execution_id: Option<String>,
    /// The quiet-hours policy that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    policy_id: Option<String>,
    /// The user whom it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    user_id: Option<String>,
    /// The API key that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    key_id: Option<String>,
    /// The slots that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<SlotRange>,
    /// What else is known of it, by its type.
    #[schema(value_type = Object)]
    details: Map<String, Value>,
}

/// Consecutive slots.
#[derive(Debug, Serialize, ToSchema)]
struct SlotRange {
    #[schema(value_type = String, format = DateTime)]
    first: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last: Timestamp,
    /// How many; null where only enumerating them could tell.
    count: Option<u64>,
}

impl From<audit::Slots> for SlotRange {
    fn from(audit::Slots { first, last, count }: audit::Slots) -> Self {
        Self { first, last, count }
    }
}

impl From<&audit::AuditEvent> for AuditEvent {
    fn from(event: &audit::AuditEvent) -> Self {
        let decision = &event.decision;
        let nobody = || if decision.is_asked_for() { "local" } else { "scheduler" }.into();
        Self {
            audit_id: format!("decision-{}", event.sequence),
            timestamp: event.at,
            kind: decision.kind(),
            summary: decision.summary(),
            outcome: decision.outcome().as_str(),
            actor: event.by.map_or_else(nobody, |by| by.to_string()),
            trace_id: event.trace_id().map(|trace| trace.to_string()),
            owner: Some(event.owner.to_string()).filter(|owner| !owner.is_empty()),
            job_id: event.job.map(|job| job.to_string()),
            execution_id: decision.execution().map(|execution| execution.to_string()),
            policy_id: decision.policy().map(|policy| policy.to_string()),
            user_id: None,
            key_id: None,
            slots: decision.slots().map(SlotRange::from),
            details: details(decision),
        }
    }
}

impl From<&Event> for AuditEvent {
    fn from(event: &Event) -> Self {
        let Event { sequence, act, user, what } = event;
        let outcome = match what {
            What::LoginRefused => Outcome::Failure,
            What::LoggedIn => Outcome::Success,
            _ => Outcome::Info,
        };
        let address = act.from.map(|from| ("address", json!(from.to_string())));
        let name = user.as_ref().map(|(_, name)| ("username", json!(name.to_string())));
        Self {
            audit_id: format!("account-{sequence}"),
            timestamp: act.at,
            kind: what.kind(),
            summary: what.summary(),
            outcome: outcome.as_str(),
            actor: act.by.map_or_else(|| "local".into(), |by| by.to_string()),
            trace_id: None,
            owner: None,
            job_id: None,
            execution_id: None,
            policy_id: None,
            user_id: user.as_ref().map(|(id, _)| id.to_string()),
            key_id: what.key().map(|key| key.to_string()),
            slots: None,
            details: map([address, name].into_iter().flatten()),
        }
    }
}

fn map(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
    entries.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What a decision says beside what every event tells.
fn details(decision: &Decision) -> Map<String, Value> {
    match decision {
        Decision::Fired { trigger, instead_of, .. } => map([
            ("trigger", json!(trigger.as_str())),
            ("backfill", json!(trigger.backfill())),
            ("instead_of", json!(instead_of.map(SlotRange::from))),
        ]),
        Decision::Skipped { reason, .. } => {
            map([("reason", json!(reason.as_str())), ("note", json!(reason.note()))])
        }
        Decision::Deferred { until, .. } => {
            map([("reason", json!("quiet_hours")), ("until", json!(until))])
        }
        Decision::Updated { version } => map([("version", json!(version))]),
        Decision::Paused { note, resume_at } => {
            map([("note", json!(note)), ("resume_at", json!(resume_at))])
        }
        Decision::Resumed { by_itself } => map([("by_itself", json!(by_itself))]),
        Decision::Ended { next_attempt, .. } => map([("next_attempt", json!(next_attempt))]),
        Decision::CancelRequested { cause, .. } => map([("cause", json!(cause.as_str()))]),
        Decision::Told { kind, about, .. } => {
            map([("notice", json!(kind.as_str())), ("about", json!(about.to_string()))])
        }
        Decision::NoticeEnded { kind, ending, next_attempt, .. } => map([
            ("notice", json!(kind.as_str())),
            ("ending", json!(ending_word(*ending))),
            ("next_attempt", json!(next_attempt)),
        ]),
        Decision::PolicyCreated { name, .. } | Decision::PolicyDeleted { name, .. } => {
            map([("name", json!(name))])
        }
        Decision::PolicyUpdated { name, version, .. } => {
            map([("name", json!(name)), ("version", json!(version))])
        }
        Decision::Reconciled(done) => reconciled(done),
        Decision::Backfill { number, act } => backfill(*number, act),
        Decision::Created
        | Decision::PolicyMissing { .. }
        | Decision::Deleted
        | Decision::Disabled
        | Decision::Enabled
        | Decision::Redriven { .. } => Map::new(),
    }
}

/// What became of a backfill.
fn backfill(number: u64, act: &BackfillAct) -> Map<String, Value> {
    let number = ("backfill", json!(number));
    match act {
        BackfillAct::Created { from, to, total, force } => map([
            number,
            ("from", json!(from)),
            ("to", json!(to)),
            ("total", json!(total)),
            ("force", json!(force)),
        ]),
        BackfillAct::Finished(counts) => map([
            number,
            ("succeeded", json!(counts.succeeded)),
            ("failed", json!(counts.failed)),
            ("cancelled", json!(counts.cancelled)),
            ("skipped", json!(counts.skipped)),
            ("already_run", json!(counts.already_run)),
        ]),
        BackfillAct::Paused | BackfillAct::Resumed | BackfillAct::Cancelled => map([number]),
    }
}

fn ending_word(ending: EndingKind) -> &'static str {
    match ending {
        EndingKind::Success => "success",
        EndingKind::Failed => "failed",
        EndingKind::TimedOut => "timed_out",
        EndingKind::Stuck => "stuck",
        EndingKind::Cancelled => "cancelled",
        EndingKind::Skipped => "skipped",
    }
}

/// What a node put in order when it started.
pub(crate) fn reconciled(done: &Reconciliation) -> Map<String, Value> {
    map([
        ("worker", json!(done.worker.as_str())),
        ("lost_runs", json!(done.lost)),
        ("jobs", json!(done.jobs)),
        ("planned_jobs", json!(done.planned)),
        ("fired_slots", json!(done.fired)),
        ("missed_slots", json!(done.missed)),
        ("skipped_slots", json!(done.skipped)),
        ("deferred_slots", json!(done.deferred)),
        ("unreadable_jobs", json!(done.unreadable)),
        ("complete", json!(done.complete)),
        ("duration_ms", json!(u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX))),
    ])
}
