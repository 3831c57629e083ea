//! The list of jobs, filtered and paged.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use chronos_core::job::Status;
use chronos_core::store::JobFilter;
use chronos_core::{Job, JobId};

use super::api::Api;
use super::cursor;
use super::document::WhyNot;
use super::ordered::{self, Place};
use super::page::{self, JobPage, Paged};
use super::query::Query;
use super::wire::Errors;
use crate::auth::Caller;
use crate::problem::Problem;

/// How long jobs are looked for before a page leads on with what it has.
const PATIENCE: Duration = Duration::from_millis(10);
/// Jobs found in one step of the store, which others wait for.
const AT_ONCE: usize = 100;
const PARAMETERS: &str = "limit, cursor, status, recurring, paused, name, tag, owner, \
                          next_run_after, next_run_before or sort";

/// Lists jobs in the order of their ids, which is that of their creation, or of their next runs. Filters narrow each other. A
/// page may hold fewer jobs than asked for, or none, and still lead on: what few jobs meet is looked
/// for a while, and then by the next page.
#[utoipa::path(get, path = "/jobs", tag = "jobs",
    params(
        Paged,
        ("status" = Option<String>, Query, description =
            "PENDING, RUNNING, RETRY_PENDING, SUCCESS, FAILED, DISABLED, or paused"),
        ("recurring" = Option<bool>, Query),
        ("paused" = Option<bool>, Query),
        ("name" = Option<String>, Query, description = "What the name begins with, letter by letter"),
        ("tag" = Option<String>, Query),
        ("owner" = Option<String>, Query, description = "The id of the user whose jobs they are"),
        ("next_run_after" = Option<String>, Query, format = DateTime,
            description = "The next slot is at this instant or later"),
        ("next_run_before" = Option<String>, Query, format = DateTime,
            description = "The next slot is before this instant"),
        ("sort" = Option<String>, Query, description =
            "`created`, or `next_run`: the soonest first, those without a next run left out")),
    responses(
        (status = 200, description = "Some of the jobs", body = JobPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page()?;
    let by_next_run = query.read("sort", "created or next_run", |text| match text {
        "created" => Some(false),
        "next_run" => Some(true),
        _ => None,
    });
    let by_next_run = by_next_run.map_err(|error| Problem::bad_parameters(vec![error]))?;
    let filter = filter(query, &caller)?;
    if by_next_run == Some(true) {
        return by_next_run_of(&api, &caller, &filter, limit, asked.as_deref()).await;
    }
    let after = cursor::read(&filter, asked.as_deref())?.map(JobId::from_bytes);
    let (mut jobs, rest) = find(&api, &filter, after, limit + 1).await?;
    let is_here =
        |job: &Job| Some(job.spec.id) > after && rest.is_none_or(|end| job.spec.id <= end);
    let own = api.own_jobs(&caller, &filter).await?;
    jobs.extend(own.into_iter().filter(is_here));
    jobs.sort_unstable_by_key(|job| job.spec.id);
    let told = api.told(&caller, &jobs).await?;
    let lead_on = |job: &JobId| cursor::write(&filter, job.as_bytes());
    let ids = jobs.iter().map(|job| job.spec.id);
    page::answer(ids.zip(told), limit, lead_on, rest.as_ref().map(lead_on))
}

/// The soonest first.
async fn by_next_run_of(
    api: &Api,
    caller: &Caller,
    filter: &JobFilter,
    limit: usize,
    asked: Option<&str>,
) -> Result<Response, Problem> {
    let from = Place::read(filter, asked)?;
    let (mut jobs, rest) = ordered::find(api.store(), filter, from, limit + 1, api.now()).await?;
    let is_here = |job: &Job| {
        let place = Place::of(job);
        job.standing.next_slot.is_some()
            && from.is_none_or(|from| place > from)
            && rest.is_none_or(|end| place <= end)
    };
    let own = api.own_jobs(caller, filter).await?;
    jobs.extend(own.into_iter().filter(is_here));
    jobs.sort_by_key(Place::of);
    let told = api.told(caller, &jobs).await?;
    let places = jobs.iter().map(Place::of);
    page::answer(
        places.zip(told),
        limit,
        |place| place.write(filter),
        rest.map(|it| it.write(filter)),
    )
}

/// What is asked for; nobody is told about jobs of others.
fn filter(mut query: Query, caller: &Caller) -> Result<JobFilter, Problem> {
    let mut errors = Errors::default();
    let statuses = format!("{}, or paused", Status::ALL.map(Status::as_str).join(", "));
    let status = errors.note(query.read("status", &statuses, |text| {
        if text.eq_ignore_ascii_case("paused") { Some(None) } else { Status::parse(text).map(Some) }
    }));
    let paused = errors.note(query.flag("paused"));
    let recurring = errors.note(query.flag("recurring"));
    let next_from = errors.note(query.instant("next_run_after"));
    let next_before = errors.note(query.instant("next_run_before"));
    let name_prefix = query.take("name").map(Into::into);
    let tag = query.take("tag").map(Into::into);
    let owner = errors.note(query.read("owner", "your own id, or leave it out", |owner| {
        (caller.sees_all() || owner == &*caller.owner).then(|| owner.into())
    }));
    let own = (!caller.sees_all()).then(|| caller.owner.clone());
    let rest = errors.note(query.done(PARAMETERS));
    let read = (|| {
        let (status, paused) = (status?, paused?);
        rest?;
        Some(JobFilter {
            owner: owner?.or(own),
            name_prefix,
            tag,
            status: status.flatten(),
            paused: if status == Some(None) { Some(true) } else { paused },
            recurring: recurring?,
            next_from: next_from?,
            next_before: next_before?,
        })
    })();
    errors.unless_any(read).map_err(Problem::bad_parameters)
}

/// Up to `limit` jobs, found in steps that let others in between; and where to go on, if there may be
/// more.
async fn find(
    api: &Api,
    filter: &JobFilter,
    mut after: Option<JobId>,
    limit: usize,
) -> Result<(Vec<Job>, Option<JobId>), Problem> {
    let clock = api.service.clock();
    let began = clock.monotonic();
    let mut jobs = Vec::new();
    loop {
        let room = (limit - jobs.len()).min(AT_ONCE);
        let found = api.store().find_jobs(filter, after, room).await?;
        jobs.extend(found.jobs);
        after = found.next;
        let waited = clock.monotonic().saturating_sub(began);
        if after.is_none() || jobs.len() >= limit || waited > PATIENCE {
            return Ok((jobs, after));
        }
        tokio::task::yield_now().await;
    }
}
