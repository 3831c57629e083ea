//! Quiet-hours policies: listed, made, told, changed and removed.
//!
//! Policies are shared: everyone sees all of them and lets jobs observe them. Whoever made one changes it, and
//! so do admins.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::PolicyId;
use chronos_core::account::Role;
use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Observers};
use serde_json::{Map, Value};
use tracing::info;
use utoipa::ToSchema;

use super::api::{Api, json, made};
use super::body::Body;
use super::cursor;
use super::document::WhyNot;
use super::page::{self, Paged};
use super::query::{Id, Query};
use super::strict;
use super::version::{etag, if_match};
use super::wire::quiet_hours::{NewQuietHours, QuietHours as Told, Said};
use crate::auth::Caller;
use crate::problem::{InUse, JobName, Problem};

/// Policies, in the order in which they were made.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct QuietHoursPage {
    items: Vec<Told>,
    next_cursor: Option<String>,
}

/// Lists quiet-hours policies, one's own and those of others, in the order in which they were made.
#[utoipa::path(get, path = "/quiet-hours", tag = "quiet hours",
    params(Paged),
    responses(
        (status = 200, description = "Some of the policies", body = QuietHoursPage),
        WhyNot))]
pub(super) async fn list(State(api): State<Api>, query: Query) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let after = cursor::read(&"quiet hours", asked.as_deref())?.map(PolicyId::from_bytes);
    let policies = api.store().policies(after, limit + 1).await?;
    let items = policies.iter().map(|policy| (policy.id, Told::from(policy)));
    page::answer(items, limit, |last| cursor::write(&"quiet hours", last.as_bytes()), None)
}

/// Creates a quiet-hours policy, for jobs to observe by its id.
#[utoipa::path(post, path = "/quiet-hours", tag = "quiet hours", request_body = NewQuietHours,
    responses(
        (status = 201, description = "The policy", body = Told,
            headers(("Location" = String), ("ETag" = String))),
        (status = 409, description = "The name is taken", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    body: Body<NewQuietHours>,
) -> Result<Response, Problem> {
    let who = (api.service.new_policy_id(), &*caller.owner);
    let policy = body.value.read(who, api.service.default_zone(), api.now());
    let policy = policy.map_err(Problem::invalid)?;
    api.store_for(&caller).create_policy(policy.clone()).await?;
    info!(policy = %policy.id, by = %caller.owner, "Quiet-hours policy made");
    Ok(made(answer(&policy), &format!("/quiet-hours/{}", policy.id), false))
}

/// Tells a quiet-hours policy.
#[utoipa::path(get, path = "/quiet-hours/{id}", tag = "quiet hours",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The policy", body = Told, headers(("ETag" = String))),
        WhyNot))]
pub(super) async fn get(State(api): State<Api>, Id(id): Id<PolicyId>) -> Result<Response, Problem> {
    Ok(answer(&api.policy(id).await?))
}

/// Changes a quiet-hours policy: fields that are given take the place of those that it has, null stands for
/// the default. Its jobs keep to it from their next slot on; what is held back already stays so until the time
/// that was said.
#[utoipa::path(patch, path = "/quiet-hours/{id}", tag = "quiet hours",
    request_body(content = Object, content_type = "application/json",
        description = "Any fields of a new policy",
        example = json!({"exceptions": [{"date": "2026-12-31", "quiet": false}]})),
    params(("id" = String, Path, format = "uuid"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the policy as it was read")),
    responses(
        (status = 200, description = "The policy", body = Told, headers(("ETag" = String))),
        (status = 412, description = "Somebody else changed it meanwhile", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn change(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<PolicyId>,
    headers: HeaderMap,
    body: Body<Map<String, Value>>,
) -> Result<Response, Problem> {
    let before = api.policy(id).await?;
    check_owner(&caller, &before)?;
    let expected = if_match(&headers, "policy", before.version)?;
    let edit = merged(&api, &before, body.value)?;
    if Said::from(&edit) == Said::from(&before) {
        return Ok(answer(&before));
    }
    // Whoever changed it since it was read here is not to be undone.
    let expected = expected.or(Some(before.version));
    let edited = api.store_for(&caller).edit_policy(edit, expected, api.now()).await?;
    info!(policy = %id, by = %caller.owner, version = edited.version, "Quiet-hours policy changed");
    Ok(answer(&edited))
}

/// Removes a quiet-hours policy that no job observes.
#[utoipa::path(delete, path = "/quiet-hours/{id}", tag = "quiet hours",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 204, description = "The policy is no longer there"),
        (status = 409, description = "Jobs observe it; `in_use` names them", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn delete(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<PolicyId>,
) -> Result<Response, Problem> {
    let policy = api.policy(id).await?;
    check_owner(&caller, &policy)?;
    match api.store_for(&caller).delete_policy(id, api.now()).await {
        Ok(()) => {
            info!(policy = %id, by = %caller.owner, "Quiet-hours policy removed");
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        Err(Error::NoSuchPolicy(_)) => Err(Problem::not_found(Error::NoSuchPolicy(id))),
        Err(Error::PolicyInUse(observers)) => Err(in_use(&caller, &policy, *observers)),
        Err(error) => Err(error.into()),
    }
}

fn answer(policy: &QuietHours) -> Response {
    ([(header::ETAG, etag(policy.version))], json(&Told::from(policy))).into_response()
}

/// Refuses whoever neither made the policy nor is an admin. It is no secret, so that is said.
fn check_owner(caller: &Caller, policy: &QuietHours) -> Result<(), Problem> {
    if caller.role == Role::Admin || caller.owner == policy.owner {
        return Ok(());
    }
    let detail = format!("policy \"{}\" is somebody else's; ask them or an admin", policy.name);
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

/// The policy with what is asked for in place of what it said.
fn merged(
    api: &Api,
    before: &QuietHours,
    asked: Map<String, Value>,
) -> Result<QuietHours, Problem> {
    let mut merged = match serde_json::to_value(Said::from(before)) {
        Ok(Value::Object(said)) => said,
        _ => Map::new(),
    };
    merged.extend(asked);
    let new: NewQuietHours = strict::read_value(Value::Object(merged))?;
    let who = (before.id, &*before.owner);
    new.read(who, api.service.default_zone(), api.now()).map_err(Problem::invalid)
}

/// Says which jobs observe the policy, as far as they are there for the caller.
fn in_use(caller: &Caller, policy: &QuietHours, observers: Observers) -> Problem {
    let Observers { count, first } = observers;
    let seen = first.into_iter().filter(|job| caller.sees_all() || job.owner == caller.owner);
    let jobs = seen.map(|job| JobName { id: job.id.to_string(), name: job.name.into() });
    let by = InUse { count, jobs: jobs.collect() };
    let named = by.jobs.iter().take(3).map(|job| format!("\"{}\"", job.name));
    let named: Vec<String> = named.collect();
    let among = match named.len() {
        0 => String::new(),
        _ => format!(", among them {}", named.join(", ")),
    };
    let jobs = if count == 1 { "job observes" } else { "jobs observe" };
    let detail = format!("{count} {jobs} policy \"{}\"{among}", policy.name);
    Problem::in_use(detail, by)
}
