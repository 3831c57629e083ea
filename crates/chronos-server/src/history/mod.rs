//! The history that this node keeps: an archive beside its store, followed while it serves.

mod config;
mod days;
mod follower;
mod search;
mod state;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use axum::http::StatusCode;
use chronos_core::Store;
use chronos_engine::{Clock, SchedulerService};
use chronos_history::search::Indexer;
use chronos_history::{
    Archive, ArchiveError, Archives, Extractive, KeepLevels, KeepRecords, Level, Projector,
    RollupJob, Shelf,
};
use tokio::sync::{Notify, OnceCell};

pub use config::HistoryConfig;
pub(crate) use days::days;
pub(crate) use follower::Follower;
pub(crate) use search::Sought;
pub(crate) use state::Standing;

use crate::auth::Caller;
use crate::problem::Problem;

/// The history of this node, or why there is none; cheap to clone.
#[derive(Clone)]
pub(crate) struct History(Arc<Inner>);

struct Inner {
    /// Where the archive is; nowhere if this node keeps none.
    path: Option<PathBuf>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    config: HistoryConfig,
    /// What runs the jobs about it, which hold on to the history themselves.
    scheduler: OnceLock<Weak<SchedulerService>>,
    state: Mutex<State>,
    /// Rung when somebody wants the archive to be made again.
    asked: Notify,
    /// Held by whoever has what is new read into the index because somebody searches.
    freshening: Arc<tokio::sync::Mutex<()>>,
}

/// How far the history has come.
enum State {
    /// This node keeps none.
    Absent(&'static str),
    /// It is not there yet, and what stood in the way last.
    Opening(Option<String>),
    /// It is made again from nothing, and was asked to be.
    Emptying,
    /// It is followed.
    Open(Open),
    /// It cannot be used until somebody does something about it.
    Refused(String),
    /// The node stops.
    Closed,
}

/// An archive that is followed.
#[derive(Clone)]
struct Open {
    projector: Projector,
    /// The search index beside it, once it was wanted.
    search: Arc<OnceCell<Indexer>>,
    /// Whether it has caught up once with what there was when it was opened.
    caught_up: bool,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl History {
    /// The history in a directory, which is opened by [`Self::follow`].
    pub(crate) fn new(
        path: &Path,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: HistoryConfig,
    ) -> Self {
        let path = Some(path.to_owned());
        let (state, asked) = (Mutex::new(State::Opening(None)), Notify::new());
        let scheduler = OnceLock::new();
        Self(Arc::new(Inner {
            path,
            store,
            clock,
            config,
            scheduler,
            state,
            asked,
            freshening: Arc::default(),
        }))
    }

    /// None, and why.
    pub(crate) fn absent(
        why: &'static str,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: HistoryConfig,
    ) -> Self {
        let (state, asked) = (Mutex::new(State::Absent(why)), Notify::new());
        let scheduler = OnceLock::new();
        Self(Arc::new(Inner {
            path: None,
            store,
            clock,
            config,
            scheduler,
            state,
            asked,
            freshening: Arc::default(),
        }))
    }

    /// How long the store keeps what happened, and how long each level is kept.
    pub(crate) fn keep(&self) -> (KeepRecords, KeepLevels) {
        (self.0.config.keep_records, self.0.config.keep_levels)
    }

    /// Says what runs the jobs about it.
    pub(crate) fn is_served_by(&self, scheduler: &Arc<SchedulerService>) {
        // Only the daemon says so, once.
        let _ = self.0.scheduler.set(Arc::downgrade(scheduler));
    }

    /// What runs the jobs about it, if there are any.
    pub(crate) fn scheduler(&self) -> Option<Arc<SchedulerService>> {
        self.0.scheduler.get().and_then(Weak::upgrade)
    }

    /// What rolls an archive up, from the hours on.
    fn rollup_of(&self, archive: Archive) -> RollupJob {
        let rollup = &self.0.config.rollup;
        RollupJob::new(archive, Arc::new(Extractive), Level::Day, rollup.day_min_age)
            .with_ages_above(rollup.week_min_age, rollup.month_min_age)
    }

    /// Whether this node keeps a history at all.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.path.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A state is put in place whole, so whoever panicked left none half done.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
    }

    fn open(&self) -> Result<Open, String> {
        match &*self.state() {
            State::Open(open) => Ok(open.clone()),
            State::Absent(why) => Err((*why).into()),
            State::Opening(None) => Err("the history is being opened".into()),
            State::Opening(Some(why)) => Err(format!("the history cannot be opened yet: {why}")),
            State::Emptying => Err("the history is being made again".into()),
            State::Refused(why) => {
                Err(format!("{why}; have it made again with: chronos history rebuild"))
            }
            State::Closed => Err("the node stops".into()),
        }
    }

    /// Reads from the archive, off the asynchronous threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Archive) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Problem> {
        let unavailable = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let archive = self.archive().map_err(|why| {
            // Trying again will not help where none is kept.
            if self.is_kept() { unavailable(why) } else { Problem::not_found(why) }
        })?;
        let read = tokio::task::spawn_blocking(move || act(&archive)).await;
        match read {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(error)) => {
                tracing::error!(%error, "The history cannot be read");
                Err(unavailable(format!("the history cannot be read: {error}")))
            }
            Err(_) => Err(unavailable("the history was interrupted".into())),
        }
    }
}

impl Archives for History {
    fn archive(&self) -> Result<Archive, String> {
        self.open().map(|open| open.projector.archive().clone())
    }

    fn told_in_full(&self) -> Result<Archive, String> {
        let open = self.open()?;
        if !open.caught_up {
            return Err("the history reads what happened before".into());
        }
        Ok(open.projector.archive().clone())
    }
}

/// The table of contents that is there for a caller: of everything, or of its own jobs.
pub(crate) fn shelf(caller: &Caller) -> Shelf<'_> {
    if caller.sees_all() { Shelf::Everyone } else { Shelf::Owner(&caller.owner) }
}
