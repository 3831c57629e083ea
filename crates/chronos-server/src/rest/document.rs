//! The document: what the API accepts and answers, written from the code that does it.

use axum::Router;
use axum::response::Response;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::api::{Api, json};
use super::{bulk, routes as all_routes};
use crate::problem::Problem;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Chronos",
        description = "Jobs on a schedule, their executions, and the scheduler that runs them.\n\n\
            Errors are `application/problem+json` and name the field. Lists are paged by \
            `next_cursor`. Requests with an `Idempotency-Key` can be sent again safely.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "jobs", description = "What runs, and when"),
        (name = "executions", description = "What ran, and how it ended"),
        (name = "audit", description = "What was decided and done, by whom and why"),
        (name = "history", description = "What happened, by the hour, the day, the week, the month and the year"),
        (name = "events", description = "What message jobs said"),
        (name = "subscriptions", description = "Where what message jobs say is sent"),
        (name = "dead letters", description = "What failed for good"),
        (name = "schedules", description = "What a schedule means"),
        (name = "quiet hours", description = "When nothing fires"),
        (name = "monitoring", description = "How the system does"),
        (name = "auth", description = "Getting in, and what one gets in with"),
        (name = "users", description = "Who may do what; for admins"),
        (name = "document", description = "This document"),
    ),
    modifiers(&Identity),
    security(("token" = [])),
)]
struct Document;

/// What every route answers that does not do what was asked for.
#[derive(IntoResponses)]
#[response(status = "4XX", description = "Why not", content_type = "application/problem+json")]
#[expect(dead_code, reason = "it only tells the document what a refusal looks like")]
pub(super) struct WhyNot(Problem);

/// How whoever asks says who it is.
struct Identity;

impl Modify for Identity {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "The token of a login, or an API key. Needed as soon as there is a user.",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// A router with nothing but the document's beginning.
pub(super) fn begin() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(Document::openapi())
}

/// The document, as JSON with an end of line: the file `openapi.json` of the repository.
#[must_use]
pub fn openapi() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

fn document() -> utoipa::openapi::OpenApi {
    let (_, mut document) = all_routes().routes(routes!(bulk::create)).split_for_parts();
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("put", &mut item.put),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ] {
            if let Some(operation) = operation {
                operation.operation_id = Some(operation_id(method, path));
            }
        }
    }
    document
}

/// What an operation is called, and no other: clients are made by these names, where those of the handlers
/// come several times.
fn operation_id(method: &str, path: &str) -> String {
    let path = path.replace("{id}", "by_id").replace("{node}", "by_node").replace(".json", "");
    let words = path.split(['/', '-']).filter(|word| !word.is_empty());
    words.fold(method.to_owned(), |name, word| format!("{name}_{word}"))
}

/// Tells this document.
#[utoipa::path(get, path = "/openapi.json", tag = "document", security(()),
    responses((status = 200, description = "The document", body = Object)))]
pub(super) async fn tell() -> Response {
    json(&document())
}

/// The document as pages to read and to try out, which need nothing from other machines.
pub(super) fn pages() -> Router {
    let config = Config::new(["/openapi.json"]).validator_url("none");
    SwaggerUi::new("/docs").config(config).into()
}
