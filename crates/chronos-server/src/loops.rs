//! Loops: runs whose requests ask this scheduler for runs, which ask for runs.
//!
//! Every request of a run says which run it serves, and names its trace. A run that such a request asks
//! for belongs to the same trace, so a loop shows as many runs of one job in one trace.

use chronos_core::store::{self, Store};
use chronos_core::{Job, TraceId};
use chronos_engine::SchedulerConfig;

/// What the requests of runs carry, and nobody else's.
pub(crate) const OF_A_RUN: &str = "chronos-execution-id";

/// Runs of a job that the runs of one trace may ask for.
const MOST: usize = 10;
/// Executions of a job that are looked at.
const LOOKED_AT: usize = 100;

/// Who asks for a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    /// Whether it is the request of another run.
    pub(crate) is_run: bool,
    /// The trace that it is a part of.
    pub(crate) trace: Option<TraceId>,
}

/// Why a run that another run asks for is not made; nothing if it may be.
pub(crate) async fn refusal(
    store: &dyn Store,
    config: &SchedulerConfig,
    job: &Job,
    asker: Asker,
) -> store::Result<Option<String>> {
    if !asker.is_run {
        return Ok(None);
    }
    let Some(trace) = asker.trace else {
        return Ok(Some(
            "a run asks for this run without its traceparent, so nobody can tell a loop".into(),
        ));
    };
    let most = MOST.min(usize::try_from(config.history_per_job.get()).unwrap_or(MOST));
    let executions = store.executions(job.spec.id, None, LOOKED_AT).await?;
    let of_trace =
        executions.iter().filter(|run| run.trace == Some(trace) && run.notice().is_none());
    let runs = of_trace.count();
    Ok((runs >= most).then(|| {
        format!(
            "runs ask for runs in a loop: {runs} of job \"{}\" belong to the trace {trace} already",
            job.spec.name
        )
    }))
}
