//! The methods of the history.

use std::sync::Arc;

use axum::http::StatusCode;
use chronos_core::JobId;
use chronos_core::store::Error;
use chronos_engine::SchedulerService;
use chronos_history::{Card, Figures, Period};
use tonic::{Code, Request, Response, Status};

use super::convert::time::instant;
use super::convert::{history as convert, search};
use super::refusal::{Refusal, status};
use super::scheduler::caller;
use crate::auth::{Caller, LOCAL};
use crate::history::{History, days, shelf};
use crate::problem::Problem;
use crate::proto::history_server::History as Contract;
use crate::proto::{
    GetHistoryStandingRequest, GetJobHistoryRequest, GetTocNodeRequest, HistoryStanding,
    JobHistory, RebuildHistoryRequest, SearchHistoryRequest, SearchHistoryResponse, TocNode,
};

type Answer<T> = Result<Response<T>, Status>;

/// The gRPC service over the history of this node.
pub(crate) struct HistoryService {
    service: Arc<SchedulerService>,
    history: History,
}

impl HistoryService {
    pub(crate) fn new(service: Arc<SchedulerService>, history: History) -> Self {
        Self { service, history }
    }

    /// The job of this id or name, as it is now or as the history remembers it, if it is there for the caller.
    async fn job(&self, caller: &Caller, asked: &str) -> Result<(JobId, Card), Status> {
        if asked.is_empty() {
            return Err(Refusal::missing("job", "a job's id or name").into());
        }
        let store = self.service.store();
        if let Ok(id) = asked.parse::<JobId>() {
            match store.job(id).await {
                Ok(job) if caller.sees(&job.spec) => return Ok((id, card(&job.spec))),
                Ok(_) | Err(Error::NoSuchJob(_)) => {}
                Err(error) => return Err(status(error)),
            }
            let known =
                self.history.read(move |archive| archive.card(id)).await.map_err(refused)?;
            let is_there = |card: &Card| caller.sees_all() || card.owner == caller.owner;
            if let Some(card) = known.filter(is_there) {
                return Ok((id, card));
            }
        }
        let mut named = store.job_named(&caller.owner, asked).await.map_err(status)?;
        if named.is_none() && caller.sees_all() {
            named = store.job_named(LOCAL, asked).await.map_err(status)?;
        }
        let found = named.map(|job| (job.spec.id, card(&job.spec)));
        found.ok_or_else(|| {
            let shown: String = asked.chars().take(200).collect();
            Status::not_found(format!("no job with the name or id \"{shown}\""))
        })
    }
}

fn card(spec: &chronos_core::JobSpec) -> Card {
    Card { owner: spec.owner.clone(), name: spec.name.clone(), host: None }
}

#[tonic::async_trait]
impl Contract for HistoryService {
    async fn get_toc_node(&self, request: Request<GetTocNodeRequest>) -> Answer<TocNode> {
        let caller = caller(&request)?;
        let period: Period = request.into_inner().id.parse().map_err(|error| {
            let error: chronos_history::Error = error;
            Refusal::of("id", error.to_string())
        })?;
        let told = self.history.read(move |archive| {
            let shelf = shelf(&caller);
            let Some(node) = archive.node(shelf, period)? else { return Ok(None) };
            Ok(Some(convert::node(&node, archive.neighbours(shelf, period)?)))
        });
        let told = told.await.map_err(refused)?;
        told.map(Response::new).ok_or_else(|| {
            Status::not_found(format!(
                "nothing is told of {}: nothing happened then, or it is too recent",
                period.title()
            ))
        })
    }

    async fn get_job_history(&self, request: Request<GetJobHistoryRequest>) -> Answer<JobHistory> {
        let caller = caller(&request)?;
        let GetJobHistoryRequest { job, from, to } = request.into_inner();
        let from = from.map(|from| instant("from", from)).transpose()?;
        let to = to.map(|to| instant("to", to)).transpose()?;
        let (first, last) = days(from, to, self.service.clock().now())
            .map_err(|problem| Refusal::of("from", problem))?;
        let (id, card) = self.job(&caller, &job).await?;
        let known = self.history.read(move |archive| archive.days(id, &(first..=last))).await;
        let known = known.map_err(refused)?;
        let mut total = Figures::default();
        for (_, facts) in &known {
            total.merge(&facts.figures);
        }
        Ok(Response::new(JobHistory {
            job_id: id.to_string(),
            name: card.name.to_string(),
            total: Some(convert::figures(&total)),
            days: known.iter().map(convert::day).collect(),
        }))
    }

    async fn search_history(
        &self,
        request: Request<SearchHistoryRequest>,
    ) -> Answer<SearchHistoryResponse> {
        let caller = caller(&request)?;
        let sought = search::asked(request.into_inner())?;
        let found = self.history.search(&caller, sought).await.map_err(refused)?;
        Ok(Response::new(search::page(found)))
    }

    async fn rebuild_history(&self, _: Request<RebuildHistoryRequest>) -> Answer<HistoryStanding> {
        self.history.rebuild().map_err(Status::failed_precondition)?;
        let standing = self.history.standing().await.map_err(refused)?;
        Ok(Response::new(convert::standing(standing)))
    }

    async fn get_history_standing(
        &self,
        _: Request<GetHistoryStandingRequest>,
    ) -> Answer<HistoryStanding> {
        let standing = self.history.standing().await.map_err(refused)?;
        Ok(Response::new(convert::standing(standing)))
    }
}

/// The same refusal in the words of gRPC.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn refused(problem: Problem) -> Status {
    let code = match problem.status() {
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::Internal,
    };
    Status::new(code, problem.detail())
}
