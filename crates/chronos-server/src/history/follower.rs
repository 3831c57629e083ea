//! The follower: opens the archive, reads the journal into it while it grows, and makes it again when asked.

use std::sync::Arc;
use std::time::Duration;

use chronos_engine::SchedulerService;
use chronos_history::{
    Archive, ArchiveError, INDEX_COMMIT_JOB, ProjectError, Projector, ROLLUP_DAY_JOB,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{History, Open, State};

/// How often the journal is looked at, unless it goes on already: while things happen, and at least.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(32));
/// How often it is looked whether something is to be rolled up.
const RIPE: Duration = Duration::from_secs(30);
/// Between two attempts at what failed: at first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What a follower needs beside the history.
pub(crate) struct Follower {
    pub(crate) history: History,
    /// Runs the jobs that roll up.
    pub(crate) scheduler: Arc<SchedulerService>,
    pub(crate) closing: CancellationToken,
}

/// Why an archive is no longer followed.
enum Left {
    /// The node stops.
    Closing,
    /// Somebody wants it to be made again.
    Asked,
    /// Something is wrong with it.
    Failed(ProjectError),
}

impl Follower {
    /// Follows the journal until the node stops. Whatever is wrong with the archive, the scheduler goes on.
    pub(crate) async fn run(self) {
        let Some(path) = self.history.0.path.clone() else { return };
        let (mut anew, mut wait) = (false, RETRY.0);
        while !self.closing.is_cancelled() {
            let store = self.history.0.store.clone();
            let opened = if anew {
                Projector::anew(store, &path).await
            } else {
                Projector::open(store, &path).await
            };
            let left = match opened {
                Ok(projector) => {
                    (anew, wait) = (false, RETRY.0);
                    info!(path = %path.display(), "History opened");
                    self.follow(projector).await
                }
                Err(error) => Left::Failed(error),
            };
            let error = match left {
                Left::Closing => break,
                Left::Asked => {
                    self.history.set(State::Emptying);
                    anew = true;
                    continue;
                }
                Left::Failed(error) => error,
            };
            if is_for_good(&error) {
                self.history.set(State::Refused(error.to_string()));
                error!(%error, "The history is not kept; have it made again with: chronos history rebuild");
                anew = self.until_asked().await;
            } else {
                // Those who read it still may let go of it soon.
                warn!(%error, "The history cannot be used; trying again");
                if !anew {
                    self.history.set(State::Opening(Some(error.to_string())));
                }
                self.pause(wait).await;
                wait = (wait * 2).min(RETRY.1);
            }
        }
        self.history.set(State::Closed);
    }

    async fn follow(&self, projector: Projector) -> Left {
        let open = Open { projector: projector.clone(), search: Arc::default(), caught_up: false };
        self.history.set(State::Open(open.clone()));
        let mut caught_up = false;
        let (mut looked, mut wait, mut look) = (None, RETRY.0, LOOK.0);
        loop {
            let stop = || self.closing.is_cancelled();
            match projector.catch_up(stop).await {
                Ok(projected) => {
                    wait = RETRY.0;
                    // A shared database is not asked much by a node with nothing to do.
                    look = if projected.read > 0 { LOOK.0 } else { (look * 2).min(LOOK.1) };
                }
                Err(ProjectError::Store(error)) => {
                    warn!(%error, "The journal cannot be read; trying again");
                    if let Some(left) = self.wait(wait).await {
                        return left;
                    }
                    wait = (wait * 2).min(RETRY.1);
                    continue;
                }
                Err(error) => return Left::Failed(error),
            }
            if !caught_up {
                caught_up = true;
                let open = Open { caught_up, ..open.clone() };
                self.history.set(State::Open(open));
                self.index().await;
            }
            let now = self.history.0.clock.now();
            if looked.is_none_or(|looked| now.since(looked) >= RIPE) {
                looked = Some(now);
                if let Err(error) = self.roll_up(projector.archive()).await {
                    return Left::Failed(error.into());
                }
            }
            if let Some(left) = self.wait(look).await {
                return left;
            }
        }
    }

    /// Has what is ripe rolled up, so that no period waits for the next run by the clock.
    async fn roll_up(&self, archive: &Archive) -> Result<(), ArchiveError> {
        let (now, job) = (self.history.0.clock.now(), self.history.rollup_of(archive.clone()));
        let registry = self.scheduler.registry();
        // Whoever paused it wants it to rest; one that runs sees what is ripe by itself, or the next look does.
        let rests = registry.is_paused(ROLLUP_DAY_JOB) || registry.is_running(ROLLUP_DAY_JOB);
        if rests || !job.is_due(now).await? {
            return Ok(());
        }
        if let Err(error) = self.scheduler.run_job(ROLLUP_DAY_JOB).await {
            warn!(%error, "What is ripe could not be rolled up; the next run will");
        }
        Ok(())
    }

    /// Has what was missed while nobody was there indexed at once, rather than with the next run by the clock.
    async fn index(&self) {
        let registry = self.scheduler.registry();
        if registry.is_paused(INDEX_COMMIT_JOB) || registry.is_running(INDEX_COMMIT_JOB) {
            return;
        }
        if let Err(error) = self.scheduler.run_job(INDEX_COMMIT_JOB).await {
            warn!(%error, "What is new could not be indexed; the next run will");
        }
    }

    async fn wait(&self, how_long: Duration) -> Option<Left> {
        tokio::select! {
            () = self.closing.cancelled() => Some(Left::Closing),
            () = self.history.0.asked.notified() => Some(Left::Asked),
            () = tokio::time::sleep(how_long) => None,
        }
    }

    async fn pause(&self, how_long: Duration) {
        tokio::select! {
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep(how_long) => {}
        }
    }

    /// Waits until somebody wants it made again; false when the node stops.
    async fn until_asked(&self) -> bool {
        tokio::select! {
            () = self.closing.cancelled() => false,
            () = self.history.0.asked.notified() => true,
        }
    }
}

/// Whether trying again will not help.
fn is_for_good(error: &ProjectError) -> bool {
    match error {
        ProjectError::Archive(error) => match error {
            ArchiveError::TooNew { .. }
            | ArchiveError::Stranger { .. }
            | ArchiveError::Damaged { .. } => true,
            ArchiveError::InUse { .. } | ArchiveError::Interrupted(_) | ArchiveError::Io { .. } => {
                false
            }
        },
        ProjectError::Store(_) => false,
    }
}
