//! Jobs: made, told, changed, switched and run.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chronos_core::plan::Change;
use chronos_core::{JobId, JobSpec, Timestamp, TraceId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::api::{Api, made, made_execution};
use super::body::{Body, Maybe};
use super::document::WhyNot;
use super::idempotency::Key;
use super::patch;
use super::query::{Id, Query};
use super::trace::Trace;
use super::version::if_match;
use super::wire::execution::Execution;
use super::wire::job::Job;
use super::wire::spec::{NewJob, Recurs};
use crate::auth::Caller;
use crate::loops::Asker;
use crate::problem::Problem;
use crate::secrets;

/// Creates a one-time job. Without a schedule it runs now.
#[utoipa::path(post, path = "/jobs", tag = "jobs", request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same key with the same body makes one job, for 24 hours"),
        ("traceparent" = Option<String>, Header,
            description = "The trace that the job's runs are a part of")),
    responses(
        (status = 201, description = "The job", body = Job,
            headers(("Location" = String), ("ETag" = String))),
        (status = 200, description = "The job that the same request made before", body = Job),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    key: Key,
    Trace(trace): Trace,
    body: Body<NewJob>,
) -> Result<Response, Problem> {
    make(&api, &caller, &key, (body, trace), Recurs::Once).await
}

/// Creates a recurring job.
#[utoipa::path(post, path = "/jobs/recurring", tag = "jobs", request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same key with the same body makes one job, for 24 hours")),
    responses(
        (status = 201, description = "The job", body = Job,
            headers(("Location" = String), ("ETag" = String))),
        (status = 200, description = "The job that the same request made before", body = Job),
        WhyNot))]
pub(super) async fn create_recurring(
    State(api): State<Api>,
    caller: Caller,
    key: Key,
    body: Body<NewJob>,
) -> Result<Response, Problem> {
    make(&api, &caller, &key, (body, None), Recurs::Often).await
}

async fn make(
    api: &Api,
    caller: &Caller,
    key: &Key,
    (body, trace): (Body<NewJob>, Option<TraceId>),
    recurs: Recurs,
) -> Result<Response, Problem> {
    let (now, id) = (api.now(), api.service.new_job_id());
    let request = key.request(caller, &body.bytes);
    let spec = api.defaults().read_json(body.value, recurs, (id, &caller.owner), (None, None), now);
    let spec = JobSpec { trace, ..spec.map_err(Problem::invalid)? };
    let (id, again) = api.create(caller, (spec, request), now).await?;
    let job = api.job(caller, id).await.map_err(|problem| match problem.status() {
        StatusCode::NOT_FOUND if again => gone(&format!("the job {id} that this request made")),
        _ => problem,
    })?;
    Ok(made(api.answer(caller, &job).await?, &format!("/jobs/{id}"), again))
}

fn gone(what: &str) -> Problem {
    Problem::new(StatusCode::GONE, format!("{what} is no longer there"))
}

/// Tells a job: what was asked for, and where it stands.
#[utoipa::path(get, path = "/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The job", body = Job, headers(("ETag" = String))),
        WhyNot))]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
) -> Result<Response, Problem> {
    let job = api.job(&caller, id).await?;
    api.answer(&caller, &job).await
}

/// Changes what a job is asked to do: fields that are given take the place of those that it has, null
/// stands for the default. Schedules and targets are merged unless their type changes. Secrets do not go
/// along to another host: `dropped_secrets` names those that the job lost.
#[utoipa::path(patch, path = "/jobs/{id}", tag = "jobs", 
    request_body(content = Object, content_type = "application/json",
        description = "Any fields of a new job, and `enabled`, which switches the job off or on",
        example = json!({"max_retry": 5, "schedule": {"expression": "0 8 * * 1-5"}})),
    params(("id" = String, Path, format = "uuid"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the job as it was read")),
    responses(
        (status = 200, description = "The job", body = Job, headers(("ETag" = String))),
        (status = 412, description = "Somebody else changed it meanwhile", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn change(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    headers: HeaderMap,
    body: Body<patch::Asked>,
) -> Result<Response, Problem> {
    let before = api.job(&caller, id).await?;
    let expected = if_match(&headers, "job", before.spec.version)?;
    let job = patch::apply(&api, &caller, before.clone(), body.value, expected).await?;
    let dropped = secrets::dropped(&before.spec, &job.spec);
    api.answer_without(&caller, &job, dropped).await
}

/// Switches a job off: it has no more slots, what waits of it is cancelled, and what runs is asked to
/// stop. It can still be read, and switched on again. With `purge` it is removed for good.
#[utoipa::path(delete, path = "/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, format = "uuid"),
        ("purge" = Option<bool>, Query, description = "Removes the job for good")),
    responses(
        (status = 200, description = "The job, switched off", body = Job),
        (status = 204, description = "The job is no longer there"),
        WhyNot))]
pub(super) async fn delete(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let purge = query.flag("purge").and_then(|purge| query.done("purge").map(|()| purge));
    let purge = purge.map_err(|error| Problem::bad_parameters(vec![error]))?;
    if purge != Some(true) {
        return cancel(State(api), caller, Id(id)).await;
    }
    api.job(&caller, id).await?;
    api.scheduler_of(id).store_for(caller.id()).delete_job(id, api.now()).await?;
    api.changes.tell(id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Switches a job off, as DELETE does.
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "jobs",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The job, switched off", body = Job),
        WhyNot))]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
) -> Result<Response, Problem> {
    let job = api.amend(&caller, id, Change::Disable, None).await?;
    api.answer(&caller, &job).await
}

/// Why a job is paused, and until when.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the database moves", "resume_at": "2026-12-01T09:00:00Z"}))]
pub(super) struct PauseNote {
    /// For whoever finds it paused.
    #[schema(max_length = 1000)]
    note: Option<String>,
    /// When it resumes by itself: slots before that are skipped, that one and later ones fire. Somebody must
    /// resume it if left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    resume_at: Option<Timestamp>,
}

/// Keeps a job from firing until it is resumed, or resumes by itself. Asked again it changes the note and the
/// end of the pause if it names either, and else nothing.
#[utoipa::path(post, path = "/jobs/{id}/pause", tag = "jobs", request_body = Option<PauseNote>,
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The job", body = Job),
        WhyNot))]
pub(super) async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    body: Maybe<PauseNote>,
) -> Result<Response, Problem> {
    let PauseNote { note, resume_at } = body.value;
    let note = note.filter(|note| !note.is_empty()).map(Into::into);
    let job = api.amend(&caller, id, Change::Pause { note, resume_at }, None).await?;
    api.answer(&caller, &job).await
}

/// Lets a paused job go on with its next slot.
#[utoipa::path(post, path = "/jobs/{id}/resume", tag = "jobs",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The job", body = Job),
        WhyNot))]
pub(super) async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
) -> Result<Response, Problem> {
    let job = api.amend(&caller, id, Change::Resume, None).await?;
    api.answer(&caller, &job).await
}

/// A request that says all by its path.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Runs a job now, beside its schedule; its overlap policy may refuse.
#[utoipa::path(post, path = "/jobs/{id}/run", tag = "jobs",
    params(("id" = String, Path, format = "uuid"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "The same key makes one run, for 24 hours"),
        ("traceparent" = Option<String>, Header, description = "The trace that the run is a part of")),
    responses(
        (status = 201, description = "The run", body = Execution, headers(("Location" = String))),
        (status = 200, description = "The run that the same request made before", body = Execution),
        WhyNot))]
pub(super) async fn run(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    key: Key,
    asker: Asker,
    body: Maybe<Nothing>,
) -> Result<Response, Problem> {
    let job = api.job(&caller, id).await?;
    api.refuse_loop(&job, asker).await?;
    let trace = asker.trace;
    let scheduler = api.scheduler_of(id);
    let store = scheduler.store_for(caller.id());
    let Some(request) = key.request(&caller, &body.bytes) else {
        let execution = store.run_now(id, trace, api.now()).await?;
        scheduler.note_run(&execution).await;
        api.changes.tell(id);
        return Ok(made_execution(&execution, false));
    };
    let done = store.run_now_once(id, request, trace, api.now()).await?;
    api.changes.tell(id);
    let execution = store.execution(done.made).await.map_err(|error| match error {
        chronos_core::store::Error::NoSuchExecution(run) => gone(&format!("the run {run}")),
        error => error.into(),
    })?;
    if !done.again {
        scheduler.note_run(&execution).await;
    }
    Ok(made_execution(&execution, done.again))
}

/// Tries a job again now, in place of a retry that waits. Refused while the job runs.
#[utoipa::path(post, path = "/jobs/{id}/retry", tag = "jobs",
    params(("id" = String, Path, format = "uuid"),
        ("traceparent" = Option<String>, Header, description = "The trace that the run is a part of")),
    responses(
        (status = 201, description = "The run", body = Execution, headers(("Location" = String))),
        (status = 409, description = "The job runs", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn retry(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    asker: Asker,
    _: Maybe<Nothing>,
) -> Result<Response, Problem> {
    let job = api.job(&caller, id).await?;
    api.refuse_loop(&job, asker).await?;
    let scheduler = api.scheduler_of(id);
    let live = scheduler.store().live(&[id]).await?;
    if live.iter().any(|live| live.running().is_some() && live.notice().is_none()) {
        let detail = format!("job \"{}\" runs; wait for its end or cancel the run", job.spec.name);
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    let execution = scheduler.store_for(caller.id()).run_now(id, asker.trace, api.now()).await?;
    scheduler.note_run(&execution).await;
    api.changes.tell(id);
    Ok(made_execution(&execution, false))
}
