//! What streams share: a place among all of them, signs of life, and an end when their reader may listen no more.

use std::convert::Infallible;
use std::fmt::Display;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chronos_core::store::{self, AuditFilter, AuditWalk, Store};
use futures::{Stream, StreamExt};
use serde::Serialize;

use super::api::Api;
use crate::auth::Caller;
use crate::places::Place;
use crate::problem::Problem;

/// A quiet stream says this often that it is there, and how far it has looked.
pub(super) const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A place among those who wait.
pub(super) fn place(api: &Api, caller: &Caller) -> Result<Place, Problem> {
    api.places.take(caller).map_err(|problem| Problem::too_many(problem, Duration::ZERO))
}

/// The answer that sends lines as they come, until its reader is shut out or the daemon stops.
pub(super) fn answer(
    api: &Api,
    caller: Caller,
    lines: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let revoked = api.auth.clone().until_revoked(caller);
    let gate = api.gate.clone();
    let over = async move {
        tokio::select! {
            () = revoked => {}
            () = gate.closed() => {}
        }
    };
    let lines = lines.take_until(Box::pin(over));
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (head, Body::from_stream(lines.map(Ok::<_, Infallible>))).into_response()
}

/// An event, with the place to go on after if it has one.
pub(super) fn event(name: &str, id: Option<&dyn Display>, told: &impl Serialize) -> String {
    // JSON has no line breaks of its own, so one line of data says it all.
    let told = serde_json::to_string(told).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {told}\n\n")
}

/// Lines that are no event.
pub(super) fn comment(said: &str) -> Bytes {
    format!(": {said}\n\n").into()
}

/// Lines that are no event, but say how far was looked.
pub(super) fn mark(cursor: impl Display) -> Bytes {
    format!(": still here\nid: {cursor}\n\n").into()
}

/// The sequence of the newest decision; zero while there is none.
pub(super) async fn newest_decision(store: &dyn Store) -> store::Result<u64> {
    let page = store.find_audit(&AuditFilter::default(), AuditWalk::NewestFirst(None), 1).await?;
    Ok(page.events.first().map_or(0, |event| event.sequence))
}
