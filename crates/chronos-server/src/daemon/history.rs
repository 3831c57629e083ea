//! The history that a daemon keeps: where, and the engine that runs the jobs about it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chronos_engine::{SchedulerConfig, SchedulerService};
use chronos_history::{
    Extractive, KeepRecords, ROLLUP_DAY_JOB, create_index_commit_job, create_prune_job,
    create_rollup_jobs, create_toc_prune_job,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::store::Opened;
use super::{Error, ServeConfig};
use crate::auth::LOCAL;
use crate::history::{Follower, History, HistoryConfig};

/// The directory of the archive, in that of the node.
const DIRECTORY: &str = "history";

/// A history, and the engine of its jobs.
#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) history: History,
    /// The engine of this node's own jobs, where the scheduler's store is shared with other nodes.
    pub(super) local: Option<Arc<SchedulerService>>,
    following: Option<JoinHandle<()>>,
}

impl Keeping {
    /// Finds out whether a history is kept, and registers the jobs about it: with the scheduler where its store is
    /// this node's own, else with an engine of their own, which forgets them with the process.
    pub(super) async fn prepare(
        config: &ServeConfig,
        opened: &Opened,
        service: &SchedulerService,
    ) -> Result<Self, Error> {
        let (store, clock) = (opened.store.clone(), opened.clock.clone());
        let keep = config.history.keep_records;
        if keep != KeepRecords::default() {
            // On every node that may run it, where they share a store.
            create_prune_job(service, store.clone(), keep, config.history.prune.clone()).await?;
        }
        let path = match place(config) {
            Ok(path) => path,
            Err(why) => {
                let remembers = store.job_named(LOCAL, ROLLUP_DAY_JOB).await;
                let remembers = remembers.map_err(Error::Store)?.is_some();
                let history = History::absent(why, store, clock, config.history.clone());
                if remembers && opened.own.is_some() {
                    // From when there was a history; they say that there is none.
                    register(service, &history, &config.history).await?;
                }
                return Ok(Self { history, local: None, following: None });
            }
        };
        let history = History::new(&path, store, clock.clone(), config.history.clone());
        let local = if opened.own.is_some() {
            None
        } else {
            let own = SchedulerConfig {
                default_timezone: config.scheduler.default_timezone.clone(),
                shutdown_timeout_secs: config.scheduler.shutdown_timeout_secs,
                node: config.scheduler.node.clone(),
                ..SchedulerConfig::default()
            };
            let local = SchedulerService::with_clock(own, clock)?;
            local.backpressure().heed(service.backpressure().clone());
            Some(Arc::new(local))
        };
        register(local.as_deref().unwrap_or(service), &history, &config.history).await?;
        Ok(Self { history, local, following: None })
    }

    /// Begins to follow the journal.
    pub(super) async fn start(
        &mut self,
        service: &Arc<SchedulerService>,
        closing: CancellationToken,
    ) -> Result<(), Error> {
        if let Some(local) = &self.local {
            local.start().await?;
        }
        if self.history.is_kept() {
            let scheduler = self.local.as_ref().unwrap_or(service).clone();
            self.history.is_served_by(&scheduler);
            let follower = Follower { history: self.history.clone(), scheduler, closing };
            self.following = Some(tokio::spawn(follower.run()));
        }
        Ok(())
    }

    /// Stops the engine of this node's own jobs.
    pub(super) async fn stop(&self) -> Result<(), Error> {
        match &self.local {
            Some(local) => Ok(local.shutdown().await?),
            None => Ok(()),
        }
    }

    /// Waits until the archive is closed, which it is asked to be.
    pub(super) async fn closed(self, patience: Duration) {
        let Some(following) = self.following else { return };
        if tokio::time::timeout(patience, following).await.is_err() {
            warn!("The history was not closed in time");
        }
    }
}

/// Registers the jobs about the history with the engine that runs them.
async fn register(
    scheduler: &SchedulerService,
    history: &History,
    config: &HistoryConfig,
) -> Result<(), Error> {
    let (archives, summarizer) = (Arc::new(history.clone()), Arc::new(Extractive));
    let (rollup, prune) = (config.rollup.clone(), config.prune.clone());
    create_rollup_jobs(scheduler, archives.clone(), summarizer, rollup).await?;
    create_toc_prune_job(scheduler, archives, config.keep_levels, prune).await?;
    let indexed = history.clone();
    let commit = move |context| {
        let history = indexed.clone();
        async move { history.index(context).await }
    };
    create_index_commit_job(scheduler, commit, config.index_commit.clone()).await?;
    Ok(())
}

/// Where the archive is, or why there is none.
fn place(config: &ServeConfig) -> Result<PathBuf, &'static str> {
    if !config.history.enabled {
        return Err("this node keeps no history: it is configured not to");
    }
    if !config.scheduler.roles.api {
        return Err("this node keeps no history: it answers no requests");
    }
    let directory = config.private_dir();
    let directory = directory.ok_or("this node keeps no history: its store is in memory")?;
    Ok(directory.join(DIRECTORY))
}
