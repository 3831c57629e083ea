//! Message events of this scheduler, pushed to whoever subscribed to them.

use std::sync::Arc;

use chronos_core::account::Accounts;
use chronos_core::subscription::Subscriptions;
use chronos_core::{MessageEvent, SubscriptionId};

use super::{SchedulerService, chance};
use crate::push::{PushConfig, Pushing};
use crate::run::EngineConfig;

/// Where subscriptions are kept, and how their events are written.
pub(super) struct Subscribed {
    subscriptions: Arc<dyn Subscriptions>,
    accounts: Option<Arc<dyn Accounts>>,
    write: fn(&MessageEvent) -> String,
}

impl SchedulerService {
    /// The same scheduler, which delivers message events to those who subscribed to them; `write` says what
    /// an event is as a JSON document. Where there are accounts, whoever is no admin hears its own jobs alone.
    #[must_use]
    pub fn with_subscriptions(
        self,
        subscriptions: Arc<dyn Subscriptions>,
        accounts: Option<Arc<dyn Accounts>>,
        write: fn(&MessageEvent) -> String,
    ) -> Self {
        Self { subscribed: Some(Subscribed { subscriptions, accounts, write }), ..self }
    }

    /// The subscriptions to its message events, if it delivers any.
    #[must_use]
    pub fn subscriptions(&self) -> Option<&Arc<dyn Subscriptions>> {
        self.subscribed.as_ref().map(|subscribed| &subscribed.subscriptions)
    }

    /// A fresh id for a subscription.
    #[must_use]
    pub fn new_subscription_id(&self) -> SubscriptionId {
        SubscriptionId::new(self.clock.now(), chance())
    }

    /// Begins to deliver, where this node runs anything at all.
    pub(super) fn start_pushing(&self, engine: &EngineConfig) -> Option<Pushing> {
        let subscribed = self.subscribed.as_ref().filter(|_| engine.roles.worker)?;
        let told = self.config.notify.as_ref().is_some_and(|notify| notify.on.failure);
        let config = PushConfig {
            worker: engine.worker.clone(),
            brake: engine.brake.clone(),
            lease: engine.lease,
            heartbeat: engine.heartbeat,
            lease_margin: engine.lease_margin,
            webhook: engine.webhook.clone().filter(|_| told),
            accounts: subscribed.accounts.clone(),
            write: subscribed.write,
        };
        Some(Pushing::start(
            config,
            subscribed.subscriptions.clone(),
            self.events.clone(),
            self.clock.clone(),
            self.closures.pusher(),
        ))
    }
}
