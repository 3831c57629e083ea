//! Message events: pulled after a cursor, waited for, or streamed.
//!
//! Whoever reads is served from the log: a page at a time, when it is ready for one. Nothing is kept for it.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use chronos_core::JobId;
use chronos_core::store::{EventFilter, EventPage};
use chronos_engine::Follower;
use futures::{Stream, StreamExt};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::api::{Api, json};
use super::document::WhyNot;
use super::query::Query;
use super::streams::{self, SIGN_OF_LIFE};
use super::wire::event::MessageEvent;
use crate::auth::Caller;
use crate::places::Place;
use crate::problem::{FieldError, Problem};

/// The longest that a request waits for events: shorter than requests may take.
const LONGEST_WAIT: u64 = 25;
/// Events that a stream holds at once.
const AT_ONCE: usize = 64;

/// Message events, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MessageEventPage {
    items: Vec<MessageEvent>,
    /// The `after` of the next request, whether there was an event or not.
    #[schema(example = "1042")]
    next_cursor: String,
    /// Whether the log goes on beyond it already.
    more: bool,
}

impl From<&EventPage> for MessageEventPage {
    fn from(page: &EventPage) -> Self {
        let items = page.events.iter().map(MessageEvent::from).collect();
        Self { items, next_cursor: page.cursor.to_string(), more: page.more }
    }
}

/// Which events are asked for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only tells the document which parameters there are")]
pub(super) struct Asked {
    /// Those after this sequence, or `latest` for those that come from now on.
    #[param(value_type = Option<String>, example = "1042")]
    after: Option<String>,
    /// Those of this job.
    #[param(format = "uuid")]
    job: Option<String>,
    /// Those of jobs that were filed under this when they fired.
    tag: Option<String>,
}

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    After(u64),
    Latest,
}

/// Lists message events after a cursor, oldest first. With `wait`, an answer without events comes only after
/// that many seconds. Whoever asks again with `next_cursor` as `after` gets every event once.
#[utoipa::path(get, path = "/events", tag = "events",
    params(Asked,
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("wait" = Option<u32>, Query, description = "Seconds to wait for an event", minimum = 0, maximum = 25)),
    responses(
        (status = 200, description = "Some of the events", body = MessageEventPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let limit = super::cursor::limit(query.take("limit").as_deref())?;
    let accepted = format!("whole seconds from 0 to {LONGEST_WAIT}");
    let seconds = |text: &str| text.parse().ok().filter(|wait| *wait <= LONGEST_WAIT);
    let wait = query.read("wait", &accepted, seconds).map_err(bad)?.unwrap_or(0);
    let (filter, from) = read(&caller, query, "after, job, tag, limit or wait")?;
    let from = from.unwrap_or(Start::After(0));
    let mut reader = follow(&api, filter, from).await?;
    let page = if wait == 0 {
        reader.look(limit).await?
    } else {
        let _place = streams::place(&api, &caller)?;
        tokio::select! {
            biased;
            // Nobody is kept waiting by a daemon that stops.
            () = api.gate.closed() => reader.look(limit).await?,
            page = reader.next_within(limit, Duration::from_secs(wait)) => page?,
        }
    };
    Ok(json(&MessageEventPage::from(&page)))
}

/// Streams message events as they come, as server-sent events: each has its sequence as `id`. Whoever comes
/// back with the last of them as `Last-Event-ID` goes on from there; that goes before `after`. Without either,
/// the stream begins with what comes from now on.
#[utoipa::path(get, path = "/events/stream", tag = "events",
    params(Asked,
        ("Last-Event-ID" = Option<u64>, Header, description = "The sequence to go on after")),
    responses(
        (status = 200, description = "Events without end", body = String, content_type = "text/event-stream"),
        WhyNot))]
pub(super) async fn stream(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, Problem> {
    let (filter, from) = read(&caller, query, "after, job or tag")?;
    let from = last_event(&headers)?.or(from).unwrap_or(Start::Latest);
    let place = streams::place(&api, &caller)?;
    let reader = follow(&api, filter, from).await?;
    Ok(streams::answer(&api, caller, told(reader, place)))
}

/// The events of a reader, a page at a time, each once the one before was taken. A page is sent as a whole,
/// of lines that are written once for all readers.
fn told(reader: Follower, place: Place) -> impl Stream<Item = Bytes> + Send {
    // Whoever is cut off before the first event knows where to go on.
    let first = streams::mark(reader.cursor());
    let pages = futures::stream::unfold((reader, place), async |(mut reader, place)| {
        // A store that fails ends the stream; its reader comes back with what it got.
        let page = reader.next_shared_within(AT_ONCE, SIGN_OF_LIFE).await.ok()?;
        if page.events.is_empty() {
            return Some((streams::mark(page.cursor), (reader, place)));
        }
        let lines: Vec<&str> = page.events.iter().map(|event| event.written(line)).collect();
        Some((Bytes::from(lines.concat()), (reader, place)))
    });
    futures::stream::once(async { first }).chain(pages)
}

fn line(event: &chronos_core::MessageEvent) -> Box<str> {
    streams::event("message", Some(&event.sequence), &MessageEvent::from(event)).into()
}

/// What is asked for, of what there is for the caller.
fn read(
    caller: &Caller,
    mut query: Query,
    accepted: &str,
) -> Result<(EventFilter, Option<Start>), Problem> {
    let job = query.read("job", "a job's id", |text| text.parse::<JobId>().ok()).map_err(bad)?;
    let tag = query.take("tag").map(Into::into);
    let accepted_from = "a sequence, such as next_cursor of the page before, or latest";
    let from = query.read("after", accepted_from, |text| match text {
        "latest" => Some(Start::Latest),
        text => sequence(text).map(Start::After),
    });
    let from = from.map_err(bad)?;
    query.done(accepted).map_err(bad)?;
    let owner = (!caller.sees_all()).then(|| caller.owner.clone());
    Ok((EventFilter { job, owner, tag }, from))
}

/// A sequence, as the store can hold it.
fn sequence(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().and_then(|sequence| u64::try_from(sequence).ok())
}

fn last_event(headers: &HeaderMap) -> Result<Option<Start>, Problem> {
    let Some(given) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let sequence = given.to_str().ok().and_then(sequence);
    let refused =
        || Problem::bad_parameter("Last-Event-ID", "it is no sequence; use the id of an event");
    sequence.map(|sequence| Some(Start::After(sequence))).ok_or_else(refused)
}

async fn follow(api: &Api, filter: EventFilter, from: Start) -> Result<Follower, Problem> {
    let events = api.service.events();
    let after = match from {
        Start::Latest => return Ok(events.follow_new(filter).await?),
        Start::After(after) => after,
    };
    let newest = if after == 0 { 0 } else { api.store().newest_message().await? };
    if after > newest {
        // As after a restore: whoever waited there would miss what comes before.
        let problem =
            format!("{after} is beyond the newest event, which is {newest}; use that or less");
        return Err(Problem::bad_parameter("after", problem));
    }
    Ok(events.follow(filter, after))
}

fn bad(error: FieldError) -> Problem {
    Problem::bad_parameters(vec![error])
}
