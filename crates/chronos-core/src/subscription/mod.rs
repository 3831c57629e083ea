//! Subscriptions: message events pushed to an endpoint, in their order, from a cursor that is kept.
//!
//! A subscription hears the log of message events from after its cursor. The cursor passes an event once the
//! endpoint has answered well, so each is delivered at least once, and none before the one before it: all
//! events of a subscription have one order, and so have those of each job. Who delivers holds a lease, and
//! every report names its token; what it means is decided here, and a store makes it so.
//!
//! The port is apart from [`crate::Store`], because a program that embeds the scheduler follows its events by
//! itself.

mod delivery;
mod filter;
mod port;

use serde::{Deserialize, Serialize};

pub use delivery::{Cause, Delivery, Failing, Hold, Lease, Owed, Report, State, Switch};
pub use filter::{Filter, Pattern};
pub use port::{Error, Result, Subscriptions};

use crate::http::Method;
use crate::policy::retry;
use crate::{Http, SubscriptionId, Timestamp};

/// An endpoint that is told message events, and how far it has been told them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Identifies the subscription.
    pub id: SubscriptionId,
    /// Whose it is.
    pub owner: Box<str>,
    /// What people call it; no other one of the owner has the name.
    pub name: Box<str>,
    /// Which events it hears.
    pub filter: Filter,
    /// Where they go: a POST, whose body is the event.
    pub endpoint: Http,
    /// How often an event is tried again before the subscription is paused, and after how long.
    pub retry: retry::Policy,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last edited.
    pub updated_at: Timestamp,
    /// Counts edits, from 1.
    pub version: u64,
    /// How far it has come.
    pub delivery: Delivery,
}

impl Subscription {
    /// Longer names are refused.
    pub const MAX_NAME: usize = 200;
    /// More subscriptions are refused: a store has all of them at hand.
    pub const MOST: usize = 10_000;
    /// An event that is not taken is tried again this often, for about seven hours, unless someone says
    /// otherwise.
    pub const RETRY: retry::Policy = retry::Policy::up_to(15);

    /// A subscription of nobody to everything after a cursor.
    #[must_use]
    pub fn new(
        id: SubscriptionId,
        name: &str,
        endpoint: Http,
        cursor: u64,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            owner: "".into(),
            name: name.into(),
            filter: Filter::default(),
            endpoint,
            retry: Self::RETRY,
            created_at: now,
            updated_at: now,
            version: 1,
            delivery: Delivery::from_after(cursor),
        }
    }

    /// Refuses what the types alone cannot: names, lists without end, and requests that carry no event.
    pub fn validate(&self) -> std::result::Result<(), crate::Error> {
        let length = self.name.chars().count();
        if !(1..=Self::MAX_NAME).contains(&length) || self.name.chars().any(char::is_control) {
            let most = Self::MAX_NAME;
            let accepted = format!("use 1 to {most} characters, none of them control characters");
            return Err(refusal("name", format!("it is not accepted; {accepted}")));
        }
        self.filter.validate()?;
        if self.endpoint.method() != Method::Post || !self.endpoint.body().is_empty() {
            return Err(refusal("url", "events are sent by POST, as its body".into()));
        }
        let is_kind = |name: &str| name.eq_ignore_ascii_case("content-type");
        if self.endpoint.headers().iter().any(|header| is_kind(header.name())) {
            let problem = "Content-Type is set by the scheduler; leave it out";
            return Err(refusal("headers", problem.into()));
        }
        if self.retry.max_retry > retry::Policy::MAX_RETRY {
            return Err(crate::Error::MaxRetry { given: self.retry.max_retry });
        }
        if self.retry.base.is_zero() {
            return Err(crate::Error::ZeroDuration { field: "retry_base_seconds" });
        }
        Ok(())
    }

    /// The subscription that this one becomes when it is edited: what identifies it stays, and how far it has
    /// come. One that waits to try again need not wait any longer.
    #[must_use]
    pub fn edited(&self, edit: Self, now: Timestamp) -> Self {
        Self {
            id: self.id,
            owner: self.owner.clone(),
            created_at: self.created_at,
            updated_at: now,
            version: self.version + 1,
            delivery: self.delivery.clone().tried_at(now),
            ..edit
        }
    }
}

fn refusal(field: &'static str, problem: String) -> crate::Error {
    crate::Error::Subscription { field, problem }
}
