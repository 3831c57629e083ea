//! Executions as they are told: one attempt at one slot, or the record that it was skipped.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::{BackfillId, Execution as Told, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// One attempt at one slot, or the record that the slot was skipped.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Execution {
    #[schema(format = "uuid")]
    pub(crate) id: String,
    #[schema(format = "uuid")]
    job_id: String,
    /// The slot: its nominal time.
    #[schema(value_type = String, format = DateTime)]
    scheduled_for: Timestamp,
    /// When it may begin: the slot, later by jitter or by the delay of a retry.
    #[schema(value_type = String, format = DateTime)]
    run_at: Timestamp,
    /// `QUEUED`, `RUNNING`, `SUCCESS`, `FAILED`, `TIMED_OUT`, `STUCK`, `CANCELLED` or `SKIPPED`.
    #[schema(example = "SUCCESS")]
    status: &'static str,
    /// Why it was skipped, cancelled or asked to stop.
    reason: Option<String>,
    /// What was written about the pause that it was skipped in.
    note: Option<String>,
    /// `schedule`, `catch_up`, `manual` or `backfill`; `notice` where it is no run of the job, but tells about
    /// one.
    #[schema(example = "schedule")]
    trigger: &'static str,
    /// The backfill that asked for it, if one did.
    #[schema(format = "uuid")]
    backfill_id: Option<String>,
    /// What it tells, if it is a notice.
    notice: Option<Notice>,
    /// Which attempt at the slot it is, from 1.
    attempt: u32,
    /// How many retries came before it.
    retry_number: u32,
    worker_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// When its worker last said that it is alive, while it runs.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_heartbeat_at: Option<Timestamp>,
    duration_ms: Option<u64>,
    /// The status that an http target answered.
    response_code: Option<u16>,
    /// How long the answer took.
    response_time_ms: Option<u64>,
    /// The body of the answer, up to 64 KiB, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
    /// The same in base64, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body_base64: Option<String>,
    /// Whether the body went on.
    response_truncated: bool,
    /// The trace that it belongs to: that of the `traceparent` it was asked for with, else one of its
    /// slot. Its target is told the same.
    #[schema(example = "4bf92f3577b34da6a3ce929d0e0e4736")]
    trace_id: String,
    error: Option<String>,
    log: Option<String>,
}

/// What a notice tells.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notice {
    /// `failure`, `recovery` or `overdue`.
    #[schema(example = "failure")]
    kind: &'static str,
    /// The execution that it is about.
    #[schema(format = "uuid")]
    about: String,
}

impl From<&chronos_core::notice::Notice> for Notice {
    fn from(notice: &chronos_core::notice::Notice) -> Self {
        Self { kind: notice.kind.as_str(), about: notice.about.execution.to_string() }
    }
}

impl From<&Told> for Execution {
    fn from(execution: &Told) -> Self {
        let (run, running) = (execution.run(), execution.running());
        let response = run.and_then(|run| run.response.as_deref());
        let body = response.map(|response| &*response.body).filter(|body| !body.is_empty());
        let text = body.and_then(|body| std::str::from_utf8(body).ok());
        let started = running.map(|running| running.started_at);
        let worker = running.map(|running| &running.lease.worker);
        let backfill = execution.trigger.backfill();
        let backfill = backfill.map(|number| BackfillId::of(execution.job, number));
        let millis = |took: std::time::Duration| took.as_millis().try_into().unwrap_or(u64::MAX);
        Self {
            id: execution.id.to_string(),
            job_id: execution.job.to_string(),
            scheduled_for: execution.slot,
            run_at: execution.run_at,
            status: execution.status(),
            reason: execution.reason().map(Into::into),
            note: execution.note().map(Into::into),
            trigger: execution.trigger.as_str(),
            backfill_id: backfill.map(|backfill| backfill.to_string()),
            notice: execution.notice().map(Into::into),
            attempt: execution.attempt,
            retry_number: execution.retry,
            worker_id: worker.or(run.map(|run| &run.worker)).map(ToString::to_string),
            started_at: started.or(run.map(|run| run.started_at)),
            finished_at: execution.finished_at(),
            last_heartbeat_at: running.map(|running| running.heartbeat_at),
            duration_ms: run.map(|run| millis(run.duration())),
            response_code: response.map(|response| response.status),
            response_time_ms: response.map(|response| millis(response.took)),
            response_body: text.map(Into::into),
            response_body_base64: body.filter(|_| text.is_none()).map(|it| STANDARD.encode(it)),
            response_truncated: response.is_some_and(|response| response.truncated),
            trace_id: execution.trace_id().to_string(),
            error: execution.error().map(Into::into),
            log: run.and_then(|run| run.log.as_deref()).map(Into::into),
        }
    }
}
