//! Pruning by hand: what would be forgotten, and having it forgotten now.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chronos_core::Timestamp;
use chronos_core::store::midnight;
use chronos_history::{
    Archives, KeepRecords, PRUNE_JOB, PrunedRecords, TOC_PRUNE_JOB, prune_levels, prune_records,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::problem::Problem;
use crate::rest::api::{Api, json};
use crate::rest::body::Maybe;
use crate::rest::document::WhyNot;

/// A count that takes longer says how far it came.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether to forget at all.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::rest) struct PruneRequest {
    /// Count what would go, and let it be.
    #[serde(default)]
    dry_run: bool,
}

/// What goes, or would.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct PruneReport {
    dry_run: bool,
    /// Whether all of it was counted; counting ends after some time.
    complete: bool,
    items: Vec<PruneItem>,
    /// The runs that forget it.
    executions: Vec<String>,
}

/// What goes of one kind.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct PruneItem {
    /// `executions`, `audit`, `messages`, or a level of the table of contents such as `toc hours`.
    #[schema(example = "executions")]
    what: String,
    /// Days for which it is kept; null for ever.
    keep_days: Option<u64>,
    /// The first instant that is kept.
    #[schema(value_type = Option<String>, format = DateTime)]
    kept_since: Option<Timestamp>,
    /// How much goes; null where that was not counted.
    count: Option<u64>,
}

/// Forgets what is no longer to be kept, by running the jobs that do so; or counts what would go, and lets it be.
#[utoipa::path(post, path = "/history/prune", tag = "history", request_body = PruneRequest,
    responses(
        (status = 200, description = "What would go", body = PruneReport),
        (status = 202, description = "The jobs run", body = PruneReport),
        WhyNot))]
pub(in crate::rest) async fn prune(
    State(api): State<Api>,
    _: Caller,
    body: Maybe<PruneRequest>,
) -> Result<Response, Problem> {
    if body.value.dry_run {
        return Ok(json(&rehearse(&api).await?));
    }
    let mut executions = Vec::new();
    if api.history.keep().0 != KeepRecords::default() {
        let run = api.service.run_job(PRUNE_JOB).await.map_err(|error| refused(&error))?;
        executions.push(run.to_string());
    }
    if let Some(scheduler) = api.history.scheduler() {
        let run = scheduler.run_job(TOC_PRUNE_JOB).await.map_err(|error| refused(&error))?;
        executions.push(run.to_string());
    }
    let items = items(&api, None, &[]);
    let report = PruneReport { dry_run: false, complete: false, items, executions };
    Ok((StatusCode::ACCEPTED, json(&report)).into_response())
}

fn refused(error: &chronos_engine::SchedulerError) -> Problem {
    Problem::new(StatusCode::CONFLICT, error.to_string())
}

async fn rehearse(api: &Api) -> Result<PruneReport, Problem> {
    let (records, levels) = api.history.keep();
    let (clock, begun) = (api.service.clock().clone(), api.now());
    let late = move || clock.now().since(begun) >= PATIENCE;
    let counted = prune_records(api.store(), records, begun, true, &late).await?;
    let mut periods = Vec::new();
    if let Ok(archive) = api.history.archive() {
        let pruned = prune_levels(archive, levels, begun, true, late.clone()).await;
        periods = pruned.map_err(|error| {
            Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("the history cannot be read: {error}"),
            )
        })?;
    }
    let (complete, items) = (!late(), items(api, Some(counted), &periods));
    Ok(PruneReport { dry_run: true, complete, items, executions: Vec::new() })
}

fn items(
    api: &Api,
    counted: Option<PrunedRecords>,
    periods: &[(chronos_history::Level, u64)],
) -> Vec<PruneItem> {
    let (records, levels) = api.history.keep();
    let now = api.now();
    let item = |what: String, keep: Option<Duration>, whole_days: bool, count| PruneItem {
        what,
        keep_days: keep.map(|keep| keep.as_secs() / 86_400),
        kept_since: keep.map(|keep| {
            let since = now.before(keep);
            if whole_days { midnight(since) } else { since }
        }),
        count,
    };
    let mut items = vec![
        item("executions".into(), records.executions, true, counted.map(|it| it.executions)),
        item("audit".into(), records.audit, true, counted.map(|it| it.audit)),
        item("messages".into(), records.messages, true, counted.map(|it| it.messages)),
    ];
    let kept = levels.levels();
    for level in chronos_history::Level::ALL {
        let keep = kept.iter().find(|(other, _)| *other == level).map(|(_, keep)| *keep);
        let count = periods.iter().find(|(other, _)| *other == level).map(|(_, count)| *count);
        items.push(item(format!("toc {level}s"), keep, false, count));
    }
    items
}
