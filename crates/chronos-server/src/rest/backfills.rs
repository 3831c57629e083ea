//! Backfills: asked for, tried out, listed, told, paused, resumed and cancelled.

use axum::extract::State;
use axum::response::Response;
use chronos_core::backfill::{Backfill, Switch};
use chronos_core::store::Error;
use chronos_core::{BackfillId, Job, JobId};
use tracing::info;
use utoipa::ToSchema;

use super::api::{Api, json, made};
use super::body::{Body, Maybe};
use super::cursor;
use super::document::WhyNot;
use super::jobs::Nothing;
use super::page::{self, Paged};
use super::query::{Id, Query};
use super::wire::backfill::{Backfill as Told, BackfillPreview, NewBackfill};
use crate::auth::Caller;
use crate::backfills::{self, Surroundings};
use crate::problem::Problem;

/// Backfills of a job, newest first.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct BackfillPage {
    items: Vec<Told>,
    next_cursor: Option<String>,
}

/// Has past slots of a job fire after all, one after the other and at a pace. Slots that have run are passed over
/// unless `force` is set. With `dry_run` nothing is made: the answer tells what would become of each slot.
#[utoipa::path(post, path = "/jobs/{id}/backfills", tag = "backfills", request_body = NewBackfill,
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 201, description = "The backfill", body = Told, headers(("Location" = String))),
        (status = 200, description = "With `dry_run`: what it would do", body = BackfillPreview),
        (status = 409, description = "The job has too many unfinished ones, or was changed meanwhile",
            body = Problem, content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    body: Body<NewBackfill>,
) -> Result<Response, Problem> {
    let (job, now) = (api.job(&caller, id).await?, api.now());
    let asked = body.value.asked();
    api.auth.quotas().check_backfill(&caller, &job.spec, asked.rate)?;
    let backfill = backfills::think_out(job.clone(), asked, now).await?;
    if body.value.is_dry_run() {
        let slots = backfills::preview(api.store(), &backfill).await?;
        return Ok(json(&BackfillPreview::of(&backfill, &slots)));
    }
    let backfill = api.store_for(&caller).create_backfill(backfill, now).await?;
    info!(job = %id, backfill = backfill.number, by = %caller.owner, "Backfill asked for");
    let location = format!("/backfills/{}", backfill.id());
    Ok(made(tell(&api, job, &backfill).await?, &location, false))
}

/// Lists a job's backfills, newest first.
#[utoipa::path(get, path = "/jobs/{id}/backfills", tag = "backfills",
    params(("id" = String, Path, format = "uuid"), Paged),
    responses(
        (status = 200, description = "Some of them", body = BackfillPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let of = ("backfills", id);
    let before = cursor::read(&of, asked.as_deref())?.map(number_in);
    let job = api.job(&caller, id).await?;
    let owner = job.spec.owner.clone();
    let found = api.store().backfills(id, before, limit + 1).await?;
    let (around, now) = (Surroundings::of(api.store(), job).await?, api.now());
    let items = found.iter().map(|backfill| {
        (backfill.number, Told::of(backfill, &owner, around.waits_for(backfill, now)))
    });
    page::answer(items, limit, |last| cursor::write(&of, &place_of(*last)), None)
}

/// Tells a backfill, and how far it has come.
#[utoipa::path(get, path = "/backfills/{id}", tag = "backfills",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The backfill", body = Told),
        WhyNot))]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<BackfillId>,
) -> Result<Response, Problem> {
    let (job, backfill) = find(&api, &caller, id).await?;
    tell(&api, job, &backfill).await
}

/// Pauses a backfill: nothing more of it begins, what is under way goes on.
#[utoipa::path(post, path = "/backfills/{id}/pause", tag = "backfills",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The backfill", body = Told),
        (status = 409, description = "It is over", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<BackfillId>,
    _: Maybe<Nothing>,
) -> Result<Response, Problem> {
    switch(&api, &caller, id, Switch::Pause).await
}

/// Has a paused backfill go on.
#[utoipa::path(post, path = "/backfills/{id}/resume", tag = "backfills",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The backfill", body = Told),
        (status = 409, description = "It is over", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<BackfillId>,
    _: Maybe<Nothing>,
) -> Result<Response, Problem> {
    switch(&api, &caller, id, Switch::Resume).await
}

/// Cancels a backfill: what waits of it is cancelled, what runs is asked to stop.
#[utoipa::path(post, path = "/backfills/{id}/cancel", tag = "backfills",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The backfill", body = Told),
        (status = 409, description = "It is over", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<BackfillId>,
    _: Maybe<Nothing>,
) -> Result<Response, Problem> {
    switch(&api, &caller, id, Switch::Cancel).await
}

async fn switch(
    api: &Api,
    caller: &Caller,
    id: BackfillId,
    switch: Switch,
) -> Result<Response, Problem> {
    let (job, _) = find(api, caller, id).await?;
    let switched = api.store_for(caller).switch_backfill(id, switch, api.now()).await?;
    info!(backfill = %id, by = %caller.owner, ?switch, "Backfill switched");
    api.changes.tell(job.spec.id);
    tell(api, job, &switched).await
}

/// The backfill of this id and its job, if that is there for the caller.
async fn find(api: &Api, caller: &Caller, id: BackfillId) -> Result<(Job, Backfill), Problem> {
    let found = api.store().backfill(id).await?;
    match api.store().job(found.job).await {
        Ok(job) if caller.sees(&job.spec) => Ok((job, found)),
        Ok(_) | Err(Error::NoSuchJob(_)) => Err(Error::NoSuchBackfill(id).into()),
        Err(error) => Err(error.into()),
    }
}

async fn tell(api: &Api, job: Job, backfill: &Backfill) -> Result<Response, Problem> {
    let owner = job.spec.owner.clone();
    let around = Surroundings::of(api.store(), job).await?;
    Ok(json(&Told::of(backfill, &owner, around.waits_for(backfill, api.now()))))
}

/// A number in the place of an id, as cursors have it.
fn place_of(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

fn number_in(place: [u8; 16]) -> u64 {
    u64::try_from(u128::from_be_bytes(place)).unwrap_or(u64::MAX)
}
