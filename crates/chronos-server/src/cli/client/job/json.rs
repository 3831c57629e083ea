//! A job as JSON: what was asked for and where it stands, with the names of the REST API.

use chronos_core::Timestamp;
use serde::Serialize;

use super::super::spec::Spec;
use super::super::time::{duration, instant};
use crate::proto;

#[derive(Debug, Serialize)]
pub(in crate::cli::client) struct JobJson {
    id: String,
    #[serde(flatten)]
    spec: Option<Spec>,
    version: u64,
    created_at: Option<Timestamp>,
    status: String,
    enabled: bool,
    paused: Option<PauseJson>,
    description: String,
    next_execution_time: Option<Timestamp>,
    last_run_at: Option<Timestamp>,
    last_duration_ms: Option<u128>,
    last_error: Option<String>,
    fired: u64,
    manual: u64,
    succeeded: u64,
    failed: u64,
    skipped: u64,
    failed_in_a_row: u32,
    running: u32,
    waiting: u32,
}

#[derive(Debug, Serialize)]
struct PauseJson {
    since: Option<Timestamp>,
    note: String,
    resume_at: Option<Timestamp>,
}

impl From<&proto::Job> for JobJson {
    fn from(wire: &proto::Job) -> Self {
        let pause = |pause: &proto::Pause| PauseJson {
            since: instant(pause.since.as_ref()),
            note: pause.note.clone(),
            resume_at: instant(pause.resume_at.as_ref()),
        };
        Self {
            id: wire.id.clone(),
            spec: wire.spec.as_ref().map(Spec::from),
            version: wire.version,
            created_at: instant(wire.created_at.as_ref()),
            status: wire.status.clone(),
            enabled: wire.enabled,
            paused: wire.paused.as_ref().map(pause),
            description: wire.description.clone(),
            next_execution_time: instant(wire.next_execution_time.as_ref()),
            last_run_at: instant(wire.last_run_at.as_ref()),
            last_duration_ms: duration(wire.last_duration.as_ref()).map(|span| span.as_millis()),
            last_error: Some(wire.last_error.clone()).filter(|error| !error.is_empty()),
            fired: wire.fired,
            manual: wire.manual,
            succeeded: wire.succeeded,
            failed: wire.failed,
            skipped: wire.skipped,
            failed_in_a_row: wire.failed_in_a_row,
            running: wire.running,
            waiting: wire.waiting,
        }
    }
}
