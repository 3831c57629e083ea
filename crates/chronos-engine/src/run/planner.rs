//! The planner: fires the slots of due jobs, and starts at once what may begin at once.

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store::{self, Taker};
use futures::future::join_all;
use tracing::error;

use super::Tick;
use super::starter::Starter;

/// Fires the slots of due jobs, a batch at a turn, or several where the store is the quicker for it, and starts what
/// may begin at once.
pub struct Planner {
    starter: Starter,
    /// Whether more was due after the last turn.
    more: bool,
}

impl Planner {
    pub(super) fn new(starter: Starter) -> Self {
        Self { starter, more: false }
    }

    /// Fires a batch; says when the next job is due, and whether that time has come.
    async fn fire(&self) -> store::Result<(Option<Timestamp>, bool)> {
        let shared = &self.starter.shared;
        let config = &shared.config;
        let room = shared.room();
        let openings = room.left();
        let taker = Taker { worker: config.worker.clone(), lease: config.lease, openings };
        // What a node without workers fires is for others to claim.
        let taker = Some(&taker).filter(|_| config.roles.worker);
        let (now, claimed_at) = (shared.clock.now(), shared.clock.monotonic());
        let fired = shared.store.fire_due(now, config.batch, taker);
        let fired = shared.bells.planning.ask(fired, &shared.bells.finish).await?;
        shared.observer.scanned(shared.clock.monotonic().saturating_sub(claimed_at));
        let more = fired.next.is_some_and(|next| next <= now);
        shared.bells.planning.go_on(more, &shared.bells.finish);
        shared.observer.planned(&fired.planned);
        for (job, unreadable) in &fired.unreadable {
            error!(%job, error = %unreadable, "Job set aside: its record cannot be read");
        }
        self.starter.begin(fired.claims, claimed_at, room).await;
        Ok((fired.next, more))
    }
}

#[async_trait]
impl Tick for Planner {
    fn name(&self) -> &'static str {
        "planner"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.starter.shared;
        if let Some(later) = shared.braked() {
            return Ok(Some(later));
        }
        let at_once = if self.more { shared.store.planners() } else { 1 };
        self.more = false;
        let mut next = None;
        // All of them come to their ends before one that failed is told of.
        for fired in join_all((0..at_once).map(|_| self.fire())).await {
            let (due, more) = fired?;
            next = due.into_iter().chain(next).min();
            self.more |= more;
        }
        Ok(next)
    }
}
