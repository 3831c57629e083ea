//! Previews: what a schedule means and when it would fire, before anything is saved.

use axum::extract::State;
use axum::response::Response;
use chronos_core::plan::{PreviewRun, preview};
use chronos_core::{Job, JobId, JobSpec, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::{Api, json};
use super::body::Body;
use super::document::WhyNot;
use super::wire::Errors;
use super::wire::schedule::{self, Schedule};
use super::wire::spec::{field_error, quiet_hours};
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

const USUAL: usize = 10;
const MOST: usize = 100;

/// A schedule to be tried out, with what moves or stops its runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "schedule": {"type": "cron", "expression": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
    "count": 5
}))]
pub(super) struct Draft {
    #[schema(value_type = Schedule)]
    schedule: schedule::Asked,
    /// Spreads the start of each run over so many seconds.
    #[schema(minimum = 0)]
    jitter_seconds: Option<u32>,
    /// The policy that says when nothing fires.
    #[schema(format = "uuid")]
    quiet_hours_policy_id: Option<String>,
    /// A job that the schedule is for: its jitter depends on it.
    #[schema(format = "uuid")]
    job_id: Option<String>,
    /// From when on; now, if left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// How many runs; 10 if left out.
    #[schema(minimum = 1, maximum = 100)]
    count: Option<usize>,
}

/// What a schedule means.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Preview {
    /// The schedule in words.
    description: String,
    runs: Vec<Run>,
}

/// One coming slot.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Run {
    /// The time that the schedule names.
    #[schema(value_type = String, format = DateTime)]
    nominal: Timestamp,
    /// When the run begins; null when the slot is skipped.
    #[schema(value_type = Option<String>, format = DateTime)]
    effective: Option<Timestamp>,
    /// What moves or stops it.
    reasons: Vec<String>,
}

impl From<PreviewRun> for Run {
    fn from(run: PreviewRun) -> Self {
        let reasons = run.reasons.iter().map(ToString::to_string).collect();
        Self { nominal: run.nominal, effective: run.effective, reasons }
    }
}

/// Says what a schedule means and when its next runs are, with what moves or stops them. Nothing is
/// saved.
#[utoipa::path(post, path = "/schedules/preview", tag = "schedules", request_body = Draft,
    responses(
        (status = 200, description = "What it means", body = Preview),
        WhyNot))]
pub(super) async fn show(
    State(api): State<Api>,
    _: Caller,
    body: Body<Draft>,
) -> Result<Response, Problem> {
    let draft = body.value;
    let from = draft.from.unwrap_or_else(|| api.now());
    let mut errors = Errors::default();
    let schedule = draft.schedule.read(api.service.default_zone(), from);
    let schedule = errors.note(schedule.map_err(|error| error.within("schedule")));
    let policy = errors.note(quiet_hours(draft.quiet_hours_policy_id.as_deref()));
    let id = errors.note(job_id(draft.job_id.as_deref()));
    let count = errors.note(count(draft.count));
    let read = (|| Some((schedule?, policy?, id?, count?)))();
    let (schedule, policy, id, count) = errors.unless_any(read).map_err(Problem::invalid)?;
    let quiet = match policy {
        None => None,
        Some(id) => {
            let policies = api.store().policies().await?;
            let policy = policies.into_iter().find(|policy| policy.id == id);
            Some(policy.ok_or(chronos_core::store::Error::NoSuchPolicy(id))?)
        }
    };
    let jitter = u64::from(draft.jitter_seconds.unwrap_or(0));
    let spec = JobSpec {
        jitter: std::time::Duration::from_secs(jitter),
        ..JobSpec::new(id, "preview", schedule, from)
    };
    let description = spec.schedule.describe();
    let job = Job::new(spec, from);
    let job = job.map_err(|error| Problem::invalid(vec![field_error(&error)]))?;
    let runs = preview(&job, quiet.as_ref(), count).into_iter().map(Run::from).collect();
    Ok(json(&Preview { description, runs }))
}

fn job_id(id: Option<&str>) -> Result<JobId, FieldError> {
    let Some(id) = id else {
        return Ok(JobId::from_bytes([0; 16]));
    };
    id.parse().map_err(|_| FieldError::new("job_id", "it is no id; use a job's"))
}

fn count(count: Option<usize>) -> Result<usize, FieldError> {
    let count = count.unwrap_or(USUAL);
    if (1..=MOST).contains(&count) {
        return Ok(count);
    }
    Err(FieldError::new("count", format!("{count} is not accepted; use 1 to {MOST}")))
}
