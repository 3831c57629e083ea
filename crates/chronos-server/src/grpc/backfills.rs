//! Backfills: asked for, tried out, told and switched.

use chronos_core::backfill::{self, Asked, Order, Rate, Switch};
use chronos_core::store::Error;
use chronos_core::{BackfillId, Job};
use tonic::{Response, Status};

use super::convert::time::{instant, timestamp};
use super::refusal::{Refusal, status};
use super::{Scheduler, page};
use crate::auth::Caller;
use crate::backfills::{self, Surroundings};
use crate::proto::{
    Backfill, BackfillSlot, CreateBackfillRequest, ListBackfillsRequest, ListBackfillsResponse,
    PreviewBackfillResponse,
};

type Answer<T> = Result<Response<T>, Status>;

/// What is asked for; zero stands for what is usual.
fn asked(request: &CreateBackfillRequest) -> Result<Asked, Refusal> {
    let missing = || Refusal::missing("from", "an instant such as 2026-12-01T09:00:00Z");
    let usual = Asked::from(instant("from", request.from.ok_or_else(missing)?)?);
    let or = |given: u32, usual: u32| if given == 0 { usual } else { given };
    Ok(Asked {
        to: request.to.map(|to| instant("to", to)).transpose()?,
        order: if request.newest_first { Order::NewestFirst } else { Order::OldestFirst },
        cap: or(request.cap, usual.cap),
        rate: Rate {
            at_once: or(request.at_once, usual.rate.at_once),
            per_minute: Some(request.per_minute).filter(|given| *given > 0),
        },
        force: request.force,
        ..usual
    })
}

impl Scheduler {
    pub(super) async fn make_backfill(
        &self,
        caller: &Caller,
        request: CreateBackfillRequest,
    ) -> Answer<Backfill> {
        let (job, backfill) = self.think_out(caller, &request).await?;
        let store = self.service.store_for(caller.id());
        let made = store.create_backfill(backfill, self.now()).await.map_err(status)?;
        self.tell_backfill(job, &made).await
    }

    pub(super) async fn try_backfill(
        &self,
        caller: &Caller,
        request: CreateBackfillRequest,
    ) -> Answer<PreviewBackfillResponse> {
        let (_, backfill) = self.think_out(caller, &request).await?;
        let slots = backfills::preview(self.service.store().as_ref(), &backfill).await;
        let slots = slots.map_err(status)?;
        let slots = slots.iter().map(|slot| BackfillSlot {
            scheduled_for: Some(timestamp(slot.slot)),
            action: slot.action.as_str().into(),
            reason: slot.to_string(),
            execution_id: slot.execution.map(|id| id.to_string()).unwrap_or_default(),
        });
        let slots = slots.collect();
        let backfill = Some(Backfill { id: String::new(), ..told(&backfill, None) });
        Ok(Response::new(PreviewBackfillResponse { backfill, slots }))
    }

    async fn think_out(
        &self,
        caller: &Caller,
        request: &CreateBackfillRequest,
    ) -> Result<(Job, backfill::Backfill), Status> {
        let job = self.find(caller, "job", &request.job).await?;
        let asked = asked(request)?;
        self.auth.quotas().check_backfill(caller, &job.spec, asked.rate)?;
        let thought = backfills::think_out(job.clone(), asked, self.now()).await;
        Ok((job, thought.map_err(status)?))
    }

    pub(super) async fn backfills(
        &self,
        caller: &Caller,
        request: ListBackfillsRequest,
    ) -> Answer<ListBackfillsResponse> {
        let ListBackfillsRequest { job, limit, cursor } = request;
        let limit = page::limit(limit)?;
        let job = self.find(caller, "job", &job).await?;
        let id = job.spec.id;
        let before = page::read_before_backfill(&cursor, id)?;
        let store = self.service.store();
        let found = store.backfills(id, before, limit + 1).await.map_err(status)?;
        let around = Surroundings::of(store.as_ref(), job).await.map_err(status)?;
        let now = self.now();
        let told = found.iter().map(|it| told(it, around.waits_for(it, now)));
        let (backfills, more) = page::cut(told, limit);
        let last = backfills.last().filter(|_| more);
        let next_cursor = last.map(|last| page::before_backfill(id, last.number));
        let next_cursor = next_cursor.unwrap_or_default();
        Ok(Response::new(ListBackfillsResponse { backfills, next_cursor }))
    }

    pub(super) async fn backfill(&self, caller: &Caller, id: &str) -> Answer<Backfill> {
        let (job, backfill) = self.find_backfill(caller, id).await?;
        self.tell_backfill(job, &backfill).await
    }

    pub(super) async fn switch_backfill(
        &self,
        caller: &Caller,
        id: &str,
        switch: Switch,
    ) -> Answer<Backfill> {
        let (job, backfill) = self.find_backfill(caller, id).await?;
        let store = self.service.store_for(caller.id());
        let switched = store.switch_backfill(backfill.id(), switch, self.now()).await;
        let switched = switched.map_err(status)?;
        self.changes.tell(job.spec.id);
        self.tell_backfill(job, &switched).await
    }

    /// The backfill of this id and its job, if that is there for the caller.
    async fn find_backfill(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(Job, backfill::Backfill), Status> {
        let no_id = |_| Refusal::of("id", "it is no id; use a backfill's");
        let id: BackfillId = id.parse().map_err(no_id)?;
        let store = self.service.store();
        let found = store.backfill(id).await.map_err(status)?;
        match store.job(found.job).await {
            Ok(job) if caller.sees(&job.spec) => Ok((job, found)),
            Ok(_) | Err(Error::NoSuchJob(_)) => Err(status(Error::NoSuchBackfill(id))),
            Err(error) => Err(status(error)),
        }
    }

    async fn tell_backfill(&self, job: Job, backfill: &backfill::Backfill) -> Answer<Backfill> {
        let around = Surroundings::of(self.service.store().as_ref(), job).await.map_err(status)?;
        Ok(Response::new(told(backfill, around.waits_for(backfill, self.now()))))
    }
}

fn told(backfill: &backfill::Backfill, waits: Option<backfill::Wait>) -> Backfill {
    let counts = &backfill.counts;
    Backfill {
        id: backfill.id().to_string(),
        job_id: backfill.job.to_string(),
        number: backfill.number,
        from: Some(timestamp(backfill.from)),
        to: Some(timestamp(backfill.to)),
        newest_first: backfill.order == Order::NewestFirst,
        cap: backfill.cap,
        at_once: backfill.rate.at_once,
        per_minute: backfill.rate.per_minute.unwrap_or(0),
        force: backfill.force,
        state: backfill.state.as_str().into(),
        waits_for: waits.map(backfill::Wait::as_str).unwrap_or_default().into(),
        total: backfill.total,
        beyond_cap: backfill.beyond_cap,
        done: counts.done(),
        under_way: counts.under_way(),
        succeeded: counts.succeeded,
        failed: counts.failed,
        cancelled: counts.cancelled,
        skipped: counts.skipped,
        already_run: counts.already_run,
        error: backfill.error.as_deref().unwrap_or_default().into(),
        next_slot: backfill.cursor.filter(|_| !backfill.is_over()).map(timestamp),
        created_at: Some(timestamp(backfill.created_at)),
        updated_at: Some(timestamp(backfill.updated_at)),
        ended_at: backfill.state.ended_at().map(timestamp),
    }
}
