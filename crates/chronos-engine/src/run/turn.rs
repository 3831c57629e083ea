//! Turning a loop: a tick, then a wait until the next one is worth it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::store;
use futures::FutureExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::clock::Clock;

/// One turn of a loop.
#[async_trait]
pub trait Tick: Send {
    /// What the loop is called in logs.
    fn name(&self) -> &'static str;

    /// Does what is due; says when to turn again: at once for a time that has come.
    async fn tick(&mut self) -> store::Result<Option<Timestamp>>;

    /// Sees to what was handed over before the stop; most loops leave nothing behind.
    async fn last(&mut self) -> store::Result<()> {
        Ok(())
    }
}

/// Turns a loop until it is stopped; a turn is never cut short.
pub(super) async fn run(
    mut tick: Box<dyn Tick>,
    clock: Arc<dyn Clock>,
    bell: Arc<Notify>,
    stop: CancellationToken,
) {
    let mut failures = 0_u32;
    loop {
        // A panic is a bug of ours; the loop that has it must not take the scheduler along.
        let turned = AssertUnwindSafe(tick.tick()).catch_unwind().await;
        let turned = turned.unwrap_or_else(|_| Err(store::Error::Unavailable("panic".into())));
        let next = match turned {
            Ok(next) => {
                failures = 0;
                next
            }
            Err(error) => {
                warn!(name = tick.name(), %error, failures, "Loop will try again");
                failures += 1;
                Some(clock.now().after(backoff(failures)))
            }
        };
        if next.is_some_and(|next| next <= clock.now()) && !stop.is_cancelled() {
            // Others may have work too.
            tokio::task::yield_now().await;
            continue;
        }
        // Checked in this order, so that a history replays the same way.
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = bell.notified(), if failures == 0 => {}
            () = wait(clock.as_ref(), next) => {}
        }
    }
    while let Err(error) = tick.last().await {
        failures += 1;
        if failures > LAST_TRIES {
            warn!(name = tick.name(), %error, "Loop gives up");
            break;
        }
        tokio::time::sleep(backoff(failures)).await;
    }
}

/// Tries of a last turn before a stopped loop gives up.
const LAST_TRIES: u32 = 5;

async fn wait(clock: &dyn Clock, next: Option<Timestamp>) {
    match next {
        Some(next) => clock.sleep_until(next).await,
        None => clock.sleep_until(Timestamp::MAX).await,
    }
}

/// 50 ms, doubling up to 5 s.
fn backoff(failures: u32) -> Duration {
    Duration::from_millis(50).saturating_mul(1 << failures.min(7)).min(Duration::from_secs(5))
}
