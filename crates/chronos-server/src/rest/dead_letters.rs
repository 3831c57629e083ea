//! Dead letters: executions whose slot failed for good, listed and tried again.

use axum::extract::State;
use axum::response::Response;
use chronos_core::{Execution as Dead, ExecutionId, JobId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::{Api, json};
use super::body::Body;
use super::cursor;
use super::document::WhyNot;
use super::page::{self, ExecutionPage, Paged};
use super::query::Query;
use super::wire::execution::Execution;
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

/// Dead letters that one request tries again.
const MOST: usize = 1_000;
/// Dead letters that are looked at for one page or request.
const MOST_LOOKED_AT: usize = 10_000;
/// Dead letters read at a time.
const BATCH: usize = 100;

/// Lists executions whose slot failed for good, newest first.
#[utoipa::path(get, path = "/dead-letters", tag = "dead letters",
    params(Paged,
        ("job_id" = Option<String>, Query, format = "uuid", description = "Those of one job")),
    responses(
        (status = 200, description = "Some of them", body = ExecutionPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page()?;
    let job = query.read("job_id", "the id of a job", |id| id.parse::<JobId>().ok());
    let job = job.and_then(|job| query.done("limit, cursor or job_id").map(|()| job));
    let job = job.map_err(|error| Problem::bad_parameters(vec![error]))?;
    let of = ("dead letters", job);
    let before = cursor::read(&of, asked.as_deref())?.map(ExecutionId::from_bytes);
    let (dead, rest) = find(&api, &caller, job, before, limit + 1).await?;
    let lead_on = |id: &ExecutionId| cursor::write(&of, id.as_bytes());
    let items = dead.iter().map(|row| (row.id, Execution::from(row)));
    page::answer(items, limit, lead_on, rest.as_ref().map(lead_on))
}

/// Up to `limit` dead letters of the caller, and where to go on if there may be more.
async fn find(
    api: &Api,
    caller: &Caller,
    job: Option<JobId>,
    mut before: Option<ExecutionId>,
    limit: usize,
) -> Result<(Vec<Dead>, Option<ExecutionId>), Problem> {
    let mut found = Vec::new();
    for _ in 0..MOST_LOOKED_AT / BATCH {
        let rows = api.store().dead_letters(before, BATCH).await?;
        let (read, last) = (rows.len(), rows.last().map(|row| row.id));
        for row in rows {
            if found.len() == limit {
                return Ok((found, before));
            }
            before = Some(row.id);
            if job.is_none_or(|job| job == row.job) && api.may_see(caller, row.job).await? {
                found.push(row);
            }
        }
        if read < BATCH {
            return Ok((found, None));
        }
        before = last;
    }
    Ok((found, before))
}

/// Which dead letters to try again: some by their ids, or all, perhaps of one job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"all": true, "limit": 100}))]
pub(super) struct Redrive {
    /// These; at most 1,000.
    ids: Option<Vec<String>>,
    /// All of them, newest first, up to `limit`.
    all: Option<bool>,
    /// With `all`: those of this job.
    #[schema(format = "uuid")]
    job_id: Option<String>,
    /// With `all`: how many at most; 1,000 if left out.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What became of dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Outcome {
    /// Those that are tried again.
    redriven: Vec<Again>,
    /// Those that are not, and why.
    refused: Vec<Refused>,
    /// Whether there may be more that were asked for.
    more: bool,
}

/// A dead letter that is tried again.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Again {
    /// The dead letter, which is none any more.
    #[schema(format = "uuid")]
    id: String,
    #[schema(format = "uuid")]
    job_id: String,
    /// The next attempt at its slot.
    #[schema(format = "uuid")]
    execution_id: String,
}

/// A dead letter that is not tried again.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Refused {
    #[schema(format = "uuid")]
    id: String,
    problem: Problem,
}

/// Tries dead letters again: each is queued as the next attempt at its slot and leaves the list. They
/// wait behind each other where the job's overlap policy says so.
#[utoipa::path(post, path = "/dead-letters/redrive", tag = "dead letters", request_body = Redrive,
    responses(
        (status = 200, description = "What became of them", body = Outcome),
        WhyNot))]
pub(super) async fn redrive(
    State(api): State<Api>,
    caller: Caller,
    body: Body<Redrive>,
) -> Result<Response, Problem> {
    let (dead, more) = asked_for(&api, &caller, body.value).await?;
    let mut answer = Outcome { redriven: Vec::new(), refused: Vec::new(), more };
    for id in dead {
        match again(&api, &caller, id).await {
            Ok(again) => answer.redriven.push(again),
            Err(problem) if problem.status().is_server_error() => return Err(problem),
            Err(problem) => answer.refused.push(Refused { id: id.to_string(), problem }),
        }
    }
    Ok(json(&answer))
}

/// The dead letters that are asked for, and whether there may be more.
async fn asked_for(
    api: &Api,
    caller: &Caller,
    asked: Redrive,
) -> Result<(Vec<ExecutionId>, bool), Problem> {
    let refused = |error| Err(Problem::invalid(vec![error]));
    let Redrive { ids, all, job_id, limit } = asked;
    match (ids, all) {
        (Some(ids), None | Some(false)) if job_id.is_none() && limit.is_none() => {
            if !(1..=MOST).contains(&ids.len()) {
                let problem = format!("{} ids are not accepted; use 1 to {MOST}", ids.len());
                return refused(FieldError::new("ids", problem));
            }
            let mut read = Vec::with_capacity(ids.len());
            for (number, id) in ids.iter().enumerate() {
                let Ok(id) = id.parse() else {
                    let field = format!("ids[{number}]");
                    return refused(FieldError::new(field, "it is no id; use an execution's"));
                };
                read.push(id);
            }
            Ok((read, false))
        }
        (None, Some(true)) => {
            let limit = limit.unwrap_or(MOST);
            if !(1..=MOST).contains(&limit) {
                let problem = format!("{limit} is not accepted; use 1 to {MOST}");
                return refused(FieldError::new("limit", problem));
            }
            let Ok(job) = job_id.map(|id| id.parse::<JobId>()).transpose() else {
                return refused(FieldError::new("job_id", "it is no id; use a job's"));
            };
            let (dead, rest) = find(api, caller, job, None, limit).await?;
            Ok((dead.iter().map(|dead| dead.id).collect(), rest.is_some()))
        }
        _ => refused(FieldError::new(
            "ids",
            "it is not clear which are meant; use ids alone, or all with job_id and limit if need be",
        )),
    }
}

async fn again(api: &Api, caller: &Caller, id: ExecutionId) -> Result<Again, Problem> {
    api.execution(caller, id).await?;
    let execution = api.store_for(caller).redrive(id, api.now()).await?;
    api.changes.tell(execution.job);
    Ok(Again {
        id: id.to_string(),
        job_id: execution.job.to_string(),
        execution_id: execution.id.to_string(),
    })
}
