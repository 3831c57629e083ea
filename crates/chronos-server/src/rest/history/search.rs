//! Searching the history.

use axum::extract::State;
use axum::response::Response;

use super::toc::zone;
use crate::auth::Caller;
use crate::history::Sought;
use crate::problem::{FieldError, Problem};
use crate::rest::api::{Api, json};
use crate::rest::document::WhyNot;
use crate::rest::query::Query;
use crate::rest::wire::search::SearchPage;

/// Finds what happened by its words: errors, captured bodies and logs, decisions, messages and notes of the table of
/// contents. The best and newest come first. Words and phrases are all asked for, `-` asks for what is without, and
/// the fields are `job`, `status`, `owner`, `type`, `node`, `reason`, `kind`, `after` and `before`; of one that is
/// given several times, any value fits. Users find what is about their own jobs, viewers and admins all of it.
#[utoipa::path(get, path = "/history/search", tag = "history",
    params(("query" = Option<String>, Query, description = "What to look for; everything if left out",
            example = "job:invoice status:failed \"connection reset\" after:2026-11-01"),
        ("tz" = Option<String>, Query,
            description = "The zone of days and times in the query, and of local times; UTC if left out"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "20 if left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses(
        (status = 200, description = "What was found", body = SearchPage),
        WhyNot))]
pub(in crate::rest) async fn get(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, Problem> {
    let sought = asked(query).map_err(|error| Problem::bad_parameters(vec![error]))?;
    let zone = sought.zone;
    let found = api.history.search(&caller, sought).await?;
    Ok(json(&SearchPage::of(found, zone)))
}

fn asked(mut query: Query) -> Result<Sought, FieldError> {
    let read = |text: &str| text.parse().ok().filter(|limit| (1..=Sought::MOST).contains(limit));
    let limit = query.read("limit", "a number from 1 to 100", read)?.unwrap_or(Sought::USUAL);
    let zone = zone(&mut query)?;
    let sought = query.take("query").unwrap_or_default();
    let cursor = query.take("cursor");
    query.done("query, tz, limit or cursor")?;
    Ok(Sought { query: sought, zone, cursor, limit })
}
