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
use tracing::{error, warn};

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
pub(crate) async fn run(
    mut tick: Box<dyn Tick>,
    clock: Arc<dyn Clock>,
    bell: Arc<Notify>,
    stop: CancellationToken,
) {
    let (mut failures, mut in_a_row) = (0_u32, 0_u32);
    loop {
        // A panic is a bug of ours; the loop that has it must not take the scheduler along.
        let next = match AssertUnwindSafe(tick.tick()).catch_unwind().await {
            Ok(Ok(next)) => {
                failures = 0;
                next
            }
            Ok(Err(error)) => {
                warn!(name = tick.name(), %error, failures, "Loop will try again");
                failures += 1;
                Some(clock.now().after(backoff(failures)))
            }
            Err(_) => {
                error!(name = tick.name(), failures, "Loop panicked and will try again");
                failures += 1;
                Some(clock.now().after(backoff(failures)))
            }
        };
        if next.is_some_and(|next| next <= clock.now()) && !stop.is_cancelled() {
            in_a_row += 1;
            if in_a_row.is_multiple_of(IN_A_ROW) {
                tokio::task::yield_now().await;
            }
            continue;
        }
        in_a_row = 0;
        // Checked in this order, so that a history replays the same way.
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            // Whoever is about to ring goes first: where much is under way, a turn then serves many.
            () = bell.notified(), if failures == 0 => tokio::task::yield_now().await,
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

/// Turns after each other before others on the same thread have theirs. Whoever lets go waits for all of
/// them, which in a second in which much is due are the runs that have just begun.
const IN_A_ROW: u32 = 8;

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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::clock::VirtualClock;

    /// Panics, then fails, then has nothing to do.
    struct Unlucky(Arc<AtomicU32>);

    #[async_trait]
    impl Tick for Unlucky {
        fn name(&self) -> &'static str {
            "unlucky"
        }

        async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 => panic!("on purpose"),
                1 => Err(store::Error::Unavailable("on purpose".into())),
                _ => Ok(None),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_outlives_a_panic_and_a_failure_of_its_turns() {
        let turns = Arc::new(AtomicU32::new(0));
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let stop = CancellationToken::new();
        let tick = Box::new(Unlucky(turns.clone()));
        let looped = tokio::spawn(run(tick, clock, Arc::default(), stop.clone()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(turns.load(Ordering::SeqCst), 3);
        stop.cancel();
        looped.await.unwrap();
    }
}
