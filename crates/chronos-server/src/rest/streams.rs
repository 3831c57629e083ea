//! What streams share: a place among all of them, signs of life, and an end when their reader may listen no more.

use std::convert::Infallible;
use std::fmt::Display;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use chronos_core::store::{self, AuditFilter, AuditWalk, Store};
use futures::{Stream, StreamExt};

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
    lines: impl Stream<Item = Event> + Send + 'static,
) -> Response {
    let lines = lines.take_until(Box::pin(over(api, caller)));
    Sse::new(lines.map(Ok::<_, Infallible>)).into_response()
}

/// The same, of lines that are written already, as many at once as each of the pieces has.
pub(super) fn send(
    api: &Api,
    caller: Caller,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let pieces = pieces.take_until(Box::pin(over(api, caller)));
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (head, Body::from_stream(pieces.map(Ok::<_, Infallible>))).into_response()
}

/// Comes to its end when a reader is shut out, or the daemon stops.
fn over(api: &Api, caller: Caller) -> impl Future<Output = ()> + Send + use<> {
    let revoked = api.auth.clone().until_revoked(caller);
    let gate = api.gate.clone();
    async move {
        tokio::select! {
            () = revoked => {}
            () = gate.closed() => {}
        }
    }
}

/// A line that is no event, but says how far was looked.
pub(super) fn mark(cursor: impl Display) -> Event {
    Event::default().comment("still here").id(cursor.to_string())
}

/// The sequence of the newest decision; zero while there is none.
pub(super) async fn newest_decision(store: &dyn Store) -> store::Result<u64> {
    let page = store.find_audit(&AuditFilter::default(), AuditWalk::NewestFirst(None), 1).await?;
    Ok(page.events.first().map_or(0, |event| event.sequence))
}
