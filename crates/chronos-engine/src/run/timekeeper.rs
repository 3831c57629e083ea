//! The timekeeper: measures the shared time, and keeps a node whose clock is far off from taking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chronos_core::store::{self, Store};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Brake;
use crate::clock::SharedClock;

/// How often the shared time is measured.
const EVERY: Duration = Duration::from_secs(5);
/// A clock that is further off than this is worth a word.
const NOTICED: Duration = Duration::from_secs(1);

/// Measures the shared time every few seconds.
///
/// Decisions are made on the shared time, so that a wrong clock does no harm by itself. One that is off
/// by more than `most` is a broken machine, though, and such a machine takes on no work.
pub struct Timekeeper {
    clock: Arc<SharedClock>,
    store: Arc<dyn Store>,
    brake: Arc<Brake>,
    most: Duration,
    skew: Arc<AtomicI64>,
    noticed: bool,
}

impl Timekeeper {
    /// A timekeeper for an engine on this clock and this store, with this brake.
    #[must_use]
    pub fn new(
        clock: Arc<SharedClock>,
        store: Arc<dyn Store>,
        brake: Arc<Brake>,
        most: Duration,
    ) -> Self {
        Self { clock, store, brake, most, skew: Arc::default(), noticed: false }
    }

    /// By how many microseconds this machine's clock was ahead of the shared one when last measured.
    #[must_use]
    pub fn skew(&self) -> Arc<AtomicI64> {
        self.skew.clone()
    }

    /// Measures once.
    pub async fn measure(&mut self) -> store::Result<()> {
        let Some(skew) = self.clock.measure(self.store.time()).await? else {
            return Ok(());
        };
        self.skew.store(skew, Ordering::SeqCst);
        let off = Duration::from_micros(skew.unsigned_abs());
        let which = if skew > 0 { "ahead of" } else { "behind" };
        let seconds = off.as_secs_f64();
        if off > self.most {
            let most = self.most.as_secs_f64();
            let reason = format!(
                "this machine's clock is {seconds:.1} s {which} the store's; {most:.1} s are accepted"
            );
            if self.brake.pull(&reason) {
                warn!(reason, "No work is taken on");
            }
        } else if self.brake.release() {
            info!("Work is taken on again: the clock is right");
        }
        if off > NOTICED && !self.noticed {
            warn!(seconds, "This machine's clock is {which} the store's");
        }
        self.noticed = off > NOTICED;
        Ok(())
    }

    /// Measures every few seconds until it is stopped. A store that does not answer is no news: time
    /// goes on here meanwhile.
    pub async fn run(mut self, stop: CancellationToken) {
        let measuring = async {
            loop {
                tokio::time::sleep(EVERY).await;
                if let Err(error) = self.measure().await {
                    warn!(%error, "The shared time could not be measured");
                }
            }
        };
        stop.run_until_cancelled(measuring).await;
    }
}
