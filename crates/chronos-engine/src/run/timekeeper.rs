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

    /// Measures once, and pulls or releases the brake by what it finds.
    pub async fn measure(&mut self) -> store::Result<()> {
        let Some(skew) = self.clock.measure(self.store.time()).await? else {
            return Ok(());
        };
        self.heed(skew);
        Ok(())
    }

    /// Pulls or releases the brake by how many microseconds this machine's clock is ahead.
    fn heed(&mut self, skew: i64) {
        self.skew.store(skew, Ordering::SeqCst);
        let verdict = judge(skew, self.most);
        let is_right = verdict == Verdict::Right;
        match verdict {
            Verdict::TooFarOff(reason) => {
                if self.brake.pull(&reason) {
                    warn!(reason, "No work is taken on");
                }
            }
            Verdict::Off(how) if !self.noticed => {
                self.go_on();
                warn!("This machine's clock is {how}");
            }
            Verdict::Off(_) | Verdict::Right => self.go_on(),
        }
        self.noticed = !is_right;
    }

    fn go_on(&self) {
        if self.brake.release() {
            info!("Work is taken on again: the clock is right");
        }
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

/// What a measurement means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    /// Worth a word, and nothing else.
    Off(String),
    /// Reason enough to take on no work.
    TooFarOff(String),
}

/// Judges a clock that is this many microseconds ahead of the shared one, where `most` is accepted.
fn judge(skew: i64, most: Duration) -> Verdict {
    let off = Duration::from_micros(skew.unsigned_abs());
    let which = if skew > 0 { "ahead of" } else { "behind" };
    let how = format!("{:.1} s {which} the store's", off.as_secs_f64());
    if off > most {
        let most = most.as_secs_f64();
        return Verdict::TooFarOff(format!(
            "this machine's clock is {how}; {most:.1} s are accepted"
        ));
    }
    if off > NOTICED { Verdict::Off(how) } else { Verdict::Right }
}

#[cfg(test)]
mod tests {
    use chronos_core::Timestamp;
    use chronos_store::{EmbeddedStore, Retention};

    use super::*;
    use crate::clock::VirtualClock;

    const MOST: Duration = Duration::from_secs(30);
    const SECOND: i64 = 1_000_000;

    #[test]
    fn a_clock_is_right_worth_a_word_or_too_far_off_on_either_side() {
        for (skew, verdict) in [
            (0, Verdict::Right),
            (SECOND, Verdict::Right),
            (-SECOND, Verdict::Right),
            (SECOND + 1, Verdict::Off("1.0 s ahead of the store's".into())),
            (-30 * SECOND, Verdict::Off("30.0 s behind the store's".into())),
            (
                30 * SECOND + 1,
                Verdict::TooFarOff(
                    "this machine's clock is 30.0 s ahead of the store's; 30.0 s are accepted"
                        .into(),
                ),
            ),
            (
                -3_600 * SECOND,
                Verdict::TooFarOff(
                    "this machine's clock is 3600.0 s behind the store's; 30.0 s are accepted"
                        .into(),
                ),
            ),
        ] {
            assert_eq!(judge(skew, MOST), verdict, "{skew}");
        }
        assert!(matches!(judge(i64::MIN, MOST), Verdict::TooFarOff(_)));
    }

    #[test]
    fn the_brake_is_pulled_past_the_limit_and_released_within_it() {
        let machine = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let store = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
        let (clock, brake) = (Arc::new(SharedClock::new(machine)), Arc::new(Brake::default()));
        let mut timekeeper = Timekeeper::new(clock, store, brake.clone(), MOST);
        let shown = timekeeper.skew();
        for (skew, pulled) in [
            (0, false),
            (30 * SECOND, false),
            (31 * SECOND, true),
            (3_600 * SECOND, true),
            (-3_600 * SECOND, true),
            (-30 * SECOND, false),
            (-31 * SECOND, true),
            (2, false),
        ] {
            timekeeper.heed(skew);
            assert_eq!(brake.reason().is_some(), pulled, "{skew}");
            assert_eq!(shown.load(Ordering::SeqCst), skew);
        }
    }
}
