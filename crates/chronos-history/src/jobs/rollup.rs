//! The rollup jobs: hours become days, days weeks, weeks months, and months years.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::JobId;
use chronos_engine::{
    Clock, JobContext, JobResult, NewJob, OverlapPolicy, SchedulerError, SchedulerService,
};
use tracing::{info, warn};

use super::Archives;
use crate::Level;
use crate::rollup::{RolledUp, RollupJob};
use crate::summary::Summarizer;

/// The name of the job that rolls hours up into days.
pub const ROLLUP_DAY_JOB: &str = "toc_rollup_day";
/// The name of the job that rolls days up into weeks.
pub const ROLLUP_WEEK_JOB: &str = "toc_rollup_week";
/// The name of the job that rolls weeks up into months.
pub const ROLLUP_MONTH_JOB: &str = "toc_rollup_month";

/// When the table of contents is rolled up, and what is old enough for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollupJobConfig {
    /// Daily at one unless said otherwise.
    pub day_cron: String,
    /// Sundays at two unless said otherwise.
    pub week_cron: String,
    /// At three on the first of each month unless said otherwise.
    pub month_cron: String,
    /// The IANA zone of the cron expressions.
    pub timezone: String,
    /// The window that each start is spread over.
    pub jitter_secs: u64,
    /// How long an hour must be over before its day tells of it.
    pub day_min_age: Duration,
    /// How long a day must be over before its week tells of it.
    pub week_min_age: Duration,
    /// How long a week must be over before its month tells of it.
    pub month_min_age: Duration,
}

impl Default for RollupJobConfig {
    fn default() -> Self {
        Self {
            day_cron: "0 0 1 * * *".into(),
            week_cron: "0 0 2 * * 0".into(),
            month_cron: "0 0 3 1 * *".into(),
            timezone: "UTC".into(),
            jitter_secs: 300,
            day_min_age: RollupJob::DAY_MIN_AGE,
            week_min_age: RollupJob::WEEK_MIN_AGE,
            month_min_age: RollupJob::MONTH_MIN_AGE,
        }
    }
}

impl RollupJobConfig {
    /// Its jobs: the name, the expression, the level and the age of each.
    fn jobs(&self) -> [(&'static str, &str, Level, Duration); 3] {
        [
            (ROLLUP_DAY_JOB, &self.day_cron, Level::Day, self.day_min_age),
            (ROLLUP_WEEK_JOB, &self.week_cron, Level::Week, self.week_min_age),
            (ROLLUP_MONTH_JOB, &self.month_cron, Level::Month, self.month_min_age),
        ]
    }
}

/// Registers the jobs "`toc_rollup_day`", "`toc_rollup_week`" and "`toc_rollup_month`", none of which runs twice at
/// once. Each takes up where one before it was stopped, at whatever point, and tells what came late as well.
pub async fn create_rollup_jobs(
    scheduler: &SchedulerService,
    archives: Arc<dyn Archives>,
    summarizer: Arc<dyn Summarizer>,
    config: RollupJobConfig,
) -> Result<[JobId; 3], SchedulerError> {
    let mut ids = Vec::with_capacity(3);
    let (week, month) = (config.week_min_age, config.month_min_age);
    for (name, cron, level, min_age) in config.jobs() {
        let job = NewJob::named(name)
            .cron(cron)
            .timezone(config.timezone.as_str())
            .jitter(Duration::from_secs(config.jitter_secs))
            .overlap(OverlapPolicy::Skip);
        let (archives, summarizer) = (archives.clone(), summarizer.clone());
        let (clock, pressure) = (scheduler.clock().clone(), scheduler.backpressure().clone());
        let run = move |context: JobContext| {
            let (archives, summarizer) = (archives.clone(), summarizer.clone());
            let (clock, pressure) = (clock.clone(), pressure.clone());
            async move {
                if let Some(deferred) = pressure.wait(&context).await {
                    return deferred;
                }
                let archive = match archives.archive() {
                    Ok(archive) => archive,
                    Err(why) => return JobResult::Skipped(why),
                };
                let job = RollupJob::new(archive, summarizer, level, min_age)
                    .with_ages_above(week, month);
                // Whoever has the archive made again waits for nobody.
                let stop = || context.is_cancelled() || archives.archive().is_err();
                roll_up(&job, clock.as_ref(), &context, stop).await
            }
        };
        ids.push(scheduler.register(job, run).await?);
    }
    Ok([ids[0], ids[1], ids[2]])
}

async fn roll_up(
    job: &RollupJob,
    clock: &dyn Clock,
    context: &JobContext,
    stop: impl Fn() -> bool,
) -> JobResult {
    let rolled = match job.run(clock.now(), stop).await {
        Ok(rolled) => rolled,
        Err(error) => {
            warn!(job = context.job_name(), %error, "Rollup failed");
            return JobResult::Failed(error.to_string());
        }
    };
    let RolledUp { nodes, stopped, unsaid } = rolled;
    if let Some(unsaid) = unsaid {
        context.log(unsaid);
    }
    if stopped {
        context.log(format!("stopped after {nodes} nodes; the next run goes on from there"));
    } else {
        context.log(format!("{nodes} nodes written"));
    }
    info!(job = context.job_name(), nodes, stopped, "Rollup complete");
    JobResult::Success
}
