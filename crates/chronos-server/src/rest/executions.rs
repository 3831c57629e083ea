//! Executions: told one by one and by job, and cancelled.

use axum::extract::State;
use axum::response::Response;
use chronos_core::execution::CancelCause;
use chronos_core::{ExecutionId, JobId};

use super::api::{Api, json};
use super::cursor;
use super::document::WhyNot;
use super::page::{self, ExecutionPage, Paged};
use super::query::{Id, Query};
use super::wire::execution::Execution;
use crate::auth::Caller;
use crate::problem::Problem;

/// Lists a job's executions and skipped slots, newest first.
#[utoipa::path(get, path = "/jobs/{id}/executions", tag = "executions",
    params(("id" = String, Path, format = "uuid"),
        Paged),
    responses(
        (status = 200, description = "Some of them", body = ExecutionPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let of = ("executions", id);
    let before = cursor::read(&of, asked.as_deref())?.map(ExecutionId::from_bytes);
    api.job(&caller, id).await?;
    // One more than asked for tells whether there is a next page.
    let rows = api.store_of(id).executions(id, before, limit + 1).await?;
    let items = rows.iter().map(|row| (row.id, Execution::from(row)));
    page::answer(items, limit, |last| cursor::write(&of, last.as_bytes()), None)
}

/// Tells an execution.
#[utoipa::path(get, path = "/executions/{id}", tag = "executions",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The execution", body = Execution),
        WhyNot))]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<ExecutionId>,
) -> Result<Response, Problem> {
    let execution = api.execution(&caller, id).await?;
    Ok(json(&Execution::from(&execution)))
}

/// Asks a running execution to stop; cancels a waiting one at once. One that is over stays as it is.
#[utoipa::path(post, path = "/executions/{id}/cancel", tag = "executions",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The execution", body = Execution),
        WhyNot))]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<ExecutionId>,
) -> Result<Response, Problem> {
    let job = api.execution(&caller, id).await?.job;
    let store = api.scheduler_of(job).store_for(caller.id());
    store.cancel(id, CancelCause::User, api.now()).await?;
    let execution = store.execution(id).await?;
    api.changes.tell(execution.job);
    Ok(json(&Execution::from(&execution)))
}
