//! The figures of one job by the day, for charts.

use axum::extract::State;
use axum::response::Response;
use chronos_core::JobId;
use chronos_history::{Card, Figures, JobFacts, Period};
use serde::Serialize;
use utoipa::ToSchema;

use super::toc::zone;
use crate::auth::Caller;
use crate::history::days;
use crate::problem::{FieldError, Problem};
use crate::rest::api::{Api, json};
use crate::rest::document::WhyNot;
use crate::rest::query::{Id, Query};
use crate::rest::wire::history::{Bounds, HistoryFigures};

/// The figures of a job.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct JobHistory {
    #[schema(format = "uuid")]
    job_id: String,
    /// What it is called, or was last.
    name: Box<str>,
    /// All of the days together.
    total: HistoryFigures,
    /// The days on which something happened, in order.
    days: Vec<JobDay>,
}

/// The figures of a job on a day of universal time.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct JobDay {
    /// The day.
    #[schema(example = "toc:day:2026-11-15")]
    id: String,
    #[serde(flatten)]
    bounds: Bounds,
    figures: HistoryFigures,
    /// The execution that took longest.
    #[schema(format = "uuid")]
    slowest_execution_id: Option<String>,
    /// The first execution that failed.
    #[schema(format = "uuid")]
    first_failure_id: Option<String>,
}

/// Tells the figures of a job by the day, up to the last moments: of the 30 last days, or from `from` to `to`. A job
/// that is gone is told of as long as its figures are kept.
#[utoipa::path(get, path = "/history/jobs/{id}", tag = "history",
    params(("id" = String, Path, format = "uuid"),
        ("from" = Option<String>, Query, format = DateTime,
            description = "An instant of the first day; 29 days before the last if left out"),
        ("to" = Option<String>, Query, format = DateTime,
            description = "An instant of the last day; now if left out"),
        ("tz" = Option<String>, Query, description = "The zone of local times; UTC if left out")),
    responses(
        (status = 200, description = "The figures", body = JobHistory),
        WhyNot))]
pub(in crate::rest) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let read = (|| {
        let (from, to) = (query.instant("from")?, query.instant("to")?);
        let zone = zone(&mut query)?;
        query.done("from, to or tz")?;
        let days = days(from, to, api.now()).map_err(|why| FieldError::new("from", why))?;
        Ok((days, zone))
    })();
    let ((first, last), zone) = read.map_err(|error| Problem::bad_parameters(vec![error]))?;
    let card = card(&api, &caller, id).await?;
    let known = api.history.read(move |archive| archive.days(id, &(first..=last))).await?;
    let mut total = Figures::default();
    for (_, facts) in &known {
        total.merge(&facts.figures);
    }
    let day = |(day, facts): &(Period, JobFacts)| JobDay {
        id: day.to_string(),
        bounds: Bounds::of(*day, zone),
        figures: HistoryFigures::from(&facts.figures),
        slowest_execution_id: facts.slowest.map(|slowest| slowest.execution().to_string()),
        first_failure_id: facts.failures.as_ref().map(|it| it.first.execution.to_string()),
    };
    Ok(json(&JobHistory {
        job_id: id.to_string(),
        name: card.name,
        total: HistoryFigures::from(&total),
        days: known.iter().map(day).collect(),
    }))
}

/// What a job is known by, if it is there for the caller: as it is now, or as the history remembers it.
async fn card(api: &Api, caller: &Caller, id: JobId) -> Result<Card, Problem> {
    let gone = match api.job(caller, id).await {
        Ok(job) => {
            let (owner, name) = (job.spec.owner.clone(), job.spec.name.clone());
            return Ok(Card { owner, name, host: None });
        }
        Err(problem) if problem.status() == axum::http::StatusCode::NOT_FOUND => problem,
        Err(problem) => return Err(problem),
    };
    let known = api.history.read(move |archive| archive.card(id)).await?;
    let is_there = |card: &Card| caller.sees_all() || card.owner == caller.owner;
    known.filter(is_there).ok_or(gone)
}
