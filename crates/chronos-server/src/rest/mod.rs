//! The REST API: each handler reads the request, calls a verb and maps the answer.

mod api;
mod api_keys;
mod audit;
mod auth;
mod backfills;
mod body;
mod bulk;
mod changes;
mod cursor;
mod dead_letters;
mod document;
mod events;
mod executions;
mod explain;
mod herd;
mod history;
mod idempotency;
mod jobs;
mod lines;
mod list;
mod monitoring;
mod ordered;
mod page;
mod patch;
mod preview;
mod query;
mod quiet_hours;
mod recent;
mod streams;
mod strict;
mod subscriptions;
mod trace;
mod users;
mod version;
mod wire;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use api::Api;
pub(crate) use bulk::MAX_BODY as MAX_BULK_BODY;
pub use document::openapi;
pub(crate) use wire::audit::reconciled;

/// A message event as the API tells it, for those it is sent to.
pub(crate) fn write_event(event: &chronos_core::MessageEvent) -> String {
    // Numbers and texts are JSON whatever they are.
    serde_json::to_string(&wire::event::MessageEvent::from(event)).unwrap_or_default()
}

use crate::auth::authorise;
use crate::problem::Problem;

/// The path whose requests may be larger, and take longer, than others.
pub(crate) const BULK: &str = "/jobs/bulk";

/// The routes, and the document that describes them.
fn routes() -> OpenApiRouter<Api> {
    document::begin()
        .routes(routes!(list::list, jobs::create))
        .routes(routes!(jobs::create_recurring))
        .routes(routes!(jobs::get, jobs::change, jobs::delete))
        .routes(routes!(changes::stream))
        .routes(routes!(recent::list))
        .routes(routes!(jobs::pause))
        .routes(routes!(jobs::resume))
        .routes(routes!(jobs::run))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::cancel))
        .routes(routes!(backfills::list, backfills::create))
        .routes(routes!(backfills::get))
        .routes(routes!(backfills::pause))
        .routes(routes!(backfills::resume))
        .routes(routes!(backfills::cancel))
        .routes(routes!(executions::list))
        .routes(routes!(executions::get))
        .routes(routes!(executions::cancel))
        .routes(routes!(events::list))
        .routes(routes!(events::stream))
        .routes(routes!(dead_letters::list))
        .routes(routes!(dead_letters::redrive))
        .routes(routes!(preview::show))
        .routes(routes!(preview::upcoming, preview::compare))
        .routes(routes!(quiet_hours::list, quiet_hours::create))
        .routes(routes!(quiet_hours::get, quiet_hours::change, quiet_hours::delete))
        .routes(routes!(subscriptions::list, subscriptions::create))
        .routes(routes!(subscriptions::get, subscriptions::change, subscriptions::delete))
        .routes(routes!(subscriptions::pause))
        .routes(routes!(subscriptions::resume))
        .routes(routes!(monitoring::jobs))
        .routes(routes!(monitoring::workers))
        .routes(routes!(herd::show))
        .routes(routes!(document::tell))
        .routes(routes!(auth::signup))
        .routes(routes!(auth::login))
        .routes(routes!(auth::refresh))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::password))
        .routes(routes!(auth::me))
        .routes(routes!(audit::list))
        .routes(routes!(audit::stream::stream))
        .routes(routes!(audit::accounts::list))
        .routes(routes!(explain::explain))
        .routes(routes!(history::standing::get))
        .routes(routes!(history::standing::rebuild))
        .routes(routes!(history::prune::prune))
        .routes(routes!(history::toc::list))
        .routes(routes!(history::toc::get))
        .routes(routes!(history::jobs::get))
        .routes(routes!(history::search::get))
        .routes(routes!(api_keys::list, api_keys::create))
        .routes(routes!(api_keys::revoke))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::get, users::change, users::delete))
}

/// Every route but that of many jobs, which takes longer.
pub(crate) fn router(api: Api) -> Router {
    let (router, _) = routes().split_for_parts();
    guarded(router, &api).with_state(api)
}

/// The route that makes many jobs.
pub(crate) fn bulk_router(api: Api) -> Router {
    let (router, _) = OpenApiRouter::new().routes(routes!(bulk::create)).split_for_parts();
    guarded(router, &api).with_state(api)
}

/// The pages that show the document to people.
pub(crate) fn docs() -> Router {
    document::pages()
}

fn guarded(router: Router<Api>, api: &Api) -> Router<Api> {
    router
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(only_acceptable))
        .route_layer(from_fn_with_state(api.auth.clone(), authorise))
}

async fn method_not_allowed(request: Request) -> Problem {
    let detail =
        format!("{} is not for this path; its Allow header says what is", request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}

/// Refuses to answer whoever takes no JSON.
async fn only_acceptable(request: Request, next: Next) -> Response {
    if !takes_json(request.headers()) {
        let detail = "answers are application/json; accept that, or leave the header out";
        return Problem::new(StatusCode::NOT_ACCEPTABLE, detail).into_response();
    }
    next.run(request).await
}

fn takes_json(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(header::ACCEPT).iter().peekable();
    if given.peek().is_none() {
        return true;
    }
    let ranges = given.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let mut ranges = ranges.map(|range| {
        let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
        (kind.trim().to_ascii_lowercase(), parameters.replace(' ', ""))
    });
    ranges.any(|(kind, parameters)| {
        let refused = parameters == "q=0" || parameters.starts_with("q=0.000");
        let fits = matches!(
            kind.as_str(),
            "*/*"
                | "application/*"
                | "application/json"
                | "application/problem+json"
                | "application/x-ndjson"
                | "text/event-stream"
        );
        fits && !refused
    })
}

/// What is wrong with a job, by the field that the API knows it by.
pub(crate) fn invalid(error: &chronos_core::Error) -> Problem {
    Problem::invalid(vec![wire::spec::field_error(error)])
}
