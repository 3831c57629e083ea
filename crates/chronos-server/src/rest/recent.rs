//! How the newest runs of several jobs went: what a table of jobs shows beside each.

use axum::extract::State;
use axum::response::Response;
use chronos_core::{Execution, JobId};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;
use utoipa::ToSchema;

use super::api::{Api, json};
use super::document::WhyNot;
use super::query::Query;
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

/// Jobs that one request asks for.
const MOST: usize = 100;
/// Runs that are told of each.
const RUNS: usize = 20;
/// Jobs that are looked at at once.
const AT_ONCE: usize = 8;

/// The newest runs of some jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecentRuns {
    items: Vec<RunsOfJob>,
}

/// The newest runs of a job.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunsOfJob {
    #[schema(format = "uuid")]
    job_id: String,
    /// Those that began and ended, the newest first, 20 at most.
    runs: Vec<RecentRun>,
}

/// How a run went.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecentRun {
    /// Its status, as an execution tells it.
    #[schema(example = "SUCCESS")]
    status: &'static str,
    duration_ms: u64,
}

/// Tells how the newest runs of several jobs went. Those of others are left out.
#[utoipa::path(get, path = "/jobs/recent", tag = "jobs",
    params(("ids" = String, Query, description = "The ids of up to 100 jobs, with commas between")),
    responses(
        (status = 200, description = "Their newest runs", body = RecentRuns),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let bad = |error| Problem::bad_parameters(vec![error]);
    let accepted = format!("the ids of up to {MOST} jobs, with commas between");
    let ids = query.read("ids", &accepted, ids).map_err(bad)?;
    query.done("ids").map_err(bad)?;
    let missing = || FieldError::new("ids", format!("it is missing; use {accepted}"));
    let ids = ids.ok_or_else(|| bad(missing()))?;
    let told = ids.into_iter().map(|id| of(&api, &caller, id));
    let told: Vec<_> = futures::stream::iter(told).buffered(AT_ONCE).try_collect().await?;
    Ok(json(&RecentRuns { items: told.into_iter().flatten().collect() }))
}

fn ids(text: &str) -> Option<Vec<JobId>> {
    let ids: Option<Vec<JobId>> = text.split(',').map(|id| id.parse().ok()).collect();
    ids.filter(|ids| ids.len() <= MOST)
}

/// The newest runs of a job, if it is there for the caller.
async fn of(api: &Api, caller: &Caller, id: JobId) -> Result<Option<RunsOfJob>, Problem> {
    if !api.may_see(caller, id).await? {
        return Ok(None);
    }
    let executions = api.store_of(id).executions(id, None, RUNS).await?;
    Ok(Some(RunsOfJob {
        job_id: id.to_string(),
        runs: executions.iter().filter_map(run).collect(),
    }))
}

fn run(execution: &Execution) -> Option<RecentRun> {
    let run = execution.run().filter(|_| execution.notice().is_none())?;
    let duration_ms = u64::try_from(run.duration().as_millis()).unwrap_or(u64::MAX);
    Some(RecentRun { status: execution.status(), duration_ms })
}
