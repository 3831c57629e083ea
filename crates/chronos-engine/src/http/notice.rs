//! Notices as webhooks are sent them.

use chronos_core::notice::Notice;
use chronos_core::{Execution, ExecutionId, JobSpec, Timestamp};
use serde::{Serialize, Serializer};

/// The body of a request that tells a notice.
#[derive(Serialize)]
struct Body<'a> {
    /// The same for every attempt at telling it.
    #[serde(serialize_with = "as_text")]
    id: ExecutionId,
    kind: &'static str,
    #[serde(serialize_with = "as_text")]
    at: Timestamp,
    job: Job<'a>,
    execution: About<'a>,
    failing_since: Option<String>,
    consecutive_failures: u32,
    trace_id: String,
}

#[derive(Serialize)]
struct Job<'a> {
    id: String,
    name: &'a str,
    owner: &'a str,
    tags: &'a [Box<str>],
}

#[derive(Serialize)]
struct About<'a> {
    id: String,
    #[serde(serialize_with = "as_text")]
    scheduled_for: Timestamp,
    attempts: u32,
    status: &'a str,
    error: Option<&'a str>,
    response_code: Option<u16>,
    started_at: Option<String>,
    finished_at: Option<String>,
}

fn as_text<T: ToString, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

/// What the execution of a notice tells about a job.
pub(crate) fn body(spec: &JobSpec, execution: &Execution, notice: &Notice) -> String {
    let about = &notice.about;
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let body = Body {
        id: ExecutionId::of(execution.job, execution.slot, &execution.trigger, 1),
        kind: notice.kind.as_str(),
        at: notice.at,
        job: Job {
            id: spec.id.to_string(),
            name: &spec.name,
            owner: &spec.owner,
            tags: &spec.tags,
        },
        execution: About {
            id: about.execution.to_string(),
            scheduled_for: about.slot,
            attempts: about.attempt,
            status: &about.status,
            error: about.error.as_deref(),
            response_code: about.response_code,
            started_at: text(about.started_at),
            finished_at: text(about.finished_at),
        },
        failing_since: text(notice.failing.map(|failing| failing.since)),
        consecutive_failures: notice.failing.map_or(0, |failing| failing.failures),
        trace_id: execution.trace_id().to_string(),
    };
    // Numbers and texts are JSON whatever they are.
    serde_json::to_string(&body).unwrap_or_default()
}
