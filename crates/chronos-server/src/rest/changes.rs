//! Which jobs are no longer what they were, for whoever shows them.
//!
//! It says what to look at again and not what is there now, so that whatever is shown comes from one place.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use chronos_core::JobId;
use chronos_core::store::Error;
use futures::{Stream, StreamExt};
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};
use tokio::time::{Interval, MissedTickBehavior};
use utoipa::ToSchema;

use super::api::Api;
use super::document::WhyNot;
use super::query::Query;
use super::streams::{self, SIGN_OF_LIFE};
use crate::auth::Caller;
use crate::places::Place;
use crate::problem::Problem;

/// Looked at this often without any hint: other nodes give none.
const POLL: Duration = Duration::from_secs(1);
/// Told no more often than this, however much happens.
const PACE: Duration = Duration::from_millis(250);
/// Jobs that are named at once; if there are more, everything may have changed.
const NAMED: usize = 200;
/// Decisions that are looked at at once, for the same reason.
const AT_ONCE: usize = 500;
/// Jobs of which it is remembered whose they are.
const REMEMBERED: usize = 10_000;

/// What changed since the line before.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobChanges {
    /// The jobs that were made, changed or removed, or whose executions are no longer what they were.
    #[schema(value_type = Vec<String>)]
    jobs: Vec<String>,
    /// Whether there were too many to name, so that any may have changed.
    many: bool,
}

/// Streams which jobs have changed, as server-sent events of the type `changed`, a few times a second at most:
/// their ids, or that there were too many to name. What they are now is told by the other routes.
#[utoipa::path(get, path = "/jobs/stream", tag = "jobs",
    responses(
        (status = 200, description = "Changes without end, each a `JobChanges`", body = JobChanges,
            content_type = "text/event-stream"),
        WhyNot))]
pub(super) async fn stream(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, Problem> {
    query.done("none").map_err(|error| Problem::bad_parameters(vec![error]))?;
    let place = streams::place(&api, &caller)?;
    let hints = api.changes.listen();
    let decision = streams::newest_decision(api.store()).await?;
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let known = HashMap::new();
    let watch =
        Watch { api: api.clone(), caller: caller.clone(), hints, decision, known, pace, place };
    Ok(streams::answer(&api, caller, lines(watch)))
}

/// One who watches.
struct Watch {
    api: Api,
    caller: Caller,
    hints: broadcast::Receiver<JobId>,
    /// Decisions were looked at up to this one.
    decision: u64,
    /// Whether a job is there for the caller.
    known: HashMap<JobId, bool>,
    pace: Interval,
    #[expect(dead_code, reason = "it is given back when the stream ends")]
    place: Place,
}

/// Jobs that may have changed.
#[derive(Debug, Default)]
struct Changed {
    jobs: BTreeSet<JobId>,
    many: bool,
}

fn lines(watch: Watch) -> impl Stream<Item = Bytes> + Send {
    // Whoever listens knows from here on that it misses nothing.
    let first = streams::comment("listening");
    let rest = futures::stream::unfold(watch, async |mut watch| {
        let line = match tokio::time::timeout(SIGN_OF_LIFE, watch.next()).await {
            // A store that fails ends the stream; whoever comes back looks at everything again.
            Ok(changed) => line(&changed.ok()?),
            Err(_) => streams::comment("still here"),
        };
        Some((line, watch))
    });
    futures::stream::once(async { first }).chain(rest)
}

fn line(changed: &Changed) -> Bytes {
    let jobs = changed.jobs.iter().map(ToString::to_string).collect();
    streams::event("changed", None, &JobChanges { jobs, many: changed.many }).into()
}

impl Watch {
    async fn next(&mut self) -> Result<Changed, Problem> {
        loop {
            let mut changed = Changed::default();
            match tokio::time::timeout(POLL, self.hints.recv()).await {
                Ok(Ok(job)) => changed.jobs.extend([job]),
                Ok(Err(RecvError::Lagged(_))) => changed.many = true,
                Ok(Err(RecvError::Closed)) | Err(_) => {}
            }
            // What comes meanwhile is told together.
            self.pace.tick().await;
            self.drain(&mut changed);
            let mut told = self.of_caller(changed).await?;
            self.look(&mut told).await?;
            if told.jobs.len() > NAMED {
                told = Changed { jobs: BTreeSet::new(), many: true };
            }
            if told.many || !told.jobs.is_empty() {
                return Ok(told);
            }
        }
    }

    fn drain(&mut self, changed: &mut Changed) {
        loop {
            match self.hints.try_recv() {
                Ok(job) => changed.jobs.extend([job]),
                Err(TryRecvError::Lagged(_)) => changed.many = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// What of it is there for the caller.
    async fn of_caller(&mut self, changed: Changed) -> Result<Changed, Problem> {
        if self.caller.sees_all() {
            return Ok(changed);
        }
        let mut own = Changed { many: changed.many, ..Changed::default() };
        for job in changed.jobs {
            if self.is_there(job).await? {
                own.jobs.insert(job);
            }
        }
        Ok(own)
    }

    async fn is_there(&mut self, job: JobId) -> Result<bool, Problem> {
        if let Some(known) = self.known.get(&job) {
            return Ok(*known);
        }
        let is_there = match self.api.store().job(job).await {
            Ok(job) => self.caller.sees(&job.spec),
            // Whose it was is told by the decision that removed it.
            Err(Error::NoSuchJob(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if self.known.len() < REMEMBERED {
            self.known.insert(job, is_there);
        }
        Ok(is_there)
    }

    /// Adds what was decided since the last look, by whichever node.
    async fn look(&mut self, changed: &mut Changed) -> Result<(), Problem> {
        let decisions = self.api.store().audit(self.decision, AT_ONCE).await?;
        if decisions.len() == AT_ONCE {
            changed.many = true;
            self.decision = streams::newest_decision(self.api.store()).await?;
            return Ok(());
        }
        let Some(last) = decisions.last() else {
            return Ok(());
        };
        self.decision = last.sequence;
        let sees_all = self.caller.sees_all();
        let own = decisions.iter().filter(|event| sees_all || *event.owner == *self.caller.owner);
        changed.jobs.extend(own.filter_map(|event| event.job));
        Ok(())
    }
}
