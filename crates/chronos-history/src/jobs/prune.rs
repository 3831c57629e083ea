//! The jobs that prune: what is older than it is to be kept is forgotten, and rolled-up figures outlive details.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::policy::CatchUpPolicy;
use chronos_core::store::{self, EventFilter, Prune, Records, Store, midnight};
use chronos_core::{JobId, Timestamp};
use chronos_engine::{
    JobContext, JobResult, NewJob, OverlapPolicy, SchedulerError, SchedulerService,
};
use tracing::{info, warn};

use super::Archives;
use crate::Level;
use crate::archive::{Archive, ArchiveError};

/// The name of the job that forgets executions, decisions and message events.
pub const PRUNE_JOB: &str = "prune";
/// The name of the job that forgets periods of the table of contents.
pub const TOC_PRUNE_JOB: &str = "toc_prune";

/// Message events that are looked at in one step.
const AT_ONCE: usize = 1_000;

/// When pruning runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneJobConfig {
    /// Daily at half past four unless said otherwise.
    pub cron: String,
    /// The IANA zone of the cron expression.
    pub timezone: String,
    /// The window that the start is spread over.
    pub jitter_secs: u64,
}

impl Default for PruneJobConfig {
    fn default() -> Self {
        Self { cron: "0 30 4 * * *".into(), timezone: "UTC".into(), jitter_secs: 600 }
    }
}

/// How long the store keeps what happened; `None` for ever. Whole days of universal time go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepRecords {
    /// Finished executions.
    pub executions: Option<Duration>,
    /// Decisions.
    pub audit: Option<Duration>,
    /// Message events.
    pub messages: Option<Duration>,
}

/// How long each level of the table of contents is kept; `None` for ever. A level is kept at least as long as
/// those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepLevels {
    /// Hours.
    pub hours: Option<Duration>,
    /// Days.
    pub days: Option<Duration>,
    /// Weeks.
    pub weeks: Option<Duration>,
    /// Months.
    pub months: Option<Duration>,
    /// Years.
    pub years: Option<Duration>,
}

/// What went, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedRecords {
    /// Finished executions.
    pub executions: u64,
    /// Decisions.
    pub audit: u64,
    /// Message events.
    pub messages: u64,
}

impl KeepLevels {
    /// Each level with how long it is kept, those below it considered; without those that are kept for ever.
    #[must_use]
    pub fn levels(&self) -> Vec<(Level, Duration)> {
        let own = [self.hours, self.days, self.weeks, self.months, self.years];
        let mut least = Some(Duration::ZERO);
        let mut levels = Vec::new();
        for (level, own) in Level::ALL.into_iter().zip(own) {
            least = least.zip(own).map(|(least, own)| least.max(own));
            levels.extend(least.map(|keep| (level, keep)));
        }
        levels
    }
}

/// Registers the job "prune", which forgets what a store is not to keep any longer, and never runs twice at once.
pub async fn create_prune_job(
    scheduler: &SchedulerService,
    store: Arc<dyn Store>,
    keep: KeepRecords,
    config: PruneJobConfig,
) -> Result<JobId, SchedulerError> {
    let (clock, pressure) = (scheduler.clock().clone(), scheduler.backpressure().clone());
    let run = move |context: JobContext| {
        let (store, clock, pressure) = (store.clone(), clock.clone(), pressure.clone());
        async move {
            if let Some(deferred) = pressure.wait(&context).await {
                return deferred;
            }
            let stop = || context.is_cancelled();
            match prune_records(store.as_ref(), keep, clock.now(), false, stop).await {
                Ok(PrunedRecords { executions, audit, messages }) => {
                    info!(executions, audit, messages, "Pruning complete");
                    context.log(format!(
                        "{executions} executions, {audit} decisions and {messages} message events forgotten"
                    ));
                    JobResult::Success
                }
                Err(error) => {
                    warn!(%error, "Pruning failed");
                    JobResult::Failed(error.to_string())
                }
            }
        }
    };
    scheduler.register(job(PRUNE_JOB, config), run).await
}

/// Registers the job "`toc_prune`", which forgets periods that are not to be kept any longer.
pub async fn create_toc_prune_job(
    scheduler: &SchedulerService,
    archives: Arc<dyn Archives>,
    keep: KeepLevels,
    config: PruneJobConfig,
) -> Result<JobId, SchedulerError> {
    let (clock, pressure) = (scheduler.clock().clone(), scheduler.backpressure().clone());
    let run = move |context: JobContext| {
        let (archives, clock, pressure) = (archives.clone(), clock.clone(), pressure.clone());
        async move {
            if let Some(deferred) = pressure.wait(&context).await {
                return deferred;
            }
            let archive = match archives.told_in_full() {
                Ok(archive) => archive,
                Err(why) => return JobResult::Skipped(why),
            };
            let token = context.token().clone();
            let pruned = prune_levels(archive, keep, clock.now(), false, move || {
                token.is_cancelled() || archives.told_in_full().is_err()
            });
            match pruned.await {
                Ok(pruned) => {
                    for (level, periods) in pruned {
                        info!(%level, periods, "Periods forgotten");
                        context.log(format!("{periods} {level}s forgotten"));
                    }
                    JobResult::Success
                }
                Err(error) => JobResult::Failed(error.to_string()),
            }
        }
    };
    scheduler.register(job(TOC_PRUNE_JOB, config), run).await
}

fn job(name: &str, config: PruneJobConfig) -> NewJob {
    NewJob::named(name)
        .cron(config.cron)
        .timezone(config.timezone)
        .jitter(Duration::from_secs(config.jitter_secs))
        .overlap(OverlapPolicy::Skip)
        // Whoever was away at the time makes up for it, once.
        .catch_up(CatchUpPolicy::RunOnce)
}

/// Forgets what a store is not to keep any longer, or counts it; between two steps it asks whether to stop.
pub async fn prune_records(
    store: &dyn Store,
    keep: KeepRecords,
    now: Timestamp,
    rehearsal: bool,
    should_stop: impl Fn() -> bool,
) -> store::Result<PrunedRecords> {
    let mut pruned = PrunedRecords::default();
    for (records, keep, count) in [
        (Records::Executions, keep.executions, &mut pruned.executions),
        (Records::Decisions, keep.audit, &mut pruned.audit),
    ] {
        let Some(keep) = keep else { continue };
        let prune = Prune { records, before: now.before(keep), rehearsal };
        let mut from: Option<Box<[u8]>> = None;
        while !should_stop() {
            let step = store.prune(prune, from.as_deref()).await?;
            *count += step.count;
            from = step.next;
            if from.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    if let Some(keep) = keep.messages {
        let before = midnight(now.before(keep));
        pruned.messages = if rehearsal {
            messages_before(store, before, should_stop).await?
        } else {
            prune_messages(store, before, should_stop).await?
        };
    }
    Ok(pruned)
}

async fn prune_messages(
    store: &dyn Store,
    before: Timestamp,
    should_stop: impl Fn() -> bool,
) -> store::Result<u64> {
    let mut pruned = 0;
    while !should_stop() {
        let step = store.prune_messages(before, AT_ONCE).await?;
        pruned += step as u64;
        if step < AT_ONCE {
            break;
        }
    }
    Ok(pruned)
}

async fn messages_before(
    store: &dyn Store,
    before: Timestamp,
    should_stop: impl Fn() -> bool,
) -> store::Result<u64> {
    let newest = store.newest_message().await?;
    let (mut count, mut after) = (0, 0);
    while !should_stop() {
        let page = store.message_events(&EventFilter::default(), after, AT_ONCE).await?;
        // They are in the order of their times, but for clocks that differ by a little; the newest stays.
        let old = |event: &&chronos_core::MessageEvent| {
            event.message.occurred_at < before && event.sequence < newest
        };
        let found = page.events.iter().filter(old).count();
        count += found as u64;
        after = page.cursor;
        if !page.more || found == 0 {
            break;
        }
    }
    Ok(count)
}

/// Forgets periods that are not to be kept any longer, or counts them, by their levels.
pub async fn prune_levels(
    archive: Archive,
    keep: KeepLevels,
    now: Timestamp,
    rehearsal: bool,
    should_stop: impl Fn() -> bool + Send + 'static,
) -> Result<Vec<(Level, u64)>, ArchiveError> {
    // What is forgotten is not rolled up meanwhile.
    let rolling = archive.clone();
    let _rolling = if rehearsal { None } else { Some(rolling.rolling().await) };
    let pruned = tokio::task::spawn_blocking(move || {
        let mut pruned = Vec::new();
        // From the smallest: what a larger period was made of goes before it.
        for (level, keep) in keep.levels() {
            let count = archive.prune(level, now.before(keep), rehearsal, &should_stop)?;
            pruned.push((level, count));
        }
        Ok(pruned)
    });
    pruned.await.unwrap_or_else(|error| Err(error.into()))
}
