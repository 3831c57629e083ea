//! A seat: what the postmaster and the courier of one subscription know of each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chronos_core::Subscription;
use chronos_core::subscription::{Hold, State};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Office;

/// The place of a courier.
pub(super) struct Seat {
    pub(super) hold: Hold,
    /// Cancelled when the hold is known to be lost.
    pub(super) lost: CancellationToken,
    /// When the hold was renewed last, in microseconds of the clock that never goes back.
    renewed: AtomicU64,
    /// What the subscription was seen as last.
    seen: watch::Sender<Seen>,
}

/// As much of a subscription as changes what a courier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    version: u64,
    is_paused: bool,
}

impl From<&Subscription> for Seen {
    fn from(subscription: &Subscription) -> Self {
        let is_paused = matches!(subscription.delivery.state, State::Paused { .. });
        Self { version: subscription.version, is_paused }
    }
}

impl Seat {
    /// The seat of a subscription that was asked for at this time.
    pub(super) fn new(subscription: &Subscription, asked: Duration) -> Self {
        Self {
            hold: subscription.hold(),
            lost: CancellationToken::new(),
            renewed: AtomicU64::new(micros(asked)),
            seen: watch::channel(subscription.into()).0,
        }
    }

    /// Notes that the hold was renewed by a step that began at this time or later.
    pub(super) fn renew(&self, asked: Duration) {
        self.renewed.fetch_max(micros(asked), Ordering::SeqCst);
    }

    /// Notes how the subscription is; whoever waits for that to change is told.
    pub(super) fn see(&self, subscription: &Subscription) {
        let now = Seen::from(subscription);
        self.seen.send_if_modified(|seen| std::mem::replace(seen, now) != now);
    }

    /// Waits until the subscription is seen to be another than this.
    pub(super) async fn changed_from(&self, subscription: &Subscription) {
        let known = Seen::from(subscription);
        let mut seen = self.seen.subscribe();
        // The sender lives as long as the seat.
        let _ = seen.wait_for(|seen| *seen != known).await;
    }

    /// Waits until the hold is lost, or could be: it was not renewed for almost as long as it lasts.
    pub(super) async fn fenced(&self, office: &Office) {
        let lasts = office.config.lease.saturating_sub(office.config.lease_margin);
        let over = async {
            loop {
                let renewed = Duration::from_micros(self.renewed.load(Ordering::SeqCst));
                let age = office.clock.monotonic().saturating_sub(renewed);
                match lasts.checked_sub(age) {
                    Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                    _ => break,
                }
            }
        };
        tokio::select! {
            () = self.lost.cancelled() => {}
            () = over => {}
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
