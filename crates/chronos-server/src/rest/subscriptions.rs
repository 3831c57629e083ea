//! Subscriptions to message events: made, listed, told, changed, paused, resumed and removed.
//!
//! A user hears the events of its own jobs, an admin those of everyone. What is somebody else's is not there.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::account::Role;
use chronos_core::subscription::{Error, Subscription, Subscriptions, Switch};
use chronos_core::{SubscriptionId, Timestamp};
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
use super::wire::subscription::{Asker, Lag, NewSubscription, Said, Subscription as Told};
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};
use crate::quotas::{Excess, Of};
use crate::secrets::{Safe, dropped_on_the_way};

/// Events that are counted to say how far a subscription is behind.
const COUNTED: usize = 1_000;
/// Pages of the log that are looked at for that.
const LOOKED_AT: usize = 32;

/// Subscriptions, in the order in which they were made.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct SubscriptionPage {
    items: Vec<Told>,
    next_cursor: Option<String>,
}

/// Lists subscriptions, in the order in which they were made.
#[utoipa::path(get, path = "/subscriptions", tag = "subscriptions",
    params(Paged),
    responses(
        (status = 200, description = "Some of the subscriptions", body = SubscriptionPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let owner = (!caller.sees_all()).then_some(&*caller.owner);
    let list = ("subscriptions", owner);
    let after = cursor::read(&list, asked.as_deref())?.map(SubscriptionId::from_bytes);
    let found = port(&api)?.subscriptions(owner, after, limit + 1).await?;
    let items = found.iter().map(|subscription| (subscription.id, tell(&caller, subscription)));
    page::answer(items, limit, |last| cursor::write(&list, last.as_bytes()), None)
}

/// Creates a subscription: message events are sent to its URL as `CloudEvents`, in order, each until it is
/// taken.
#[utoipa::path(post, path = "/subscriptions", tag = "subscriptions", request_body = NewSubscription,
    responses(
        (status = 201, description = "The subscription", body = Told,
            headers(("Location" = String), ("ETag" = String))),
        (status = 409, description = "The name is taken", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    body: Body<NewSubscription>,
) -> Result<Response, Problem> {
    let id = api.service.new_subscription_id();
    let newest = api.store().newest_message().await?;
    let after = body.value.after.unwrap_or(newest);
    if after > newest {
        let problem =
            format!("{after} is beyond the newest event, which is {newest}; use that or less");
        return Err(Problem::invalid(vec![FieldError::new("after", problem)]));
    }
    let safe = Safe::of_subscription(api.service.keyring(), id, None);
    let asker = asker(&api, &caller, (id, &*caller.owner), safe);
    let new = body.value.read(&asker, after, api.now()).map_err(Problem::invalid)?;
    let (quota, most) = api.auth.quotas().most_subscriptions(&caller);
    let created = port(&api)?.create_subscription(new.clone(), most).await;
    created.map_err(|error| used_up(quota, error))?;
    info!(subscription = %id, by = %caller.owner, "Subscription made");
    Ok(made(answer(&new, &tell(&caller, &new)), &format!("/subscriptions/{id}"), false))
}

/// Tells a subscription, with how far it is behind.
#[utoipa::path(get, path = "/subscriptions/{id}", tag = "subscriptions",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The subscription", body = Told, headers(("ETag" = String))),
        WhyNot))]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<SubscriptionId>,
) -> Result<Response, Problem> {
    let subscription = find(&api, &caller, id).await?;
    let lag = lag(&api, &subscription).await?;
    Ok(answer(&subscription, &tell(&caller, &subscription).with_lag(lag)))
}

/// Changes a subscription: fields that are given take the place of those that it has, null stands for the
/// default. What is being sent meanwhile is sent as it was; an event that waits to be tried again is tried at
/// once.
#[utoipa::path(patch, path = "/subscriptions/{id}", tag = "subscriptions",
    request_body(content = Object, content_type = "application/json",
        description = "Any fields of a new subscription but `after`",
        example = json!({"filter": {"tag": "billing"}})),
    params(("id" = String, Path, format = "uuid"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the subscription as it was read")),
    responses(
        (status = 200, description = "The subscription", body = Told, headers(("ETag" = String))),
        (status = 412, description = "Somebody else changed it meanwhile", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn change(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<SubscriptionId>,
    headers: HeaderMap,
    body: Body<Map<String, Value>>,
) -> Result<Response, Problem> {
    let before = find(&api, &caller, id).await?;
    let expected = if_match(&headers, "subscription", before.version)?;
    let edit = merged(&api, &caller, &before, body.value)?;
    let is_like = edit.endpoint == before.endpoint && Said::from(&edit) == Said::from(&before);
    if is_like {
        return Ok(answer(&before, &tell(&caller, &before)));
    }
    let dropped = dropped_on_the_way(&before.endpoint, &edit.endpoint);
    // Whoever changed it since it was read here is not to be undone.
    let expected = expected.or(Some(before.version));
    let edited = port(&api)?.edit_subscription(edit, expected, api.now()).await?;
    info!(subscription = %id, by = %caller.owner, version = edited.version, "Subscription changed");
    Ok(answer(&edited, &tell(&caller, &edited).without(dropped)))
}

/// Removes a subscription. What is being sent meanwhile may still arrive.
#[utoipa::path(delete, path = "/subscriptions/{id}", tag = "subscriptions",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 204, description = "The subscription is no longer there"),
        WhyNot))]
pub(super) async fn delete(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<SubscriptionId>,
) -> Result<Response, Problem> {
    find(&api, &caller, id).await?;
    port(&api)?.delete_subscription(id).await?;
    info!(subscription = %id, by = %caller.owner, "Subscription removed");
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Pauses a subscription: nothing is sent until it is resumed.
#[utoipa::path(post, path = "/subscriptions/{id}/pause", tag = "subscriptions",
    params(("id" = String, Path, format = "uuid")),
    responses((status = 200, description = "The subscription", body = Told), WhyNot))]
pub(super) async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<SubscriptionId>,
) -> Result<Response, Problem> {
    switch(&api, &caller, id, Switch::Pause).await
}

/// Resumes a subscription: it goes on after the event that was taken last.
#[utoipa::path(post, path = "/subscriptions/{id}/resume", tag = "subscriptions",
    params(("id" = String, Path, format = "uuid")),
    responses((status = 200, description = "The subscription", body = Told), WhyNot))]
pub(super) async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id<SubscriptionId>,
) -> Result<Response, Problem> {
    switch(&api, &caller, id, Switch::Resume).await
}

async fn switch(
    api: &Api,
    caller: &Caller,
    id: SubscriptionId,
    switch: Switch,
) -> Result<Response, Problem> {
    find(api, caller, id).await?;
    let switched = port(api)?.switch_subscription(id, switch, api.now()).await?;
    info!(subscription = %id, by = %caller.owner, ?switch, "Subscription switched");
    Ok(answer(&switched, &tell(caller, &switched)))
}

/// Where subscriptions are kept.
fn port(api: &Api) -> Result<&dyn Subscriptions, Problem> {
    let nowhere = || Problem::not_found("this scheduler keeps no subscriptions");
    api.service.subscriptions().map(|port| &**port).ok_or_else(nowhere)
}

/// The caller's subscription of this id. One of somebody else is not there.
async fn find(api: &Api, caller: &Caller, id: SubscriptionId) -> Result<Subscription, Problem> {
    let found = port(api)?.subscription(id).await?;
    if caller.sees_all() || found.owner == caller.owner {
        Ok(found)
    } else {
        Err(Error::NoSuchSubscription(id).into())
    }
}

fn answer(subscription: &Subscription, told: &Told) -> Response {
    ([(header::ETAG, etag(subscription.version))], json(told)).into_response()
}

/// The subscription as the caller is told it: a viewer of other people's is not told what queries hold.
fn tell(caller: &Caller, subscription: &Subscription) -> Told {
    let told = Told::from(subscription);
    let has_a_say = caller.role == Role::Admin || subscription.owner == caller.owner;
    if has_a_say { told } else { told.without_query() }
}

fn asker<'a>(
    api: &'a Api,
    caller: &Caller,
    (id, owner): (SubscriptionId, &'a str),
    safe: Safe<'a>,
) -> Asker<'a> {
    // An admin who changes a user's subscription does not make it hear more than the user may.
    let hears_all = caller.role == Role::Admin && *caller.owner == *owner;
    Asker { id, owner, hears_all, reach: &api.service.config().reach, safe }
}

/// The subscription with what is asked for in place of what it said.
fn merged(
    api: &Api,
    caller: &Caller,
    before: &Subscription,
    asked: Map<String, Value>,
) -> Result<Subscription, Problem> {
    if asked.contains_key("after") {
        let problem = "it is said once, when the subscription is made; leave it out";
        return Err(Problem::invalid(vec![FieldError::new("after", problem)]));
    }
    let mut merged = match serde_json::to_value(Said::from(before)) {
        Ok(Value::Object(said)) => said,
        _ => Map::new(),
    };
    let keeps_filter = !asked.contains_key("filter");
    merged.extend(asked);
    let new: NewSubscription = strict::read_value(Value::Object(merged))?;
    let safe = Safe::of_subscription(api.service.keyring(), before.id, Some(&before.endpoint));
    let mut editor = asker(api, caller, (before.id, &*before.owner), safe);
    // Whose events are heard was decided when the filter was given.
    editor.hears_all |= keeps_filter;
    let read = new.read(&editor, before.delivery.cursor, api.now());
    read.map_err(Problem::invalid)
}

/// How far a subscription is behind. Where little of a long log is asked for, the count stops early.
async fn lag(api: &Api, subscription: &Subscription) -> Result<Lag, Problem> {
    let (mut cursor, mut events) = (subscription.delivery.cursor, 0);
    let mut oldest: Option<Timestamp> = None;
    let filter = subscription.filter.reading();
    for _ in 0..LOOKED_AT {
        let page = api.store().message_events(&filter, cursor, COUNTED - events).await?;
        let heard = page.events.iter().filter(|event| subscription.filter.matches(event));
        for event in heard {
            oldest = oldest.or(Some(event.message.occurred_at));
            events += 1;
        }
        cursor = page.cursor;
        if !page.more || events >= COUNTED {
            break;
        }
    }
    let seconds = oldest.map(|oldest| api.now().since(oldest)).unwrap_or_default().into();
    Ok(Lag { events, seconds })
}

/// The problem of a subscription that was not made.
fn used_up(quota: &'static str, error: Error) -> Problem {
    let Error::TooManyOfOwner(value) = error else {
        return error.into();
    };
    let problem = format!(
        "{quota} of {value} is used up; delete a subscription, or have whoever runs this raise it"
    );
    Excess { quota, value, of: Of::Subscriptions, problem }.into()
}
