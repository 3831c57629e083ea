//! Clocks: the only place where time is read, and the waits that follow it.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use chronos_core::Timestamp;
use tokio::time::Instant;

/// Wall clocks jump, so no sleep outlasts this.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// Tells the time and waits for it.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time of day, which may jump either way.
    fn now(&self) -> Timestamp;

    /// Time that has passed since some fixed point; it never goes back.
    fn monotonic(&self) -> Duration;

    /// Waits until the time of day is `at`, or a while if that is far away: look again after it.
    async fn sleep_until(&self, at: Timestamp) {
        let wait = at.since(self.now()).min(LONGEST_SLEEP);
        tokio::time::sleep(wait).await;
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The machine's clock.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads a clock"
    )]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads a clock"
    )]
    fn now(&self) -> Timestamp {
        Utc::now().into()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock for tests: it starts where you say and follows Tokio's time.
///
/// Under `#[tokio::test(start_paused = true)]` Tokio's time jumps to the next wait whenever nothing
/// else is to be done, so a test of a month of runs takes milliseconds and no patience.
#[derive(Debug)]
pub struct VirtualClock {
    origin: Timestamp,
    started: Instant,
    stepped: AtomicI64,
}

impl VirtualClock {
    /// A clock that shows `origin` now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads a clock"
    )]
    pub fn starting_at(origin: impl Into<Timestamp>) -> Self {
        Self {
            origin: origin.into(),
            started: Instant::now(),
            stepped: AtomicI64::new(0),
        }
    }

    /// Moves the time of day without letting any pass, as an administrator or NTP would.
    pub fn step(&self, seconds: i64) {
        self.stepped
            .fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// The time it shows.
    #[must_use]
    pub fn now_utc(&self) -> DateTime<Utc> {
        self.now().to_datetime()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let passed = self.origin.after(self.monotonic());
        Timestamp::from_micros(passed.as_micros() + self.stepped.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}
