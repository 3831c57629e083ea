//! The audit as it is written, for whoever follows it.
//!
//! A hint says when to look, the log says what there is; nothing is kept for whoever reads.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use chronos_core::JobId;
use futures::{Stream, StreamExt};
use tokio::sync::broadcast;
use tokio::time::{Interval, MissedTickBehavior};

use super::{Asked, AuditEvent, Filters};
use crate::auth::Caller;
use crate::places::Place;
use crate::problem::Problem;
use crate::rest::api::Api;
use crate::rest::document::WhyNot;
use crate::rest::query::Query;
use crate::rest::streams::{self, SIGN_OF_LIFE};

/// Looked at this often without any hint: other nodes give none.
const POLL: Duration = Duration::from_secs(1);
/// Looked at no more often than this, however many hints there are.
const PACE: Duration = Duration::from_millis(100);
/// Events of each log that one look takes.
const AT_ONCE: usize = 256;

/// How far a reader has got: it was told of both logs up to these sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    decision: u64,
    account: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.decision, self.account)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let sequence = |text: &str| {
            let read = text.parse::<i64>().ok().and_then(|read| u64::try_from(read).ok());
            read.filter(|read| read.to_string() == text).ok_or(())
        };
        let (decision, account) = text.split_once('-').ok_or(())?;
        Ok(Self { decision: sequence(decision)?, account: sequence(account)? })
    }
}

/// Streams the audit as it is written, as server-sent events: each is one of those that `GET /audit` lists,
/// and has an `id`. Whoever comes back with the last of them as `Last-Event-ID` goes on from there; that goes
/// before `after`. Without either, the stream begins with what comes from now on.
#[utoipa::path(get, path = "/audit/stream", tag = "audit",
    params(Filters,
        ("after" = Option<String>, Query, description = "The `id` to go on after, or `latest`"),
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` to go on after")),
    responses(
        (status = 200, description = "Events without end", body = String, content_type = "text/event-stream"),
        WhyNot))]
pub(in crate::rest) async fn stream(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, Problem> {
    let after = query.take("after").filter(|after| after != "latest");
    let last = headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default().to_owned());
    let asked = Asked::read(&caller, query)?;
    let newest = newest(&api).await?;
    let from = match (last, after) {
        (Some(last), _) => beginning("Last-Event-ID", &last, newest)?,
        (None, Some(after)) => beginning("after", &after, newest)?,
        (None, None) => newest,
    };
    let place = streams::place(&api, &caller)?;
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let hints = api.changes.listen();
    let tail = Tail { api: api.clone(), asked, at: from, hints, pace, place };
    Ok(streams::answer(&api, caller, lines(tail)))
}

/// Where a reader begins that names it.
fn beginning(field: &str, text: &str, newest: Cursor) -> Result<Cursor, Problem> {
    let refused = |problem: &str| Problem::bad_parameter(field, problem);
    let cursor: Cursor =
        text.parse().map_err(|()| refused("it is no id of this stream; use that of an event"))?;
    if cursor.decision > newest.decision || cursor.account > newest.account {
        // As after a restore: whoever waited there would miss what comes before.
        return Err(refused("it is beyond the newest event; use latest"));
    }
    Ok(cursor)
}

async fn newest(api: &Api) -> Result<Cursor, Problem> {
    let decision = streams::newest_decision(api.store()).await?;
    let accounts = api.auth.accounts().account_events(None, 1).await?;
    Ok(Cursor { decision, account: accounts.first().map_or(0, |event| event.sequence) })
}

/// One reader.
struct Tail {
    api: Api,
    asked: Asked,
    at: Cursor,
    hints: broadcast::Receiver<JobId>,
    pace: Interval,
    #[expect(dead_code, reason = "it is given back when the stream ends")]
    place: Place,
}

fn lines(tail: Tail) -> impl Stream<Item = Bytes> + Send {
    // Whoever is cut off before the first event knows where to go on.
    let first = streams::mark(tail.at);
    let pages = futures::stream::unfold(tail, async |mut tail| {
        let lines = match tokio::time::timeout(SIGN_OF_LIFE, tail.next()).await {
            // A store that fails ends the stream; its reader comes back with what it got.
            Ok(told) => told.ok()?,
            Err(_) => vec![streams::mark(tail.at)],
        };
        Some((futures::stream::iter(lines), tail))
    });
    futures::stream::once(async { first }).chain(pages.flatten())
}

impl Tail {
    /// What comes next, once there is something. Given up on the way, it has lost nothing.
    async fn next(&mut self) -> Result<Vec<Bytes>, Problem> {
        loop {
            let (lines, more) = self.look().await?;
            if !lines.is_empty() {
                return Ok(lines);
            }
            if !more {
                self.wait().await;
            }
        }
    }

    async fn wait(&mut self) {
        // Whatever was missed of the hints may have been one, too.
        let _ = tokio::time::timeout(POLL, self.hints.recv()).await;
        self.pace.tick().await;
        while self.hints.try_recv().is_ok() {}
    }

    /// What was written since the last look, and whether there may be more of it already.
    async fn look(&mut self) -> Result<(Vec<Bytes>, bool), Problem> {
        let mut at = self.at;
        let mut lines = Vec::new();
        let decisions = self.api.store().audit(at.decision, AT_ONCE).await?;
        let accounts = if self.asked.accounts { self.accounts().await? } else { Vec::new() };
        for event in &decisions {
            at.decision = event.sequence;
            if self.asked.decisions && self.asked.filter.matches(event) {
                lines.push(line(at, &AuditEvent::from(event)));
            }
        }
        for event in &accounts {
            at.account = event.sequence;
            if self.asked.matches(event) {
                lines.push(line(at, &AuditEvent::from(event)));
            }
        }
        // From here on nothing waits, so that whoever gives up gives up all of it.
        self.at = at;
        Ok((lines, decisions.len() == AT_ONCE))
    }

    /// What was done about accounts since the last look, oldest first.
    async fn accounts(&self) -> Result<Vec<chronos_core::account::Event>, Problem> {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = self.api.auth.accounts().account_events(before, AT_ONCE).await?;
            let whole = page.len() == AT_ONCE;
            let new = page.into_iter().take_while(|event| event.sequence > self.at.account);
            let known = found.len();
            found.extend(new);
            if !whole || found.len() < known + AT_ONCE {
                found.reverse();
                return Ok(found);
            }
            before = found.last().map(|event: &chronos_core::account::Event| event.sequence);
        }
    }
}

fn line(at: Cursor, event: &AuditEvent) -> Bytes {
    streams::event("audit", Some(&at), event).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_id_and_nothing_else_is_one() {
        let cursor = Cursor { decision: 1042, account: 7 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "-", "1", "1-", "-1-1", "01-1", "1-1-1", "9223372036854775808-1", "x-1"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
