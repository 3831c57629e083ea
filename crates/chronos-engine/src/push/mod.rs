//! Pushing message events to the endpoints that subscribed to them.
//!
//! A [`Postmaster`] takes subscriptions that nobody holds, keeps its hold on them, and has a courier deliver
//! each: one event after the other, in the order of the log, the next once the endpoint has taken the one
//! before and that is on record. Whoever loses its hold stops before another may begin.

mod courier;
mod letter;
mod postmaster;
mod seat;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chronos_core::account::Accounts;
use chronos_core::subscription::Subscriptions;
use chronos_core::{Http, MessageEvent, Timestamp, WorkerId};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::clock::Clock;
use crate::events::Events;
use crate::http::Caller;
use crate::run::{Brake, turn};
pub use postmaster::Postmaster;

/// How subscriptions are delivered.
#[derive(Clone)]
pub struct PushConfig {
    /// Who delivers; unique among those on one store.
    pub worker: WorkerId,
    /// Keeps it from taking subscriptions while it is pulled.
    pub brake: Arc<Brake>,
    /// How long a hold lasts without renewal.
    pub lease: Duration,
    /// How often holds are renewed.
    pub heartbeat: Duration,
    /// How long before its hold ends a courier that could not renew it stops by itself.
    pub lease_margin: Duration,
    /// Where it is told that a subscription is paused because its endpoint fails.
    pub webhook: Option<Arc<Http>>,
    /// Who hears the jobs of everyone: admins, by these accounts; all, where there are none.
    pub accounts: Option<Arc<dyn Accounts>>,
    /// Writes an event as it is sent: a JSON document.
    pub write: fn(&MessageEvent) -> String,
}

/// What every courier shares.
pub(crate) struct Office {
    pub(crate) config: PushConfig,
    pub(crate) subscriptions: Arc<dyn Subscriptions>,
    pub(crate) events: Events,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) caller: Caller,
    /// When subscriptions that were given up here may be taken again.
    pub(crate) due: Mutex<BTreeSet<Timestamp>>,
    /// Wakes the postmaster.
    pub(crate) bell: Arc<Notify>,
    /// Couriers that are under way.
    pub(crate) couriers: TaskTracker,
    /// Cancelled when nothing more is to be sent.
    pub(crate) closing: CancellationToken,
    /// Cancelled when what is being sent has had its time.
    pub(crate) closed: CancellationToken,
}

impl Office {
    /// Has the postmaster look for subscriptions then.
    pub(crate) fn remind(&self, at: Timestamp) {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).insert(at);
        self.bell.notify_one();
    }

    /// When the postmaster is to look next, after this instant; what came before is forgotten.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.retain(|at| *at > now);
        due.first().copied()
    }
}

/// The delivery of subscriptions, under way.
pub struct Pushing {
    office: Arc<Office>,
    postmaster: JoinHandle<()>,
}

impl fmt::Debug for Pushing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pushing")
            .field("worker", &self.office.config.worker)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushConfig").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl Pushing {
    /// Begins to deliver.
    #[must_use]
    pub fn start(
        config: PushConfig,
        subscriptions: Arc<dyn Subscriptions>,
        events: Events,
        clock: Arc<dyn Clock>,
        caller: Caller,
    ) -> Self {
        let office = Arc::new(Office {
            config,
            subscriptions,
            events,
            clock,
            caller,
            due: Mutex::default(),
            bell: Arc::default(),
            couriers: TaskTracker::new(),
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        });
        let postmaster = Box::new(Postmaster::new(office.clone()));
        let (clock, bell) = (office.clock.clone(), office.bell.clone());
        let looped = turn::run(postmaster, clock, bell, office.closing.clone());
        Self { postmaster: tokio::spawn(looped), office }
    }

    /// Stops: no more events are sent, what is being sent may take up to `grace`, and holds are given back.
    pub async fn stop(self, grace: Duration) {
        let Self { office, postmaster } = self;
        office.closing.cancel();
        // Whoever it has just sent is waited for, too.
        let _ = tokio::time::timeout(LAST_TURN, postmaster).await;
        office.couriers.close();
        if tokio::time::timeout(grace, office.couriers.wait()).await.is_err() {
            warn!("Events under way are given up, and will be sent again");
            office.closed.cancel();
            // A store that does not answer must not keep anyone from stopping: the leases run out.
            let _ = tokio::time::timeout(LAST_TURN, office.couriers.wait()).await;
        }
    }

    /// Drops dead, as a killed process would: nothing is given back.
    pub fn kill(self) {
        self.postmaster.abort();
        self.office.closed.cancel();
    }
}

/// How long the store may take to note the last reports.
const LAST_TURN: Duration = Duration::from_secs(10);
