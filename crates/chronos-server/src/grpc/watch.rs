//! Watching: the changes of a job's executions, or of one and its retries, as they happen.
//!
//! A hint says when to look, the store says what there is: what is told is right over any store, and a
//! hint that is lost only costs time. The stream is pulled by its client, so that a slow one holds up
//! nobody, and gets the newest states when it comes back.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::execution::Running;
use chronos_core::store::{self, Error, Store};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp};
use futures::{Stream, StreamExt};
use tokio::sync::broadcast;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::refusal::status;
use crate::places::Place;
use crate::proto;

/// Looked at this often without any hint: other nodes and the reaper give none.
const POLL: Duration = Duration::from_secs(1);
/// Looked at no more often than this, however many hints there are.
const PACE: Duration = Duration::from_millis(20);
/// The newest executions of a job that are compared at each look, and the most after a busy second.
const NEWEST: usize = 32;
const MOST: usize = 2_048;

/// What a watcher needs of the server.
pub(super) struct Source {
    pub(super) store: Arc<dyn Store>,
    pub(super) changes: broadcast::Receiver<JobId>,
    /// Cancelled when streams must end.
    pub(super) closing: CancellationToken,
    /// The watcher's place among all.
    #[expect(dead_code, reason = "it is given back when the stream ends")]
    pub(super) place: Place,
}

/// The stream of a subject's changes. It is looked at before there is a stream, so that whoever has one
/// is told of everything that ends from then on.
pub(super) async fn stream(
    source: Source,
    subject: Subject,
) -> impl Stream<Item = Result<proto::Execution, Status>> + Send {
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = Watch { source, subject, pace, ready: VecDeque::new(), end: End::NotYet };
    watch.look().await;
    futures::stream::unfold(watch, async |mut watch| {
        let next = watch.next().await?;
        Some((next, watch))
    })
}

/// The stream, cut off with a word about it if its reader may not listen any more.
pub(super) fn until<T>(
    stream: impl Stream<Item = Result<T, Status>> + Send,
    revoked: impl Future<Output = ()> + Send,
) -> impl Stream<Item = Result<T, Status>> + Send {
    let cut = Arc::new(AtomicBool::new(false));
    let noted = cut.clone();
    let revoked = async move {
        revoked.await;
        noted.store(true, Ordering::SeqCst);
    };
    let last = futures::stream::once(async move { cut.load(Ordering::SeqCst) });
    let last = last.filter_map(async |is_cut| {
        is_cut.then(|| Err(Status::unauthenticated("whoever asked for this may not any more")))
    });
    stream.take_until(revoked).chain(last)
}

/// Whether and how a stream ends.
enum End {
    NotYet,
    Well,
    With(Status),
}

struct Watch {
    source: Source,
    subject: Subject,
    pace: Interval,
    ready: VecDeque<Execution>,
    /// How the stream ends once everything that is ready has been told.
    end: End,
}

/// What someone watches, and what the last look at it saw.
pub(super) enum Subject {
    /// Every execution of a job.
    Job {
        job: JobId,
        /// `None` before the first look.
        seen: Option<BTreeMap<ExecutionId, Face>>,
        /// Everything from here on was seen if it was there.
        floor: ExecutionId,
    },
    /// One execution and the retries of its slot.
    Execution { job: JobId, id: ExecutionId, seen: Option<Face> },
}

impl Subject {
    pub(super) fn job(job: JobId) -> Self {
        Self::Job { job, seen: None, floor: ExecutionId::from_bytes([0; 16]) }
    }

    /// The job that it is about.
    pub(super) fn of(&self) -> JobId {
        match self {
            Self::Job { job, .. } | Self::Execution { job, .. } => *job,
        }
    }

    pub(super) fn execution(execution: &Execution) -> Self {
        Self::Execution { job: execution.job, id: execution.id, seen: None }
    }
}

/// What makes an execution look different; a heartbeat does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Face {
    status: &'static str,
    run_at: Timestamp,
    started_at: Option<Timestamp>,
    stop_asked: bool,
    live: bool,
}

impl Face {
    fn of(execution: &Execution) -> Self {
        let running: Option<&Running> = execution.running();
        Self {
            status: execution.status(),
            run_at: execution.run_at,
            started_at: running.map(|running| running.started_at),
            stop_asked: running.is_some_and(|running| running.cancel.is_some()),
            live: execution.is_live(),
        }
    }
}

impl Watch {
    async fn next(&mut self) -> Option<Result<proto::Execution, Status>> {
        loop {
            if let Some(execution) = self.ready.pop_front() {
                return Some(Ok((&execution).into()));
            }
            match std::mem::replace(&mut self.end, End::Well) {
                End::NotYet => {
                    self.end = End::NotYet;
                    self.look_again().await;
                }
                End::Well => return None,
                // Told once; after it the stream is over.
                End::With(status) => return Some(Err(status)),
            }
        }
    }

    async fn look_again(&mut self) {
        let closing = self.source.closing.clone();
        tokio::select! {
            biased;
            () = closing.cancelled() => {
                // What ended before the server stops is still told.
                self.look().await;
                let stopping = Status::unavailable("the server is shutting down");
                if matches!(self.end, End::NotYet) {
                    self.end = End::With(stopping);
                }
            }
            () = self.hint_or_poll() => self.look().await,
        }
    }

    async fn hint_or_poll(&mut self) {
        let (Subject::Job { job, .. } | Subject::Execution { job, .. }) = self.subject;
        let _ = tokio::time::timeout(POLL, hint(&mut self.source.changes, job)).await;
        self.pace.tick().await;
    }

    async fn look(&mut self) {
        let store = self.source.store.as_ref();
        let looked = match &mut self.subject {
            Subject::Job { job, seen, floor } => look_at_job(store, *job, seen, floor).await,
            Subject::Execution { id, seen, .. } => look_at_execution(store, id, seen).await,
        };
        match looked {
            Ok(Look { changed, over }) => {
                self.ready.extend(changed);
                if over {
                    self.end = End::Well;
                }
            }
            Err(error) => self.end = End::With(status(error)),
        }
    }
}

/// What a look found.
struct Look {
    changed: Vec<Execution>,
    /// Whether there is nothing left to watch.
    over: bool,
}

async fn look_at_execution(
    store: &dyn Store,
    id: &mut ExecutionId,
    seen: &mut Option<Face>,
) -> store::Result<Look> {
    let mut changed = Vec::new();
    let mut current = store.execution(*id).await?;
    loop {
        let face = Some(Face::of(&current));
        if *seen != face {
            *seen = face;
            changed.push(current.clone());
        }
        if current.is_live() {
            return Ok(Look { changed, over: false });
        }
        // The step that ends an attempt queues the next one, so one that is not there never comes.
        let attempt = current.attempt.saturating_add(1);
        let next = ExecutionId::of(current.job, current.slot, &current.trigger, attempt);
        current = match store.execution(next).await {
            Err(Error::NoSuchExecution(_)) => return Ok(Look { changed, over: true }),
            found => found?,
        };
        *id = next;
    }
}

async fn look_at_job(
    store: &dyn Store,
    job: JobId,
    seen: &mut Option<BTreeMap<ExecutionId, Face>>,
    floor: &mut ExecutionId,
) -> store::Result<Look> {
    let gone = match store.job(job).await {
        Err(Error::NoSuchJob(_)) => true,
        found => found.map(|_| false)?,
    };
    let mut rows: BTreeMap<ExecutionId, Execution> = BTreeMap::new();
    let mut put = |execution: Execution| rows.insert(execution.id, execution);
    store.live(&[job]).await?.into_iter().map(&mut put).for_each(drop);
    // Read after what lives, so that the newer state of an execution wins.
    let first = seen.is_none();
    let newest = if first {
        store.executions(job, None, NEWEST).await?
    } else {
        newest(store, job, *floor).await?
    };
    let oldest_compared = newest.get(NEWEST - 1).map(|row| row.id);
    newest.into_iter().map(&mut put).for_each(drop);
    let before = seen.take().unwrap_or_default();
    for (id, _) in before.iter().filter(|(_, face)| face.live) {
        if !rows.contains_key(id) {
            match store.execution(*id).await {
                // A store that keeps little may have dropped it by now.
                Err(Error::NoSuchExecution(_)) => {}
                found => drop(rows.insert(*id, found?)),
            }
        }
    }
    *floor = oldest_compared.unwrap_or(*floor);
    let is_new = |row: &Execution| before.get(&row.id) != Some(&Face::of(row));
    let faces = rows.values().map(|row| (row.id, Face::of(row)));
    let kept = |id: &ExecutionId, face: &Face| face.live || *id >= *floor;
    *seen = Some(faces.filter(|(id, face)| kept(id, face)).collect());
    let over = gone && !rows.values().any(Execution::is_live);
    let told = rows.into_values().filter(|row| if first { row.is_live() } else { is_new(row) });
    Ok(Look { changed: told.collect(), over })
}

/// The newest executions of a job, as far back as the last look compared them.
async fn newest(
    store: &dyn Store,
    job: JobId,
    floor: ExecutionId,
) -> store::Result<Vec<Execution>> {
    let mut limit = NEWEST;
    loop {
        let mut rows = store.executions(job, None, limit).await?;
        let reached = rows.len() < limit || rows.last().is_some_and(|last| last.id <= floor);
        if reached || limit >= MOST {
            rows.retain(|row| row.id >= floor);
            return Ok(rows);
        }
        limit *= 4;
    }
}

/// Waits for a hint about the job.
async fn hint(changes: &mut broadcast::Receiver<JobId>, job: JobId) {
    loop {
        match changes.recv().await {
            Ok(other) if other == job => return,
            Ok(_) => {}
            // Whatever was missed may have been about this job.
            Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}
