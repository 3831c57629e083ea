//! Monitoring: figures about the whole system, and the workers that make it go.

use axum::extract::State;
use axum::response::Response;
use chronos_core::store::{JobCounts, JobFilter, Stats};
use chronos_core::{JobSpec, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::api::{Api, json};
use super::document::WhyNot;
use crate::auth::Caller;
use crate::metrics::Figures;
use crate::problem::Problem;

/// Figures about the whole system.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobFigures {
    jobs: Jobs,
    executions: Executions,
    /// How long runs took, on average, in milliseconds; null before the first.
    avg_duration_ms: Option<f64>,
    /// Attempts begun because one failed.
    retries: u64,
    /// Executions lost with their worker.
    stuck: u64,
    /// Jobs whose slot is past by more than the usual grace and has not fired; 1,000 at most.
    overdue: usize,
    /// How long after its time a run began, in milliseconds.
    start_lag: Latency,
    /// How long the scheduler took to look for due jobs and fire them, in milliseconds.
    scheduler_scan: Latency,
    throughput: Throughput,
    /// By how many milliseconds this node's clock is ahead of the one that nodes share; null where there is none.
    clock_skew_ms: Option<f64>,
    /// Bytes that the store holds.
    store_bytes: u64,
    /// Since when executions are counted.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

/// Jobs, by their status.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Jobs {
    total: u64,
    /// Created since the start.
    created: u64,
    pending: u64,
    running: u64,
    retry_pending: u64,
    success: u64,
    failed: u64,
    disabled: u64,
    paused: u64,
}

/// Executions: those that wait and run now, and those that ended since the start.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Executions {
    queued: u64,
    running: u64,
    success: u64,
    failed: u64,
    timed_out: u64,
    stuck: u64,
    cancelled: u64,
    skipped: u64,
}

/// How long something took.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the unit is part of what is told")]
pub(super) struct Latency {
    avg_ms: Option<f64>,
    max_ms: Option<f64>,
    /// Half of them took no longer than this, to a fifth.
    p50_ms: Option<f64>,
    /// Of a hundred, 99 took no longer than this, to a fifth.
    p99_ms: Option<f64>,
}

/// Overdue jobs that are counted.
const OVERDUE: usize = 1_000;

/// How much this worker gets done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Throughput {
    /// Runs brought to an end since the start.
    runs: u64,
    /// The same by the second, on average.
    runs_per_second: f64,
}

/// Tells figures about every job and execution; those of /metrics.
#[utoipa::path(get, path = "/monitoring/jobs", tag = "monitoring",
    responses((status = 200, description = "The figures", body = JobFigures),
        WhyNot,
        (status = "5XX", description = "Why not", body = Problem,
            content_type = "application/problem+json")))]
pub(super) async fn jobs(State(api): State<Api>, _: Caller) -> Result<Response, Problem> {
    let (stats, counts) = (api.store().stats().await?, api.store().count_jobs().await?);
    let overdue = overdue(&api).await?;
    let told = figures(&api.metrics.figures(), &stats, &counts, api.since, api.now());
    let clock_skew_ms = api.metrics.skew_ms();
    Ok(json(&JobFigures { overdue, clock_skew_ms, ..told }))
}

/// How many jobs should have fired by now.
async fn overdue(api: &Api) -> Result<usize, Problem> {
    let next_before = Some(api.now().before(JobSpec::DEFAULT_GRACE));
    let filter = JobFilter { paused: Some(false), next_before, ..JobFilter::default() };
    // Few jobs are, so that the first page tells all of them.
    Ok(api.store().find_jobs(&filter, None, OVERDUE).await?.jobs.len())
}

fn figures(
    counted: &Figures,
    stats: &Stats,
    counts: &JobCounts,
    since: Timestamp,
    now: Timestamp,
) -> JobFigures {
    let seconds = now.since(since).as_secs_f64().max(1.0);
    let latency = |of: &crate::metrics::Spans| Latency {
        avg_ms: of.average_ms(),
        max_ms: of.longest_ms(),
        p50_ms: of.median_ms(),
        p99_ms: of.most_ms(),
    };
    JobFigures {
        jobs: Jobs {
            total: stats.jobs,
            created: counted.created,
            pending: counts.pending,
            running: counts.running,
            retry_pending: counts.retry_pending,
            success: counts.success,
            failed: counts.failed,
            disabled: counts.disabled,
            paused: stats.paused,
        },
        executions: Executions {
            queued: stats.queued,
            running: stats.running,
            success: counted.success,
            failed: counted.failed,
            timed_out: counted.timed_out,
            stuck: counted.stuck,
            cancelled: counted.cancelled,
            skipped: counted.skipped,
        },
        avg_duration_ms: counted.durations.average_ms(),
        retries: counted.retries,
        stuck: counted.stuck,
        overdue: 0,
        start_lag: latency(&counted.lags),
        scheduler_scan: latency(&counted.scans),
        throughput: Throughput {
            runs: counted.worker_runs,
            runs_per_second: counted.worker_runs as f64 / seconds,
        },
        clock_skew_ms: None,
        store_bytes: stats.bytes,
        since,
    }
}

/// The workers that are known.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Workers {
    items: Vec<WorkerFigures>,
}

/// A node's executing side.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WorkerFigures {
    worker_id: String,
    host: Box<str>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last_seen: Timestamp,
    /// Executions that it may run at once.
    capacity: u64,
    /// Executions that it runs now.
    running: u64,
    /// The version of its program.
    version: Box<str>,
    /// What the node does.
    #[schema(example = json!(["api", "scheduler", "worker"]))]
    roles: Vec<&'static str>,
}

/// Tells which workers there are and how busy they are, as each of them said at its last heartbeat.
#[utoipa::path(get, path = "/monitoring/workers", tag = "monitoring",
    responses((status = 200, description = "The workers", body = Workers),
        WhyNot,
        (status = "5XX", description = "Why not", body = Problem,
            content_type = "application/problem+json")))]
pub(super) async fn workers(State(api): State<Api>, _: Caller) -> Result<Response, Problem> {
    // One that was silent for a lease has lost what it ran.
    let since = api.now().before(api.service.config().lease);
    let workers = api.store().workers(since).await?;
    let items = workers.into_iter().map(|worker| WorkerFigures {
        worker_id: worker.id.to_string(),
        host: worker.host,
        version: worker.version,
        started_at: worker.started_at,
        last_seen: worker.seen_at,
        capacity: worker.capacity,
        running: worker.running,
        roles: worker.roles.names(),
    });
    Ok(json(&Workers { items: items.collect() }))
}
