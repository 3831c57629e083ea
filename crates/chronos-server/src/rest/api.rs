//! What the handlers share: finding jobs, and telling them with what of them is alive.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::plan::Change;
use chronos_core::policy::QuietHours;
use chronos_core::store::{Done, Error, JobFilter, Store};
use chronos_core::{Execution, ExecutionId, Job, JobId, PolicyId, Timestamp};
use chronos_engine::SchedulerService;
use serde::Serialize;
use tokio::sync::Mutex;

use super::herd;
use super::version::etag;
use super::wire;
use crate::auth::{Auth, Caller};
use crate::daemon::Gate;
use crate::defaults::Defaults;
use crate::grpc::Changes;
use crate::history::History;
use crate::loops::{self, Asker};
use crate::metrics::Metrics;
use crate::places::Places;
use crate::problem::Problem;
use crate::quotas::Asked;

/// Says that a request was done before, and this is what it made then.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// This node's own jobs, of which there are a handful.
const OWN_JOBS: usize = 100;

/// The scheduler behind the routes.
#[derive(Clone)]
pub(crate) struct Api {
    pub(super) service: Arc<SchedulerService>,
    pub(super) changes: Changes,
    pub(super) metrics: Arc<Metrics>,
    pub(super) gate: Arc<Gate>,
    pub(crate) auth: Arc<Auth>,
    pub(super) history: History,
    /// Where those find room who wait for events.
    pub(super) places: Places,
    /// Since when what happens is counted.
    pub(super) since: Timestamp,
    /// What is known of the runs to come.
    pub(super) herd: Arc<Mutex<herd::Known>>,
}

impl Api {
    pub(crate) fn new(
        service: Arc<SchedulerService>,
        changes: Changes,
        metrics: Arc<Metrics>,
        gate: Arc<Gate>,
        auth: Arc<Auth>,
        history: History,
        places: Places,
    ) -> Self {
        let since = service.clock().now();
        let herd = herd::unknown();
        Self { service, changes, metrics, gate, auth, history, places, since, herd }
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.service.store().as_ref()
    }

    /// The store, which files what it is asked for as asked for by the caller.
    pub(super) fn store_for(&self, caller: &Caller) -> Arc<dyn Store> {
        self.service.store_for(caller.id())
    }

    /// The engine of this node's own jobs, where the scheduler's store is shared with other nodes.
    fn local(&self) -> Option<Arc<SchedulerService>> {
        self.history.scheduler().filter(|own| !Arc::ptr_eq(own, &self.service))
    }

    /// The engine that has the job: this node's own have one to themselves where the store is shared.
    pub(super) fn scheduler_of(&self, id: JobId) -> Arc<SchedulerService> {
        let local = self.local().filter(|local| local.has_registered(id));
        local.unwrap_or_else(|| self.service.clone())
    }

    /// The store that has the job.
    pub(super) fn store_of(&self, id: JobId) -> Arc<dyn Store> {
        self.scheduler_of(id).store().clone()
    }

    /// This node's own jobs that a filter asks for, in the order of their ids, of those that are there for the caller.
    pub(super) async fn own_jobs(
        &self,
        caller: &Caller,
        filter: &JobFilter,
    ) -> Result<Vec<Job>, Problem> {
        let Some(local) = self.local().filter(|_| caller.sees_all()) else {
            return Ok(Vec::new());
        };
        Ok(local.store().find_jobs(filter, None, OWN_JOBS).await?.jobs)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.service.clock().now()
    }

    pub(super) fn defaults(&self) -> Defaults<'_> {
        Defaults::of(&self.service)
    }

    /// The caller's job of this id. One of somebody else is not there.
    pub(super) async fn job(&self, caller: &Caller, id: JobId) -> Result<Job, Problem> {
        let job = self.store_of(id).job(id).await?;
        if caller.sees(&job.spec) { Ok(job) } else { Err(Error::NoSuchJob(id).into()) }
    }

    /// The execution of this id, if its job is there for the caller. Nobody knows whose it was once its
    /// job is gone, so then it is there for those who see everything.
    pub(super) async fn execution(
        &self,
        caller: &Caller,
        id: ExecutionId,
    ) -> Result<Execution, Problem> {
        let execution = match (self.store().execution(id).await, self.local()) {
            (Err(Error::NoSuchExecution(_)), Some(local)) => local.store().execution(id).await?,
            (found, _) => found?,
        };
        if self.may_see(caller, execution.job).await? {
            Ok(execution)
        } else {
            Err(Error::NoSuchExecution(id).into())
        }
    }

    /// The quiet-hours policy of this id, which a request names in its path; everyone sees all of them.
    pub(super) async fn policy(&self, id: PolicyId) -> Result<QuietHours, Problem> {
        self.store().policy(id).await.map_err(|error| match error {
            Error::NoSuchPolicy(_) => Problem::not_found(error),
            error => error.into(),
        })
    }

    /// Refuses a run that runs ask for in a loop.
    pub(super) async fn refuse_loop(&self, job: &Job, asker: Asker) -> Result<(), Problem> {
        let refusal = loops::refusal(self.store(), self.service.config(), job, asker).await?;
        refusal.map_or(Ok(()), |detail| Err(Problem::looping(detail)))
    }

    /// Whether what belongs to the job is there for the caller.
    pub(super) async fn may_see(&self, caller: &Caller, job: JobId) -> Result<bool, Problem> {
        if caller.sees_all() {
            return Ok(true);
        }
        match self.store_of(job).job(job).await {
            Ok(job) => Ok(caller.sees(&job.spec)),
            Err(Error::NoSuchJob(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a new job of the caller; gives back its id, and whether the same request made it before.
    pub(super) async fn create(
        &self,
        caller: &Caller,
        asked: Asked,
        now: Timestamp,
    ) -> Result<(JobId, bool), Problem> {
        let made =
            self.auth.quotas().make(caller, self.store_for(caller).as_ref(), asked, now).await?;
        Ok(self.count(made))
    }

    /// Stores many new jobs of the caller, each by itself.
    pub(super) async fn create_all(
        &self,
        caller: &Caller,
        asked: Vec<Asked>,
        now: Timestamp,
    ) -> Result<Vec<Result<(JobId, bool), Problem>>, Problem> {
        let made = self
            .auth
            .quotas()
            .make_all(caller, self.store_for(caller).as_ref(), asked, now)
            .await?;
        Ok(made.into_iter().map(|made| Ok(self.count(made?))).collect())
    }

    fn count(&self, done: Done<JobId>) -> (JobId, bool) {
        if !done.again {
            self.metrics.job_created();
        }
        (done.made, done.again)
    }

    /// Changes the caller's job.
    pub(super) async fn amend(
        &self,
        caller: &Caller,
        id: JobId,
        change: Change,
        expected: Option<u64>,
    ) -> Result<Job, Problem> {
        self.job(caller, id).await?;
        let scheduler = self.scheduler_of(id);
        let job = scheduler.amend_job_for(caller.id(), id, change, expected).await?;
        self.changes.tell(id);
        Ok(job)
    }

    /// The jobs with what of them is alive, as the caller is told them.
    pub(super) async fn told(
        &self,
        caller: &Caller,
        jobs: &[Job],
    ) -> Result<Vec<wire::job::Job>, Problem> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.spec.id).collect();
        let mut live = self.store().live(&ids).await?;
        if let Some(local) = self.local() {
            live.extend(local.store().live(&ids).await?);
        }
        let mut by_job: HashMap<JobId, Vec<&Execution>> = HashMap::new();
        for execution in &live {
            by_job.entry(execution.job).or_default().push(execution);
        }
        let live_of = |id| by_job.get(&id).map(Vec::as_slice).unwrap_or_default();
        let tell = |job: &Job| {
            let told = wire::job::Job::of(job, live_of(job.spec.id));
            if caller.sees_queries(&job.spec) { told } else { told.without_queries() }
        };
        Ok(jobs.iter().map(tell).collect())
    }

    /// The answer that tells one job.
    pub(super) async fn answer(&self, caller: &Caller, job: &Job) -> Result<Response, Problem> {
        self.answer_without(caller, job, Vec::new()).await
    }

    /// The answer that tells one job and which of its secrets it no longer has.
    pub(super) async fn answer_without(
        &self,
        caller: &Caller,
        job: &Job,
        dropped: Vec<String>,
    ) -> Result<Response, Problem> {
        let told = self.told(caller, std::slice::from_ref(job)).await?.pop();
        let told = told.map(|told| told.without(dropped));
        Ok(([(header::ETAG, etag(job.spec.version))], Json(told)).into_response())
    }
}

/// Makes an answer tell where what was made is, and whether it was made before.
pub(super) fn made(mut response: Response, location: &str, again: bool) -> Response {
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    } else {
        *response.status_mut() = StatusCode::CREATED;
    }
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The answer that tells an execution which was asked for.
pub(super) fn made_execution(execution: &Execution, again: bool) -> Response {
    let told = json(&wire::execution::Execution::from(execution));
    made(told, &format!("/executions/{}", execution.id), again)
}

pub(super) fn json(told: &impl Serialize) -> Response {
    Json(told).into_response()
}
