//! The audit: what was decided and done, by whom and when, for whoever it concerns.

pub(super) mod accounts;
mod asked;
pub(super) mod stream;

use axum::extract::State;
use axum::response::Response;
use chronos_core::account::Event;
use chronos_core::store::{AuditPage, AuditWalk};
use utoipa::{IntoParams, ToSchema};

use super::api::Api;
use super::cursor;
use super::document::WhyNot;
use super::page::{self, Paged};
use super::query::Query;
use super::wire::audit::AuditEvent;
use crate::auth::Caller;
use crate::problem::Problem;
use asked::Asked;

/// Account events that one request looks at, whatever it looks for.
const LOOKED_AT: usize = 2_048;

/// Audit events, newest first.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct AuditEventPage {
    items: Vec<AuditEvent>,
    next_cursor: Option<String>,
}

/// Which audit events are asked for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only tells the document which parameters there are")]
struct Filters {
    /// Those about this job.
    #[param(format = "uuid")]
    job: Option<String>,
    /// Those of this type, such as `schedule.fired`, or of this group, such as `schedule`.
    kind: Option<String>,
    /// Those that this user asked for.
    #[param(format = "uuid")]
    actor: Option<String>,
    /// Those that belong to this trace.
    trace_id: Option<String>,
    /// Those about what is this user's.
    #[param(format = "uuid")]
    owner: Option<String>,
    /// Those made at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
    /// Those made before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<String>,
}

/// How far the two logs were told: before these sequences. Nothing is before zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    decision: u64,
    account: u64,
}

impl Place {
    const START: Self = Self { decision: u64::MAX, account: u64::MAX };
    const END: Self = Self { decision: 0, account: 0 };

    fn to_bytes(self) -> [u8; 16] {
        ((u128::from(self.decision) << 64) | u128::from(self.account)).to_be_bytes()
    }

    fn from_bytes(bytes: [u8; 16]) -> Self {
        let [decision, account] = [0, 8].map(|from| {
            bytes[from..from + 8].iter().fold(0, |read, byte| (read << 8) | u64::from(*byte))
        });
        Self { decision, account }
    }
}

/// Lists what was decided and done, newest first: slots that fired, were skipped or missed, jobs and policies
/// made and changed, runs and their ends, and for admins logins and what was done about accounts. Users are
/// told what concerns their own jobs, viewers and admins about all of them.
#[utoipa::path(get, path = "/audit", tag = "audit",
    params(Filters, Paged),
    responses(
        (status = 200, description = "Some of the events", body = AuditEventPage),
        WhyNot))]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let (limit, cursor) = query.page()?;
    let asked = Asked::read(&caller, query)?;
    let list = format!("audit of {} {asked:?}", caller.owner);
    let from = cursor::read(&list, cursor.as_deref())?.map_or(Place::START, Place::from_bytes);
    let decisions = if asked.decisions && from.decision > 0 {
        let walk = AuditWalk::NewestFirst(Some(from.decision));
        api.store().find_audit(&asked.filter, walk, limit).await?
    } else {
        AuditPage::default()
    };
    let accounts = if asked.accounts && from.account > 0 {
        account_events(&api, &asked, from.account, limit).await?
    } else {
        (Vec::new(), None)
    };
    let (items, until) = merged(&decisions, accounts, from, limit);
    let write = |place: &Place| cursor::write(&list, &place.to_bytes());
    page::answer(items, limit, write, (until != Place::END).then(|| write(&until)))
}

/// Events of both logs, the newest first, each with how far they were told then; and how far that leads.
fn merged(
    decisions: &AuditPage,
    (accounts, next_account): (Vec<Event>, Option<u64>),
    from: Place,
    limit: usize,
) -> (Vec<(Place, AuditEvent)>, Place) {
    let (mut items, mut place) = (Vec::new(), from);
    let mut accounts = accounts.iter().peekable();
    let mut events = decisions.events.iter().peekable();
    while items.len() < limit {
        let is_newer = |decision: &&chronos_core::audit::AuditEvent| {
            accounts.peek().is_none_or(|account| decision.at >= account.act.at)
        };
        let told = if let Some(decision) = events.next_if(is_newer) {
            place.decision = decision.sequence;
            AuditEvent::from(decision)
        } else if let Some(account) = accounts.next() {
            place.account = account.sequence;
            AuditEvent::from(account)
        } else {
            break;
        };
        items.push((place, told));
    }
    // What was looked at to the end leads on from there, and not from the last that was told.
    if events.peek().is_none() {
        place.decision = decisions.next.unwrap_or(0);
    }
    if accounts.peek().is_none() {
        place.account = next_account.unwrap_or(0);
    }
    (items, place)
}

/// Account events that are asked for, newest first, and where to go on.
async fn account_events(
    api: &Api,
    asked: &Asked,
    before: u64,
    limit: usize,
) -> Result<(Vec<Event>, Option<u64>), Problem> {
    let looked = api.auth.accounts().account_events(Some(before), LOOKED_AT).await?;
    let next = looked.last().filter(|_| looked.len() == LOOKED_AT).map(|event| event.sequence);
    let mut found: Vec<Event> = looked.into_iter().filter(|event| asked.matches(event)).collect();
    if found.len() <= limit {
        return Ok((found, next));
    }
    found.truncate(limit);
    let last = found.last().map(|event| event.sequence);
    Ok((found, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_cursor() {
        for place in [Place::START, Place::END, Place { decision: 7, account: u64::MAX >> 9 }] {
            assert_eq!(Place::from_bytes(place.to_bytes()), place);
        }
    }
}
