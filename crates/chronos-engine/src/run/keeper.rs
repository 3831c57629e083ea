//! The keeper: renews the leases of what runs here, and stops what must stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::plan::Ending;
use chronos_core::store::{self, Renewal, Terms};
use tracing::warn;

use super::{Shared, Tick};

/// A renewal that failed is tried again this soon.
const RETRY: Duration = Duration::from_secs(1);

/// Renews leases, stops runs over their time or asked to stop, and gives up runs whose lease it
/// cannot keep before others may take them.
pub struct Keeper {
    shared: Arc<Shared>,
    next_heartbeat: Duration,
    /// No run was renewed longer ago than then, if any runs.
    oldest_renewal: Option<Duration>,
}

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, next_heartbeat: Duration::ZERO, oldest_renewal: None }
    }

    fn stop_overdue(&self) {
        let shared = &self.shared;
        let were_waited_for =
            shared.roster.take_overdue(shared.clock.monotonic(), |entry, ending| {
                entry.abort();
                shared.hand_over(entry, ending);
            });
        if were_waited_for {
            shared.bells.claim.notify_one();
        }
    }

    async fn renew(&mut self) {
        let shared = &self.shared;
        let holds = shared.roster.holds();
        let begun = shared.clock.monotonic();
        let config = &shared.config;
        let terms = Terms { now: shared.clock.now(), lease: config.lease };
        let renewing = shared.store.renew(&holds, terms);
        // A store that does not answer must not keep us from giving up in time.
        let stale_at = shared.roster.oldest_renewal().unwrap_or(begun) + self.shared.fence();
        let patience = config.heartbeat.min(stale_at.saturating_sub(begun));
        let renewals = match tokio::time::timeout(patience, renewing).await {
            Ok(Ok(renewals)) => renewals,
            Ok(Err(error)) => return self.renewal_failed(&error),
            Err(_) => return self.renewal_failed(&"no answer in time"),
        };
        for (hold, renewal) in holds.iter().zip(renewals) {
            match renewal {
                Renewal::Held => shared.roster.renewed(hold.execution, begun),
                Renewal::CancelRequested(_) => {
                    shared.roster.renewed(hold.execution, begun);
                    shared.roster.ask_to_stop(hold.execution, begun + config.cancel_grace);
                }
                Renewal::Lost => {
                    shared.roster.take(*hold, |entry| {
                        warn!(job = %entry.context.job_name(), "Run given up: its lease was taken");
                        entry.abort();
                        shared.tell_lost(entry.context.spec(), entry.context.is_notice());
                        shared.bells.claim.notify_one();
                    });
                }
            }
        }
        self.next_heartbeat = begun + config.heartbeat;
    }

    fn renewal_failed(&mut self, error: &dyn std::fmt::Display) {
        warn!(%error, "Leases could not be renewed");
        self.next_heartbeat = self.shared.clock.monotonic() + RETRY;
    }

    /// Gives up runs whose lease is about to end without having been renewed.
    fn give_up_stale(&mut self) {
        let (now, fence) = (self.shared.clock.monotonic(), self.shared.fence());
        // Renewals only come later: as long as the oldest known one is young, looking at every run
        // would find nothing.
        if self.oldest_renewal.is_some_and(|oldest| now < oldest + fence) {
            return;
        }
        for entry in self.shared.roster.take_stale(now, fence) {
            warn!(job = %entry.context.job_name(), "Run given up: its lease could not be renewed in time");
            entry.abort();
            self.shared.tell_lost(entry.context.spec(), entry.context.is_notice());
            self.shared.bells.claim.notify_one();
        }
        self.oldest_renewal = self.shared.roster.oldest_renewal();
    }

    /// When something must be done next, if anything runs.
    fn next(&self) -> Option<Timestamp> {
        let roster = &self.shared.roster;
        if roster.len() == 0 {
            return None;
        }
        let stale_at = self.oldest_renewal? + self.shared.fence();
        let wake =
            self.next_heartbeat.min(stale_at).min(roster.next_end().unwrap_or(Duration::MAX));
        let wait = wake.saturating_sub(self.shared.clock.monotonic());
        Some(self.shared.clock.now().after(wait.max(Duration::from_millis(1))))
    }
}

#[async_trait]
impl Tick for Keeper {
    fn name(&self) -> &'static str {
        "keeper"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        self.stop_overdue();
        let asked = self.shared.bells.stop_asked.swap(false, Ordering::SeqCst);
        let due = asked || self.shared.clock.monotonic() >= self.next_heartbeat;
        if due && self.shared.roster.len() > 0 {
            self.renew().await;
        }
        self.give_up_stale();
        Ok(self.next())
    }
}

/// Aborts everything that still runs and hands it back, to be run again; says how many there were.
pub(super) fn interrupt_all(shared: &Shared) -> usize {
    let stragglers = shared.roster.take_all();
    for entry in &stragglers {
        warn!(job = %entry.context.job_name(), "Run aborted: it did not stop in time");
        entry.abort();
        shared.hand_over(entry, Ending::Interrupted);
    }
    stragglers.len()
}
