//! What the methods share: finding jobs, and telling them with what of them is alive.

use std::sync::Arc;

use chronos_core::store::{Error, JobFilter};
use chronos_core::{Execution, ExecutionId, Job, JobId, Timestamp};
use chronos_engine::SchedulerService;
use chronos_store::EmbeddedStore;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::convert::job::{self, Activity};
use super::refusal::{Refusal, status};
use super::{Changes, page, watch};
use crate::auth::{Auth, Caller, LOCAL};
use crate::defaults::Defaults;
use crate::metrics::Metrics;
use crate::places::{Place, Places};
use crate::proto;

/// Jobs that one answer about the whole scheduler holds.
const MOST_JOBS: usize = 10_000;
/// Jobs read at a time while all of them are gone through.
const BATCH: usize = 500;

/// The gRPC service over a scheduler and its store.
pub(crate) struct Scheduler {
    pub(super) service: Arc<SchedulerService>,
    /// The engine of this node's own jobs, where the scheduler's store is shared with other nodes.
    local: Option<Arc<SchedulerService>>,
    pub(super) changes: Changes,
    pub(super) metrics: Arc<Metrics>,
    /// The scheduler's own store, as that which can be copied; none where nodes share a database.
    pub(super) copied: Option<Arc<EmbeddedStore>>,
    /// Knows whether a stream's reader may still listen.
    pub(super) auth: Arc<Auth>,
    /// Cancelled when streams must end.
    pub(super) closing: CancellationToken,
    places: Places,
}

impl Scheduler {
    /// `local` is the engine of this node's own jobs, if that is another; `places` is where streams find room.
    pub(crate) fn new(
        (service, local): (Arc<SchedulerService>, Option<Arc<SchedulerService>>),
        changes: Changes,
        metrics: Arc<Metrics>,
        copied: Option<Arc<EmbeddedStore>>,
        auth: Arc<Auth>,
        closing: CancellationToken,
        places: Places,
    ) -> Self {
        Self { service, local, changes, metrics, copied, auth, closing, places }
    }

    /// The engine that a job is of.
    pub(super) fn home(&self, job: JobId) -> &Arc<SchedulerService> {
        let local = self.local.as_ref().filter(|local| local.has_registered(job));
        local.unwrap_or(&self.service)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.service.clock().now()
    }

    pub(super) fn defaults(&self) -> Defaults<'_> {
        Defaults::of(&self.service)
    }

    /// The job of this id or, if there is none, of this name, if it is there for the caller.
    pub(super) async fn find(
        &self,
        caller: &Caller,
        field: &str,
        job: &str,
    ) -> Result<Job, Status> {
        if job.is_empty() {
            return Err(Refusal::missing(field, "a job's id or name").into());
        }
        let store = self.service.store();
        if let Ok(id) = job.parse::<JobId>() {
            match store.job(id).await {
                Ok(job) if caller.sees(&job.spec) => return Ok(job),
                Ok(_) | Err(Error::NoSuchJob(_)) => {}
                Err(error) => return Err(status(error)),
            }
        }
        let mut named = store.job_named(&caller.owner, job).await.map_err(status)?;
        if named.is_none() && caller.sees_all() {
            // The program's own jobs are nobody's, and have names that people know.
            named = store.job_named(LOCAL, job).await.map_err(status)?;
        }
        if let (None, Some(local), true) = (&named, &self.local, caller.sees_all()) {
            named = match job.parse::<JobId>() {
                Ok(id) if local.has_registered(id) => local.store().job(id).await.map(Some),
                _ => local.store().job_named(LOCAL, job).await,
            }
            .map_err(status)?;
        }
        named.ok_or_else(|| {
            let shown: String = job.chars().take(200).collect();
            Status::not_found(format!("no job with the name or id \"{shown}\""))
        })
    }

    /// The execution of this id, if its job is there for the caller.
    pub(super) async fn find_execution(
        &self,
        caller: &Caller,
        field: &str,
        id: &str,
    ) -> Result<Execution, Status> {
        let id = execution_id(field, id)?;
        let store = self.service.store();
        let execution = match (store.execution(id).await, &self.local) {
            (Err(Error::NoSuchExecution(_)), Some(local)) if caller.sees_all() => {
                local.store().execution(id).await
            }
            (found, _) => found,
        };
        let execution = execution.map_err(status)?;
        let is_there = caller.sees_all()
            || match store.job(execution.job).await {
                Ok(job) => caller.sees(&job.spec),
                Err(Error::NoSuchJob(_)) => false,
                Err(error) => return Err(status(error)),
            };
        if is_there { Ok(execution) } else { Err(status(Error::NoSuchExecution(id))) }
    }

    /// Some of the jobs that are there for the caller, in the order of their ids.
    pub(super) async fn jobs(
        &self,
        caller: &Caller,
        mut after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, Status> {
        let store = self.service.store();
        if caller.sees_all() {
            return store.jobs(after, limit).await.map_err(status);
        }
        let filter = JobFilter { owner: Some(caller.owner.clone()), ..JobFilter::default() };
        let mut jobs = Vec::new();
        loop {
            let page = store.find_jobs(&filter, after, limit - jobs.len()).await;
            let page = page.map_err(status)?;
            jobs.extend(page.jobs);
            after = page.next;
            if after.is_none() || jobs.len() >= limit {
                return Ok(jobs);
            }
            tokio::task::yield_now().await;
        }
    }

    /// The job with what of it is alive, as the caller is told it.
    pub(super) async fn told(&self, caller: &Caller, job: &Job) -> Result<proto::Job, Status> {
        let mut told = self.told_all(caller, std::slice::from_ref(job)).await?;
        told.pop().ok_or_else(|| Status::internal("a job was lost on its way"))
    }

    pub(super) async fn told_all(
        &self,
        caller: &Caller,
        jobs: &[Job],
    ) -> Result<Vec<proto::Job>, Status> {
        let active = self.activity(jobs).await?;
        let told = jobs.iter().zip(active).map(|(job, activity)| {
            let told = job::job(job, activity);
            if caller.sees_queries(&job.spec) { told } else { job::without_queries(told) }
        });
        Ok(told.collect())
    }

    async fn activity(&self, jobs: &[Job]) -> Result<Vec<Activity>, Status> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.spec.id).collect();
        let mut live = self.service.store().live(&ids).await.map_err(status)?;
        if let Some(local) = &self.local {
            live.extend(local.store().live(&ids).await.map_err(status)?);
        }
        let active = Activity::by_job(&live);
        Ok(ids.iter().map(|id| active.get(id).copied().unwrap_or_default()).collect())
    }

    /// Every job of the caller in brief, as far as one answer holds them, and whether there are more.
    pub(super) async fn brief(
        &self,
        caller: &Caller,
    ) -> Result<(Vec<proto::JobStatusProto>, bool), Status> {
        let mut all = Vec::new();
        let mut after = None;
        while all.len() <= MOST_JOBS {
            let jobs = self.jobs(caller, after, BATCH).await?;
            all.extend(self.brief_of(&jobs).await?);
            match jobs.last() {
                Some(last) if jobs.len() == BATCH => after = Some(last.spec.id),
                _ => break,
            }
        }
        if let (Some(local), true) = (&self.local, caller.sees_all()) {
            let jobs = local.store().jobs(None, BATCH).await.map_err(status)?;
            all.extend(self.brief_of(&jobs).await?);
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
    pub(super) fn source(&self, caller: &Caller) -> Result<watch::Source, Status> {
        Ok(watch::Source {
            // That of the job that is watched, once it is known.
            store: self.service.store().clone(),
            changes: self.changes.listen(),
            closing: self.closing.clone(),
            place: self.place(caller)?,
        })
    }

    /// A place among those who have streams.
    pub(super) fn place(&self, caller: &Caller) -> Result<Place, Status> {
        self.places.take(caller).map_err(Status::resource_exhausted)
    }
}

/// Who sent a request: put there by whoever let it in.
pub(super) fn caller<T>(request: &tonic::Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| Status::unauthenticated("nobody said who asks"))
}

/// The id of an execution as it was sent.
fn execution_id(field: &str, id: &str) -> Result<ExecutionId, Refusal> {
    id.parse().map_err(|_| {
        let shown: String = id.chars().take(100).collect();
        Refusal::of(field, format!("\"{shown}\" is not an id; use the id of an execution"))
    })
}
