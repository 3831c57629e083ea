//! The table of contents: what happened in an hour, a day, a week, a month or a year.

use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::request::Parts;
use axum::response::Response;
use chronos_core::schedule::Zone;
use chronos_history::{Archive, ArchiveError, Level, Node, Period, Shelf};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::history::shelf;
use crate::problem::{FieldError, Problem};
use crate::rest::api::{Api, json};
use crate::rest::document::WhyNot;
use crate::rest::query::Query;
use crate::rest::wire::history::{TocHeadline, TocNode};

/// Periods that one list tells at most: the hours of a month.
const MOST: usize = 750;

const ACCEPTED: &str = "an id such as toc:hour:2026-11-15T13, toc:day:2026-11-15, toc:week:2026:W46, \
                        toc:month:2026-11 or toc:year:2026";

/// The period that a path names.
pub(in crate::rest) struct Named(Period);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let given = params.map_err(|_| {
            Problem::bad_parameter("node", "it is no text; use UTF-8, encoded where need be")
        })?;
        let text = given.iter().map(|(_, text)| text).next().unwrap_or_default();
        let period = text.parse().map_err(|error: chronos_history::Error| {
            let error = error.to_string();
            let what = error.split("; ").next().unwrap_or_default();
            Problem::bad_parameter("node", format!("{what}; use {ACCEPTED}"))
        });
        period.map(Self)
    }
}

/// Tells what happened in an hour, a day, an ISO week, a month or a year: notes, figures, and the shorter periods
/// that it is made of. Bounds are in universal time, and also told on the clocks of `tz`. Users are told about
/// their own jobs, viewers and admins about all of them.
#[utoipa::path(get, path = "/history/toc/{node}", tag = "history",
    params(("node" = String, Path, description = "The period", example = "toc:day:2026-11-15"),
        ("tz" = Option<String>, Query, description = "The zone of local times; UTC if left out",
            example = "Europe/Berlin")),
    responses(
        (status = 200, description = "What happened", body = TocNode),
        WhyNot))]
pub(in crate::rest) async fn get(
    State(api): State<Api>,
    caller: Caller,
    Named(period): Named,
    mut query: Query,
) -> Result<Response, Problem> {
    let bad = |error| Problem::bad_parameters(vec![error]);
    let zone = zone(&mut query).and_then(|zone| query.done("tz").map(|()| zone)).map_err(bad)?;
    let owner = caller.clone();
    let told = api
        .history
        .read(move |archive| {
            let shelf = shelf(&owner);
            let Some(node) = archive.node(shelf, period)? else { return Ok(None) };
            let (children, around) =
                (children(archive, shelf, &node)?, archive.neighbours(shelf, period)?);
            Ok(Some(TocNode::of(&node, around, &children, zone)))
        })
        .await?;
    told.map(|told| json(&told)).ok_or_else(|| {
        Problem::not_found(format!(
            "nothing is told of {}: nothing happened then, or it is too recent",
            period.title()
        ))
    })
}

fn children(archive: &Archive, shelf: Shelf<'_>, node: &Node) -> Result<Vec<Node>, ArchiveError> {
    let mut children = Vec::with_capacity(node.children.len());
    for child in &node.children {
        children.extend(archive.node(shelf, *child)?);
    }
    Ok(children)
}

/// Periods of one level, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct TocList {
    items: Vec<TocHeadline>,
}

/// Lists the periods of a level in a line each, for calendars and charts: those that hold something from `from` to
/// `to`, in order. Without a level it lists the years.
#[utoipa::path(get, path = "/history/toc", tag = "history",
    params(("level" = Option<String>, Query, description = "`hour`, `day`, `week`, `month` or `year`"),
        ("from" = Option<String>, Query, format = DateTime,
            description = "The first instant; that of the oldest period if left out"),
        ("to" = Option<String>, Query, format = DateTime,
            description = "The last instant; now if left out"),
        ("tz" = Option<String>, Query, description = "The zone of local times; UTC if left out")),
    responses(
        (status = 200, description = "The periods, of more than 750 the newest", body = TocList),
        WhyNot))]
pub(in crate::rest) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let asked = (|| {
        let read = |text: &str| Level::ALL.into_iter().find(|level| level.as_str() == text);
        let level = query.read("level", "hour, day, week, month or year", read)?;
        let (from, to) = (query.instant("from")?, query.instant("to")?);
        let zone = zone(&mut query)?;
        query.done("level, from, to or tz")?;
        Ok((level.unwrap_or(Level::Year), from, to, zone))
    })();
    let (level, from, to, zone) = asked.map_err(|error| Problem::bad_parameters(vec![error]))?;
    let first = Period::containing(level, from.unwrap_or(chronos_core::Timestamp::EPOCH));
    let last = Period::containing(level, to.unwrap_or_else(|| api.now()));
    let nodes =
        api.history.read(move |archive| archive.nodes(shelf(&caller), &(first..=last), MOST));
    let items = nodes.await?.iter().map(|node| TocHeadline::of(node, zone)).collect();
    Ok(json(&TocList { items }))
}

/// The zone that local times are told in.
pub(super) fn zone(query: &mut Query) -> Result<Zone, FieldError> {
    let Some(name) = query.take("tz") else { return Ok(Zone::UTC) };
    Zone::parse(&name).map_err(|error| {
        FieldError::new("tz", format!("{error}; use an IANA name such as Europe/Berlin"))
    })
}
