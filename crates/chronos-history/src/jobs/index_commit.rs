//! The index-commit job: makes what was indexed durable, together with how far the journal was read.

use std::future::Future;
use std::time::Duration;

use chronos_core::JobId;
use chronos_engine::{
    JobContext, JobResult, NewJob, OverlapPolicy, SchedulerError, SchedulerService,
};

/// The name of the index-commit job.
pub const INDEX_COMMIT_JOB: &str = "index_commit";

/// When the index is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexCommitJobConfig {
    /// Every five minutes unless said otherwise.
    pub cron: String,
    /// The IANA zone of the cron expression.
    pub timezone: String,
    /// The window that the start is spread over.
    pub jitter_secs: u64,
}

impl Default for IndexCommitJobConfig {
    fn default() -> Self {
        Self { cron: "0 */5 * * * *".into(), timezone: "UTC".into(), jitter_secs: 60 }
    }
}

/// Registers the job "`index_commit`", which commits an index on its schedule and never twice at once.
///
/// `commit` says in a few words what it did, or why it could not. It is told by the context when to stop; an
/// index that blocks does so on a thread for that.
pub async fn create_index_commit_job<F, Fut>(
    scheduler: &SchedulerService,
    commit: F,
    config: IndexCommitJobConfig,
) -> Result<JobId, SchedulerError>
where
    F: Fn(JobContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    let job = NewJob::named(INDEX_COMMIT_JOB)
        .cron(config.cron)
        .timezone(config.timezone)
        .jitter(Duration::from_secs(config.jitter_secs))
        .overlap(OverlapPolicy::Skip);
    let pressure = scheduler.backpressure().clone();
    let run = move |context: JobContext| {
        let (commit, pressure) = (commit.clone(), pressure.clone());
        async move {
            if let Some(deferred) = pressure.wait(&context).await {
                return deferred;
            }
            match commit(context.clone()).await {
                Ok(done) => {
                    context.log(done);
                    JobResult::Success
                }
                Err(error) => JobResult::Failed(error),
            }
        }
    };
    scheduler.register(job, run).await
}
