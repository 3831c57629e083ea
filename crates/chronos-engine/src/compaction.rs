//! The compaction job: gives back the store's unused space when little happens.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::JobId;
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::store::{Compacted, CompactionProgress, Store};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::handler::{JobContext, JobResult};
use crate::service::{NewJob, SchedulerError, SchedulerService};

/// The name of the compaction job.
pub const COMPACTION_JOB: &str = "compaction";

/// When the compaction job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionJobConfig {
    /// Sundays at four in the morning unless said otherwise.
    pub cron: String,
    /// The IANA zone of the cron expression.
    pub timezone: String,
    /// The window that the start is spread over.
    pub jitter_secs: u64,
}

impl Default for CompactionJobConfig {
    fn default() -> Self {
        Self { cron: "0 0 4 * * 0".into(), timezone: "UTC".into(), jitter_secs: 600 }
    }
}

/// Registers the job "compaction", which compacts a store on its schedule and never twice at once.
///
/// ```
/// # use chronos_engine::{SchedulerConfig, SchedulerService, SchedulerError};
/// use chronos_engine::compaction::{CompactionJobConfig, create_compaction_job};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SchedulerError> {
/// # let scheduler = SchedulerService::new(SchedulerConfig::default())?;
/// let store = scheduler.store().clone();
/// create_compaction_job(&scheduler, store, CompactionJobConfig::default()).await?;
/// # Ok(()) }
/// ```
pub async fn create_compaction_job(
    scheduler: &SchedulerService,
    store: Arc<dyn Store>,
    config: CompactionJobConfig,
) -> Result<JobId, SchedulerError> {
    let job = NewJob::named(COMPACTION_JOB)
        .cron(config.cron)
        .timezone(config.timezone)
        .jitter(Duration::from_secs(config.jitter_secs))
        .overlap(OverlapPolicy::Skip)
        // Whoever was away at the time makes up for it, once.
        .catch_up(CatchUpPolicy::RunOnce);
    let pressure = scheduler.backpressure().clone();
    let compact = move |context: JobContext| {
        let (store, pressure) = (store.clone(), pressure.clone());
        async move {
            if let Some(deferred) = pressure.wait(&context).await {
                return deferred;
            }
            match run_compaction(store, context.token().clone()).await {
                Ok(compacted) => {
                    context.log(in_words(&compacted));
                    JobResult::Success
                }
                Err(error) => {
                    context.log(&error);
                    JobResult::Failed(error)
                }
            }
        }
    };
    scheduler.register(job, compact).await
}

/// Compacts a store once. When the token is cancelled the unit under way is finished, because an engine
/// cannot be interrupted in it, and the rest is left for the next time.
pub async fn run_compaction(
    store: Arc<dyn Store>,
    token: CancellationToken,
) -> Result<Compacted, String> {
    let hook = move |CompactionProgress { unit, units, bytes }: CompactionProgress| {
        if token.is_cancelled() {
            return ControlFlow::Break(());
        }
        info!(unit, units, bytes, "Compacting");
        ControlFlow::Continue(())
    };
    let compacted = store.compact(Arc::new(hook)).await.map_err(|error| {
        warn!(%error, "Compaction failed");
        error.to_string()
    })?;
    let Compacted { done, units, bytes_before, bytes_after } = compacted;
    if !compacted.is_complete() {
        info!(done, units, reclaimed = compacted.reclaimed(), "Compaction stopped");
        return Err(format!("stopped after {done} of {units} units"));
    }
    info!(
        units,
        bytes_before,
        bytes_after,
        reclaimed = compacted.reclaimed(),
        "Compaction complete"
    );
    Ok(compacted)
}

fn in_words(compacted: &Compacted) -> String {
    if compacted.units == 0 {
        return "Compaction complete: this store has nothing to compact".into();
    }
    let (reclaimed, after) = (compacted.reclaimed(), compacted.bytes_after);
    format!("Compaction complete: {reclaimed} bytes given back, {after} in use")
}
