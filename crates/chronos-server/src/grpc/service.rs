//! The methods of the contract.

use chronos_core::backfill::Switch;
use chronos_core::execution::CancelCause;
use chronos_core::plan::Change;
use chronos_core::{JobId, JobSpec, TraceId};
use futures::StreamExt;
use futures::stream::BoxStream;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Response, Status};

use super::convert::time::instant;
use super::refusal::{Refusal, status};
use super::scheduler::caller;
use super::watch::{self, Subject};
use super::{Scheduler, TRUNCATED, backup, events, page};
use crate::auth::Caller;
use crate::loops::{self, Asker};
use crate::proto::scheduler_server::Scheduler as Contract;
use crate::proto::watch_executions_request::Of;
use crate::proto::{
    Backfill, BackupChunk, BackupRequest, CancelBackfillRequest, CancelExecutionRequest,
    CreateBackfillRequest, CreateJobRequest, DeleteJobRequest, DeleteJobResponse, Execution,
    GetBackfillRequest, GetExecutionRequest, GetJobRequest, GetSchedulerStatusRequest,
    GetSchedulerStatusResponse, Job, ListBackfillsRequest, ListBackfillsResponse,
    ListExecutionsRequest, ListExecutionsResponse, ListJobsRequest, ListJobsResponse, MessageEvent,
    PauseBackfillRequest, PauseJobRequest, PreviewBackfillResponse, ResumeBackfillRequest,
    ResumeJobRequest, RunJobRequest, StreamEventsRequest, UpdateJobRequest, WatchExecutionsRequest,
};
use crate::secrets;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Contract for Scheduler {
    async fn get_scheduler_status(
        &self,
        request: Request<GetSchedulerStatusRequest>,
    ) -> Answer<GetSchedulerStatusResponse> {
        let caller = caller(&request)?;
        let name = request.into_inner().job_name;
        let (jobs, truncated) = if name.is_empty() {
            self.brief(&caller).await?
        } else {
            (self.brief_of(&[self.find(&caller, "job_name", &name).await?]).await?, false)
        };
        let scheduler_running = self.service.is_running();
        let mut answer = Response::new(GetSchedulerStatusResponse { scheduler_running, jobs });
        if truncated {
            answer.metadata_mut().insert(TRUNCATED, MetadataValue::from_static("true"));
        }
        Ok(answer)
    }

    async fn create_job(&self, request: Request<CreateJobRequest>) -> Answer<Job> {
        let (now, trace) = (self.now(), trace(request.metadata()));
        let caller = caller(&request)?;
        let id = self.service.new_job_id();
        let spec = self.defaults().read_message(request.into_inner().spec, (id, None), now)?;
        let spec = JobSpec { owner: caller.owner.clone(), trace, ..spec };
        let store = self.service.store_for(caller.id());
        self.auth.quotas().make(&caller, store.as_ref(), (spec, None), now).await?;
        self.metrics.job_created();
        let job = store.job(id).await.map_err(status)?;
        Ok(Response::new(self.told(&caller, &job).await?))
    }

    async fn update_job(&self, request: Request<UpdateJobRequest>) -> Answer<Job> {
        let caller = caller(&request)?;
        let UpdateJobRequest { job, spec, expected_version } = request.into_inner();
        let known = self.find(&caller, "job", &job).await?.spec;
        let asked = self.defaults().read_message(spec, (known.id, Some(&known)), self.now())?;
        self.auth.quotas().check(&caller, &asked, Some(&known))?;
        let expected = (expected_version > 0).then_some(expected_version);
        let edit = Change::Edit(Box::new(keeping_phase(asked, &known)));
        let job = self
            .home(known.id)
            .amend_job_for(caller.id(), known.id, edit, expected)
            .await
            .map_err(status)?;
        self.changes.tell(job.spec.id);
        let dropped_secrets = secrets::dropped(&known, &job.spec);
        Ok(Response::new(Job { dropped_secrets, ..self.told(&caller, &job).await? }))
    }

    async fn delete_job(&self, request: Request<DeleteJobRequest>) -> Answer<DeleteJobResponse> {
        let caller = caller(&request)?;
        let job = self.find(&caller, "job", &request.into_inner().job).await?.spec.id;
        let store = self.home(job).store_for(caller.id());
        store.delete_job(job, self.now()).await.map_err(status)?;
        self.changes.tell(job);
        Ok(Response::new(DeleteJobResponse {}))
    }

    async fn get_job(&self, request: Request<GetJobRequest>) -> Answer<Job> {
        let caller = caller(&request)?;
        let job = self.find(&caller, "job", &request.into_inner().job).await?;
        Ok(Response::new(self.told(&caller, &job).await?))
    }

    async fn list_jobs(&self, request: Request<ListJobsRequest>) -> Answer<ListJobsResponse> {
        let caller = caller(&request)?;
        let ListJobsRequest { limit, cursor } = request.into_inner();
        let (limit, after) = (page::limit(limit)?, page::read_after_job(&cursor)?);
        // One more than asked for tells whether there is a next page.
        let jobs = self.jobs(&caller, after, limit + 1).await?;
        let (jobs, more) = page::cut(self.told_all(&caller, &jobs).await?, limit);
        let last = jobs.last().filter(|_| more);
        let next_cursor = last.map(|job| page::after_job(&job.id)).unwrap_or_default();
        Ok(Response::new(ListJobsResponse { jobs, next_cursor }))
    }

    async fn pause_job(&self, request: Request<PauseJobRequest>) -> Answer<Job> {
        let caller = caller(&request)?;
        let PauseJobRequest { job, note, resume_at } = request.into_inner();
        let note = Some(note).filter(|note| !note.is_empty()).map(Into::into);
        let resume_at = resume_at.map(|at| instant("resume_at", at)).transpose()?;
        self.change(&caller, &job, Change::Pause { note, resume_at }).await
    }

    async fn resume_job(&self, request: Request<ResumeJobRequest>) -> Answer<Job> {
        let caller = caller(&request)?;
        self.change(&caller, &request.into_inner().job, Change::Resume).await
    }

    async fn run_job(&self, request: Request<RunJobRequest>) -> Answer<Execution> {
        let (caller, trace) = (caller(&request)?, trace(request.metadata()));
        let asker = Asker { is_run: request.metadata().contains_key(loops::OF_A_RUN), trace };
        let job = self.find(&caller, "job", &request.into_inner().job).await?;
        let home = self.home(job.spec.id);
        let (store, config) = (home.store().as_ref(), home.config());
        let looping = loops::refusal(store, config, &job, asker).await.map_err(status)?;
        if let Some(why) = looping {
            return Err(Status::failed_precondition(why));
        }
        let job = job.spec.id;
        let store = home.store_for(caller.id());
        let run = store.run_now(job, trace, self.now()).await;
        let execution = run.map_err(status)?;
        home.note_run(&execution).await;
        self.changes.tell(job);
        Ok(Response::new((&execution).into()))
    }

    async fn list_executions(
        &self,
        request: Request<ListExecutionsRequest>,
    ) -> Answer<ListExecutionsResponse> {
        let caller = caller(&request)?;
        let ListExecutionsRequest { job, limit, cursor } = request.into_inner();
        let limit = page::limit(limit)?;
        let job = self.find(&caller, "job", &job).await?.spec.id;
        let before = page::read_before_execution(&cursor, job)?;
        let rows = self.home(job).store().executions(job, before, limit + 1).await;
        let rows = rows.map_err(status)?;
        let (executions, more) = page::cut(rows.iter().map(Execution::from), limit);
        let last = executions.last().filter(|_| more);
        let next_cursor = last.map(|last| page::before_execution(job, &last.id));
        let next_cursor = next_cursor.unwrap_or_default();
        Ok(Response::new(ListExecutionsResponse { executions, next_cursor }))
    }

    async fn get_execution(&self, request: Request<GetExecutionRequest>) -> Answer<Execution> {
        let caller = caller(&request)?;
        let execution = self.find_execution(&caller, "id", &request.into_inner().id).await?;
        Ok(Response::new((&execution).into()))
    }

    async fn cancel_execution(
        &self,
        request: Request<CancelExecutionRequest>,
    ) -> Answer<Execution> {
        let caller = caller(&request)?;
        let found = self.find_execution(&caller, "id", &request.into_inner().id).await?;
        let id = found.id;
        let store = self.home(found.job).store_for(caller.id());
        store.cancel(id, CancelCause::User, self.now()).await.map_err(status)?;
        let execution = store.execution(id).await.map_err(status)?;
        self.changes.tell(execution.job);
        Ok(Response::new((&execution).into()))
    }

    type WatchExecutionsStream = BoxStream<'static, Result<Execution, Status>>;

    async fn watch_executions(
        &self,
        request: Request<WatchExecutionsRequest>,
    ) -> Answer<Self::WatchExecutionsStream> {
        let caller = caller(&request)?;
        // Hints are kept from before the first look, so that nothing falls between the two.
        let mut source = self.source(&caller)?;
        let subject = match request.into_inner().of {
            None => return Err(Refusal::missing("of", "job or execution").into()),
            Some(Of::Job(job)) => Subject::job(self.find(&caller, "job", &job).await?.spec.id),
            Some(Of::Execution(id)) => {
                Subject::execution(&self.find_execution(&caller, "execution", &id).await?)
            }
        };
        source.store = self.home(subject.of()).store().clone();
        let revoked = self.auth.clone().until_revoked(caller);
        let changes = watch::stream(source, subject).await;
        Ok(Response::new(watch::until(changes, revoked).boxed()))
    }

    type StreamEventsStream = BoxStream<'static, Result<MessageEvent, Status>>;

    async fn stream_events(
        &self,
        request: Request<StreamEventsRequest>,
    ) -> Answer<Self::StreamEventsStream> {
        let caller = caller(&request)?;
        let reader = self.follower(&caller, request.into_inner()).await?;
        let place = self.place(&caller)?;
        let revoked = self.auth.clone().until_revoked(caller);
        let events = events::stream(reader, place, self.closing.clone());
        Ok(Response::new(watch::until(events, revoked).boxed()))
    }

    async fn create_backfill(&self, request: Request<CreateBackfillRequest>) -> Answer<Backfill> {
        let caller = caller(&request)?;
        self.make_backfill(&caller, request.into_inner()).await
    }

    async fn preview_backfill(
        &self,
        request: Request<CreateBackfillRequest>,
    ) -> Answer<PreviewBackfillResponse> {
        let caller = caller(&request)?;
        self.try_backfill(&caller, request.into_inner()).await
    }

    async fn list_backfills(
        &self,
        request: Request<ListBackfillsRequest>,
    ) -> Answer<ListBackfillsResponse> {
        let caller = caller(&request)?;
        self.backfills(&caller, request.into_inner()).await
    }

    async fn get_backfill(&self, request: Request<GetBackfillRequest>) -> Answer<Backfill> {
        let caller = caller(&request)?;
        self.backfill(&caller, &request.into_inner().id).await
    }

    async fn pause_backfill(&self, request: Request<PauseBackfillRequest>) -> Answer<Backfill> {
        let caller = caller(&request)?;
        self.switch_backfill(&caller, &request.into_inner().id, Switch::Pause).await
    }

    async fn resume_backfill(&self, request: Request<ResumeBackfillRequest>) -> Answer<Backfill> {
        let caller = caller(&request)?;
        self.switch_backfill(&caller, &request.into_inner().id, Switch::Resume).await
    }

    async fn cancel_backfill(&self, request: Request<CancelBackfillRequest>) -> Answer<Backfill> {
        let caller = caller(&request)?;
        self.switch_backfill(&caller, &request.into_inner().id, Switch::Cancel).await
    }

    type BackupStream = BoxStream<'static, Result<BackupChunk, Status>>;

    async fn backup(&self, _: Request<BackupRequest>) -> Answer<Self::BackupStream> {
        let Some(store) = self.copied.clone() else {
            let problem = "jobs are kept in PostgreSQL, which has its own tools: copy the database \
                           with pg_dump, or archive its write-ahead log";
            return Err(Status::failed_precondition(problem));
        };
        Ok(Response::new(backup::stream(store).boxed()))
    }
}

impl Scheduler {
    async fn change(&self, caller: &Caller, job: &str, change: Change) -> Answer<Job> {
        let job: JobId = self.find(caller, "job", job).await?.spec.id;
        let job =
            self.home(job).amend_job_for(caller.id(), job, change, None).await.map_err(status)?;
        self.changes.tell(job.spec.id);
        Ok(Response::new(self.told(caller, &job).await?))
    }
}

/// The trace that a request is a part of, if it says so.
fn trace(metadata: &MetadataMap) -> Option<TraceId> {
    metadata.get("traceparent")?.to_str().ok().and_then(TraceId::of_parent)
}

/// What is asked for, with the phase of an interval that stays as it was.
fn keeping_phase(asked: JobSpec, known: &JobSpec) -> JobSpec {
    let schedule = if asked.schedule.is_like(&known.schedule) {
        known.schedule.clone()
    } else {
        asked.schedule
    };
    JobSpec { schedule, ..asked }
}
