//! Searching the history: the index beside the archive, opened when it is first wanted.

use std::time::Duration;

use axum::http::StatusCode;
use chronos_core::schedule::Zone;
use chronos_engine::{JobContext, SchedulerService};
use chronos_history::search::{Found, IndexError, Indexer, Request, SearchError};
use tracing::{error, warn};

use super::{History, Open, shelf};
use crate::auth::Caller;
use crate::problem::Problem;

/// How long whoever searches waits for what is new, and how long that is read at most.
const PATIENCE: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(5);

/// What somebody looks for.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    pub(crate) query: String,
    pub(crate) zone: Zone,
    pub(crate) cursor: Option<String>,
    pub(crate) limit: usize,
}

impl Sought {
    /// Hits of a page unless another number is asked for.
    pub(crate) const USUAL: usize = 20;
    /// Hits of a page at most.
    pub(crate) const MOST: usize = Request::MAX_LIMIT;
}

impl History {
    /// A page of what a caller may see and looks for, off the asynchronous threads.
    pub(crate) async fn search(&self, caller: &Caller, sought: Sought) -> Result<Found, Problem> {
        let unavailable = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let open = self.open().map_err(|why| {
            // Trying again will not help where none is kept.
            if self.is_kept() { unavailable(why) } else { Problem::not_found(why) }
        })?;
        let indexer = self.indexer(&open).await.map_err(|error| {
            error!(%error, "The search index cannot be opened");
            unavailable(format!("the history cannot be searched: {error}"))
        })?;
        if sought.cursor.is_none() {
            self.freshen(&indexer).await;
        }
        let caller = caller.clone();
        let search = move || {
            // With all of the indexer, so that nobody makes the index again while it is read.
            let Sought { query, zone, cursor, limit } = &sought;
            let (query, zone, cursor, limit) = (query.as_str(), *zone, cursor.as_deref(), *limit);
            let shelf = shelf(&caller);
            indexer.index().search(&Request { query, shelf, zone, cursor, limit })
        };
        match tokio::task::spawn_blocking(search).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(SearchError::Query(error))) => Err(Problem::bad_parameter("query", error)),
            Ok(Err(error @ SearchError::Cursor)) => Err(Problem::bad_parameter("cursor", error)),
            Ok(Err(error)) => {
                error!(%error, "The history cannot be searched");
                Err(unavailable(format!("the history cannot be searched: {error}")))
            }
            Err(_) => Err(unavailable("the search was interrupted".into())),
        }
    }

    /// Has what is new read into the index, as the job does that commits it, so that whoever looks for what has just
    /// happened finds it. Waits a moment for it, and answers from what there is if that takes longer.
    async fn freshen(&self, indexer: &Indexer) {
        let paused = |scheduler: &SchedulerService| {
            scheduler.registry().is_paused(chronos_history::INDEX_COMMIT_JOB)
        };
        if self.scheduler().is_none_or(|scheduler| paused(&scheduler)) {
            return;
        }
        let Ok(turn) = self.0.freshening.clone().try_lock_owned() else {
            return;
        };
        let (history, indexer) = (self.clone(), indexer.clone());
        let reading = tokio::spawn(async move {
            let _turn = turn;
            let begun = history.0.clock.monotonic();
            let late = || history.0.clock.monotonic().saturating_sub(begun) > LONGEST;
            // Whoever has the archive made again waits for nobody.
            if let Err(error) = indexer.catch_up(|| late() || history.open().is_err()).await {
                warn!(%error, "What is new could not be indexed; the next run will");
            }
        });
        tokio::time::timeout(PATIENCE, reading).await.ok();
    }

    /// Reads what is new into the index and makes it durable: a run of the job that does. Says what it did.
    pub(crate) async fn index(&self, context: JobContext) -> Result<String, String> {
        let open = match self.open() {
            Ok(open) => open,
            // The next run may find it.
            Err(why) => return Ok(why),
        };
        let indexer = self.indexer(&open).await.map_err(|error| error.to_string())?;
        // Whoever has the archive made again waits for nobody.
        let stop = || context.is_cancelled() || self.open().is_err();
        let (keep, _) = self.keep();
        let read = match indexer.catch_up(stop).await {
            // What is old is forgotten once all of it was read.
            Ok(read) if !read.more => indexer.forget(keep, self.0.clock.now()).await.map(|()| read),
            read => read,
        };
        match read {
            Ok(read) if read.more => Ok(format!("stopped after {} entries", read.read)),
            Ok(read) => Ok(format!("{} entries read", read.read)),
            Err(error) => {
                warn!(%error, "The search index could not be committed; the next run reads on");
                Err(error.to_string())
            }
        }
    }

    async fn indexer(&self, open: &Open) -> Result<Indexer, IndexError> {
        let (store, archive) = (self.0.store.clone(), open.projector.archive().clone());
        open.search.get_or_try_init(|| Indexer::open(store, archive)).await.cloned()
    }
}
