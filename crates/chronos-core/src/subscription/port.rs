//! The port: what a store must remember about subscriptions, each verb one atomic step.

use async_trait::async_trait;

use super::{Hold, Report, Subscription, Switch};
use crate::store::{self, Terms};
use crate::{SubscriptionId, Timestamp, WorkerId};

/// What could not be done about a subscription, said so that the caller knows what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another subscription of the owner has the name.
    #[error("a subscription named \"{0}\" already exists")]
    NameTaken(String),
    /// There is no such subscription.
    #[error("no subscription with id {0}")]
    NoSuchSubscription(SubscriptionId),
    /// The owner has as many subscriptions as it may have.
    #[error("the owner has {0} subscriptions already, and may have no more")]
    TooManyOfOwner(u64),
    /// There are as many subscriptions as there may be.
    #[error("there are {} subscriptions already, and may be no more", Subscription::MOST)]
    TooMany,
    /// Somebody else changed the subscription since it was read.
    #[error("subscription \"{name}\" is at version {current}, not {expected}; read it again")]
    Conflict {
        /// The subscription's name.
        name: String,
        /// The version that the caller expected.
        expected: u64,
        /// The version that the subscription has.
        current: u64,
    },
    /// The lease is no longer the caller's: it must deliver no more, and its report is dropped.
    #[error("the lease on subscription {0} is lost")]
    LeaseLost(SubscriptionId),
    /// The store cannot do its work, or what is asked for cannot be accepted.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::Store(error.into())
    }
}

/// What a verb gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// A durable memory for subscriptions. Whatever is acknowledged survives a crash.
#[async_trait]
pub trait Subscriptions: Send + Sync + 'static {
    /// Adds a subscription. Its name must be free among those of its owner, who must have fewer than `most`,
    /// if there is such a bound; and there must be room: [`Subscription::MOST`].
    async fn create_subscription(&self, new: Subscription, most: Option<u64>) -> Result<()>;

    /// Edits the subscription of the same id, as [`Subscription::edited`] has it. `expected` refuses the edit
    /// when the subscription has another version by now.
    async fn edit_subscription(
        &self,
        edit: Subscription,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Subscription>;

    /// Pauses or resumes a subscription; one that is paused, or is not, stays so.
    async fn switch_subscription(
        &self,
        subscription: SubscriptionId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Subscription>;

    /// Removes a subscription with its cursor.
    async fn delete_subscription(&self, subscription: SubscriptionId) -> Result<()>;

    /// The subscription of this id.
    async fn subscription(&self, subscription: SubscriptionId) -> Result<Subscription>;

    /// Subscriptions, of one owner or of all, in the order of their ids, from after a given one.
    async fn subscriptions(
        &self,
        owner: Option<&str>,
        after: Option<SubscriptionId>,
        limit: usize,
    ) -> Result<Vec<Subscription>>;

    /// Hands up to `limit` subscriptions to a worker that have something to do and that nobody holds, those
    /// that have waited longest first. Each has a new token, larger than any that it had before.
    async fn claim_subscriptions(
        &self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Vec<Subscription>>;

    /// Extends the worker's hold on these subscriptions; answers for each, in order, with how it stands now,
    /// or with nothing where it is gone or is no longer the worker's.
    async fn renew_subscriptions(
        &self,
        holds: &[Hold],
        terms: Terms,
    ) -> Result<Vec<Option<Subscription>>>;

    /// Notes what became of a delivery, as [`Subscription::reported`] has it; refused without the lease.
    async fn report_delivery(
        &self,
        hold: Hold,
        report: Report,
        terms: Terms,
    ) -> Result<Subscription>;
}
