//! What the methods share: finding jobs, and telling them with what of them is alive.

use std::sync::Arc;

use chronos_core::store::Error;
use chronos_core::{ExecutionId, Job, JobId, Timestamp};
use chronos_engine::SchedulerService;
use chronos_store::EmbeddedStore;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::convert::job::{self, Activity};
use super::convert::spec::Defaults;
use super::refusal::{Refusal, status};
use super::{Changes, page, watch};
use crate::metrics::Metrics;
use crate::proto;

/// Whose jobs these are, until there are users.
const OWNER: &str = "";
/// Jobs that one answer about the whole scheduler holds.
const MOST_JOBS: usize = 10_000;
/// Jobs read at a time while all of them are gone through.
const BATCH: usize = 500;
const MAX_NOTE: usize = 1_000;

/// The gRPC service over a scheduler and its store.
pub(crate) struct Scheduler {
    pub(super) service: Arc<SchedulerService>,
    pub(super) changes: Changes,
    pub(super) metrics: Arc<Metrics>,
    /// The scheduler's own store, as that which can be copied; none where nodes share a database.
    pub(super) copied: Option<Arc<EmbeddedStore>>,
    /// Cancelled when streams must end.
    closing: CancellationToken,
    places: Arc<Semaphore>,
}

impl Scheduler {
    /// `watchers` is how many streams may be open at once.
    pub(crate) fn new(
        service: Arc<SchedulerService>,
        changes: Changes,
        metrics: Arc<Metrics>,
        copied: Option<Arc<EmbeddedStore>>,
        closing: CancellationToken,
        watchers: usize,
    ) -> Self {
        Self {
            service,
            changes,
            metrics,
            copied,
            closing,
            places: Arc::new(Semaphore::new(watchers)),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.service.clock().now()
    }

    pub(super) fn defaults(&self) -> Defaults<'_> {
        Defaults {
            zone: self.service.default_zone(),
            misfire_grace: self.service.config().misfire_grace,
            handlers: self.service.handlers(),
            reach: &self.service.config().reach,
            keyring: self.service.keyring(),
        }
    }

    /// The job of this id or, if there is none, of this name.
    pub(super) async fn find(&self, field: &str, job: &str) -> Result<Job, Status> {
        if job.is_empty() {
            return Err(Refusal::missing(field, "a job's id or name").into());
        }
        let store = self.service.store();
        if let Ok(id) = job.parse::<JobId>() {
            match store.job(id).await {
                Err(Error::NoSuchJob(_)) => {}
                found => return found.map_err(status),
            }
        }
        let named = store.job_named(OWNER, job).await.map_err(status)?;
        named.ok_or_else(|| {
            let shown: String = job.chars().take(200).collect();
            Status::not_found(format!("no job with the name or id \"{shown}\""))
        })
    }

    /// The job with what of it is alive.
    pub(super) async fn told(&self, job: &Job) -> Result<proto::Job, Status> {
        let mut told = self.told_all(std::slice::from_ref(job)).await?;
        told.pop().ok_or_else(|| Status::internal("a job was lost on its way"))
    }

    pub(super) async fn told_all(&self, jobs: &[Job]) -> Result<Vec<proto::Job>, Status> {
        let active = self.activity(jobs).await?;
        let told = jobs.iter().zip(active).map(|(job, activity)| job::job(job, activity));
        Ok(told.collect())
    }

    async fn activity(&self, jobs: &[Job]) -> Result<Vec<Activity>, Status> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.spec.id).collect();
        let live = self.service.store().live(&ids).await.map_err(status)?;
        let active = Activity::by_job(&live);
        Ok(ids.iter().map(|id| active.get(id).copied().unwrap_or_default()).collect())
    }

    /// Every job in brief, as far as one answer holds them, and whether there are more.
    pub(super) async fn brief(&self) -> Result<(Vec<proto::JobStatusProto>, bool), Status> {
        let mut all = Vec::new();
        let mut after = None;
        while all.len() <= MOST_JOBS {
            let jobs = self.service.store().jobs(after, BATCH).await.map_err(status)?;
            all.extend(self.brief_of(&jobs).await?);
            match jobs.last() {
                Some(last) if jobs.len() == BATCH => after = Some(last.spec.id),
                _ => break,
            }
        }
        Ok(page::cut(all, MOST_JOBS))
    }

    pub(super) async fn brief_of(
        &self,
        jobs: &[Job],
    ) -> Result<Vec<proto::JobStatusProto>, Status> {
        let active = self.activity(jobs).await?;
        let told = jobs.iter().zip(active).map(|(job, activity)| job::brief(job, activity));
        Ok(told.collect())
    }

    /// A watcher's place and its hints, which begin before it looks for the first time.
    pub(super) fn source(&self) -> Result<watch::Source, Status> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted("too many streams are open; close one or try again later")
        })?;
        Ok(watch::Source {
            store: self.service.store().clone(),
            changes: self.changes.listen(),
            closing: self.closing.clone(),
            place,
        })
    }
}

/// The id of an execution as it was sent.
pub(super) fn execution_id(field: &str, id: &str) -> Result<ExecutionId, Refusal> {
    id.parse().map_err(|_| {
        let shown: String = id.chars().take(100).collect();
        Refusal::of(field, format!("\"{shown}\" is not an id; use the id of an execution"))
    })
}

/// What someone wrote about a pause.
pub(super) fn note(note: &str) -> Result<Option<Arc<str>>, Refusal> {
    let length = note.chars().count();
    if length > MAX_NOTE {
        let problem = format!("{length} characters are not accepted; use at most {MAX_NOTE}");
        return Err(Refusal::of("note", problem));
    }
    Ok((!note.is_empty()).then(|| note.into()))
}
