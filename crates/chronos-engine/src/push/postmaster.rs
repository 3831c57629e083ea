//! The postmaster: takes subscriptions that nobody holds, keeps hold of them, and sends couriers.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::store::{self, Terms};
use chronos_core::subscription::{Error, Hold};
use chronos_core::{SubscriptionId, Timestamp};
use tracing::info;

use super::Office;
use super::courier::Courier;
use super::seat::Seat;
use crate::run::Tick;

/// How often it looks for subscriptions to take.
const LOOK: Duration = Duration::from_secs(20);
/// Subscriptions that are taken in one step.
const AT_ONCE: usize = 64;
/// Subscriptions that one node holds at most.
const MOST: usize = 4_096;

/// Takes subscriptions that nobody holds, keeps hold of them, and sends couriers.
pub struct Postmaster {
    office: Arc<Office>,
    /// Those whose couriers are under way; a seat goes with its courier.
    seats: HashMap<SubscriptionId, Weak<Seat>>,
    renewed: Duration,
}

impl Postmaster {
    pub(super) fn new(office: Arc<Office>) -> Self {
        let renewed = office.clock.monotonic();
        Self { office, seats: HashMap::new(), renewed }
    }

    fn terms(&self) -> Terms {
        Terms { now: self.office.clock.now(), lease: self.office.config.lease }
    }

    /// Renews every hold in one step, and tells couriers what became of theirs.
    async fn renew(&mut self) -> store::Result<()> {
        self.seats.retain(|_, seat| seat.strong_count() > 0);
        let seats: Vec<Arc<Seat>> = self.seats.values().filter_map(Weak::upgrade).collect();
        let holds: Vec<Hold> = seats.iter().map(|seat| seat.hold).collect();
        let asked = self.office.clock.monotonic();
        if !holds.is_empty() {
            let renewed = self.office.subscriptions.renew_subscriptions(&holds, self.terms());
            for (seat, renewed) in seats.iter().zip(renewed.await.map_err(reason)?) {
                match renewed {
                    Some(subscription) => {
                        seat.renew(asked);
                        seat.see(&subscription);
                    }
                    None => seat.lost.cancel(),
                }
            }
        }
        self.renewed = asked;
        Ok(())
    }

    /// Takes subscriptions that nobody holds; says how many.
    async fn claim(&mut self) -> store::Result<usize> {
        let room = MOST.saturating_sub(self.seats.len()).min(AT_ONCE);
        if room == 0 || self.office.config.brake.reason().is_some() {
            return Ok(0);
        }
        let asked = self.office.clock.monotonic();
        let (worker, terms) = (&self.office.config.worker, self.terms());
        let claimed = self.office.subscriptions.claim_subscriptions(worker, terms, room).await;
        let claimed = claimed.map_err(reason)?;
        for subscription in &claimed {
            let seat = Arc::new(Seat::new(subscription, asked));
            self.seats.insert(subscription.id, Arc::downgrade(&seat));
            info!(subscription = %subscription.id, "Subscription taken");
            let courier = Courier::new(self.office.clone(), seat, subscription.clone());
            self.office.couriers.spawn(courier.run());
        }
        Ok(claimed.len())
    }
}

/// What the store says; it has nothing else to refuse here.
fn reason(error: Error) -> store::Error {
    match error {
        Error::Store(error) => error,
        other => store::Error::Unavailable(other.to_string()),
    }
}

#[async_trait]
impl Tick for Postmaster {
    fn name(&self) -> &'static str {
        "postmaster"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let age = self.office.clock.monotonic().saturating_sub(self.renewed);
        if age >= self.office.config.heartbeat {
            self.renew().await?;
        }
        // Whoever is reminded of something later than this looks again.
        let now = self.office.clock.now();
        let due = self.office.next_due(now);
        if self.claim().await? == AT_ONCE {
            return Ok(Some(now));
        }
        // Whatever is held is renewed with each heartbeat.
        let look =
            if self.seats.is_empty() { LOOK } else { LOOK.min(self.office.config.heartbeat) };
        let look = now.after(look);
        Ok(Some(due.map_or(look, |due| due.min(look))))
    }
}
