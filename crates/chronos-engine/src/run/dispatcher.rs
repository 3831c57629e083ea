//! The dispatcher: claims executions whose time has come and starts them.

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store::{self, Terms};

use super::Tick;
use super::starter::Starter;

/// Claims executions whose time has come and starts them, as many as there is room for.
pub struct Dispatcher {
    starter: Starter,
}

impl Dispatcher {
    pub(super) fn new(starter: Starter) -> Self {
        Self { starter }
    }
}

#[async_trait]
impl Tick for Dispatcher {
    fn name(&self) -> &'static str {
        "dispatcher"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.starter.shared;
        if let Some(later) = shared.braked() {
            return Ok(Some(later));
        }
        let room = shared.room();
        if room.left().any == 0 {
            // Whoever makes room rings the bell.
            shared.bells.claiming.go_on(false, &shared.bells.finish);
            return Ok(None);
        }
        let claimed_at = shared.clock.monotonic();
        let terms = Terms { now: shared.clock.now(), lease: shared.config.lease };
        let claimed = shared.store.claim(&shared.config.worker, terms, room.left());
        let claimed = shared.bells.claiming.ask(claimed, &shared.bells.finish).await?;
        let more = claimed.next.is_some_and(|next| next <= terms.now);
        shared.bells.claiming.go_on(more, &shared.bells.finish);
        self.starter.begin(claimed.claims, claimed_at, room).await;
        Ok(claimed.next)
    }
}
