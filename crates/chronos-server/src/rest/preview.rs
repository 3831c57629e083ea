//! Previews: what a schedule means and when it would fire, before anything is saved.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use chronos_core::plan::{self, Change, Difference, Live, Moved, PreviewRun, difference, preview};
use chronos_core::{Job, JobId, JobSpec, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::{Api, json};
use super::body::Body;
use super::document::WhyNot;
use super::patch;
use super::query::{Id, Query};
use super::wire::Errors;
use super::wire::schedule::{self, Schedule};
use super::wire::spec::{field_error, quiet_hours};
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

const USUAL: usize = 10;
const MOST: usize = 100;
/// How far a comparison looks ahead.
const WEEK: Duration = Duration::from_hours(7 * 24);

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
        Some(id) => Some(api.store().policy(id).await?),
    };
    let jitter = u64::from(draft.jitter_seconds.unwrap_or(0));
    let spec = JobSpec {
        jitter: Duration::from_secs(jitter),
        ..JobSpec::new(id, "preview", schedule, from)
    };
    let description = spec.schedule.describe();
    let job = Job::new(spec, from);
    let job = job.map_err(|error| Problem::invalid(vec![field_error(&error)]))?;
    let runs = preview(&job, quiet.as_ref(), count).into_iter().map(Run::from).collect();
    Ok(json(&Preview { description, runs }))
}

/// What an edit changes about the runs to come.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Comparison {
    /// The change in a sentence.
    #[schema(example = "adds 3 runs, removes 2 this week")]
    summary: String,
    /// The schedule in words, as it would be.
    description: String,
    /// Runs that there are only with the change; the first 100.
    added: Vec<Run>,
    /// Runs that there are only without it; the first 100.
    removed: Vec<Run>,
    /// Runs that begin at another time; the first 100.
    moved: Vec<MovedRun>,
    /// How many there are of each, and how many stay as they are.
    counts: RunCounts,
    /// Up to when runs were compared.
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
    /// Whether that is the end that was asked for; there are too many runs to go through otherwise.
    complete: bool,
}

/// How many runs a change adds, removes, moves and keeps.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunCounts {
    added: usize,
    removed: usize,
    moved: usize,
    kept: usize,
}

/// A run that begins at another time than it would have.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MovedRun {
    /// When it would have begun.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[serde(flatten)]
    run: Run,
}

impl From<Moved> for MovedRun {
    fn from(Moved { from, run }: Moved) -> Self {
        Self { from, run: run.into() }
    }
}

/// Tells when the next runs of a job are as it stands, with what moves or stops them.
#[utoipa::path(get, path = "/jobs/{id}/preview", tag = "schedules",
    params(("id" = String, Path, format = "uuid"),
        ("count" = Option<u32>, Query, minimum = 1, maximum = 100, description = "10 if left out")),
    responses(
        (status = 200, description = "Its next runs", body = Preview),
        WhyNot))]
pub(super) async fn upcoming(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let read = |text: &str| text.parse().ok().filter(|count| (1..=MOST).contains(count));
    let count = query.read("count", "a number from 1 to 100", read);
    let count = count.and_then(|count| query.done("count").map(|()| count));
    let count = count.map_err(|error| Problem::bad_parameters(vec![error]))?.unwrap_or(USUAL);
    let job = api.job(&caller, id).await?;
    let quiet = api.service.quiet_hours_of(&job.spec).await?;
    let runs = preview(&job, quiet.as_ref(), count).into_iter().map(Run::from).collect();
    Ok(json(&Preview { description: job.spec.schedule.describe(), runs }))
}

/// Says which runs a change of a job would add, remove and move in the week to come, or until another time.
/// Nothing is saved.
#[utoipa::path(post, path = "/jobs/{id}/preview", tag = "schedules",
    request_body(content = Object, content_type = "application/json",
        description = "The change, as a PATCH of the job takes it",
        example = json!({"schedule": {"expression": "0 8 * * 1-5"}})),
    params(("id" = String, Path, format = "uuid"),
        ("until" = Option<String>, Query, description = "The end of the time that is compared; a week from now if left out")),
    responses(
        (status = 200, description = "What changes", body = Comparison),
        WhyNot))]
pub(super) async fn compare(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    mut query: Query,
    body: Body<patch::Asked>,
) -> Result<Response, Problem> {
    let job = api.job(&caller, id).await?;
    let now = api.now();
    let until = query.instant("until").and_then(|until| query.done("until").map(|()| until));
    let until = until.map_err(|error| Problem::bad_parameters(vec![error]))?;
    let spec = patch::merged(&api, &job.spec, body.value)?;
    let quiet_before = api.service.quiet_hours_of(&job.spec).await?;
    let quiet_after = match spec.quiet_hours {
        None => None,
        Some(id) => Some(api.store().policy(id).await?),
    };
    let live = Live { quiet_hours: quiet_before.as_ref(), ..Live::default() };
    let before = plan::plan(&job, &live, now).standing;
    let amended = plan::amend(&job, &live, Change::Edit(Box::new(spec)), now);
    let amended = amended.map_err(|error| Problem::invalid(vec![field_error(&error)]))?;
    let before = Job { spec: job.spec, standing: before };
    let after = Job { spec: amended.spec, standing: amended.plan.standing };
    let found = difference(
        (&before, quiet_before.as_ref()),
        (&after, quiet_after.as_ref()),
        until.unwrap_or(now.after(WEEK)),
    );
    let span = match until {
        None if found.complete => "this week".into(),
        _ => format!("until {}", found.until),
    };
    Ok(json(&Comparison::of(found, &span, after.spec.schedule.describe())))
}

impl Comparison {
    fn of(found: Difference, span: &str, description: String) -> Self {
        let counts = RunCounts {
            added: found.added.len(),
            removed: found.removed.len(),
            moved: found.moved.len(),
            kept: found.kept,
        };
        Self {
            summary: format!("{found} {span}"),
            description,
            added: found.added.into_iter().take(MOST).map(Run::from).collect(),
            removed: found.removed.into_iter().take(MOST).map(Run::from).collect(),
            moved: found.moved.into_iter().take(MOST).map(MovedRun::from).collect(),
            counts,
            until: found.until,
            complete: found.complete,
        }
    }
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
