//! The record of what was done about accounts, for admins to read.

use axum::extract::State;
use axum::response::Response;
use chronos_core::Timestamp;
use chronos_core::account::Event;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::rest::api::Api;
use crate::rest::cursor;
use crate::rest::document::WhyNot;
use crate::rest::page::{self, Paged};
use crate::rest::query::Query;

/// Something that was done about an account, or refused.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct AccountEvent {
    /// Its place in the order of all of them, from 1, without gaps.
    sequence: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// What kind of event it is.
    #[serde(rename = "type")]
    #[schema(example = "auth.role_changed")]
    kind: &'static str,
    /// What was done, in words.
    #[schema(example = "the role admin in place of user")]
    summary: String,
    /// The user who did it; null where whoever asked was not known, or was on the daemon's machine.
    #[schema(format = "uuid")]
    by: Option<String>,
    /// The address that it was asked for from; null for the program itself.
    from: Option<String>,
    /// The user whom it is about; null where a login was refused for a name that nobody has.
    #[schema(format = "uuid")]
    user_id: Option<String>,
    username: Option<String>,
    /// The API key that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    key_id: Option<String>,
}

impl From<&Event> for AccountEvent {
    fn from(event: &Event) -> Self {
        let Event { sequence, act, user, what } = event;
        Self {
            sequence: *sequence,
            at: act.at,
            kind: what.kind(),
            summary: what.summary(),
            by: act.by.map(|by| by.to_string()),
            from: act.from.map(|from| from.to_string()),
            user_id: user.as_ref().map(|(id, _)| id.to_string()),
            username: user.as_ref().map(|(_, name)| name.to_string()),
            key_id: what.key().map(|key| key.to_string()),
        }
    }
}

/// Account events, newest first.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(in crate::rest) struct AccountEventPage {
    items: Vec<AccountEvent>,
    next_cursor: Option<String>,
}

/// Lists what was done about accounts, or refused, newest first: users made, changed and removed,
/// passwords, API keys, and logins that were refused. The newest 100,000 are kept.
#[utoipa::path(get, path = "/auth/audit", tag = "users",
    params(Paged),
    responses(
        (status = 200, description = "Some of the events", body = AccountEventPage),
        WhyNot))]
pub(in crate::rest) async fn list(
    State(api): State<Api>,
    query: Query,
) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let before = cursor::read(&"account events", asked.as_deref())?.map(u128::from_be_bytes);
    let before = before.map(|before| u64::try_from(before).unwrap_or(u64::MAX));
    let events = api.auth.accounts().account_events(before, limit + 1).await?;
    let items = events.iter().map(|event| (event.sequence, AccountEvent::from(event)));
    let next = |last: &u64| cursor::write(&"account events", &u128::from(*last).to_be_bytes());
    page::answer(items, limit, next, None)
}
