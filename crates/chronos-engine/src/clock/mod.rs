//! Clocks: the only place where time is read, and the waits that follow it.

mod shared;

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use chronos_core::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

pub use shared::SharedClock;

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
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads a clock")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads a clock")]
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
/// else is to be done, so a test of a day of runs takes milliseconds and no patience.
///
/// ```
/// # use chronos_engine::{SchedulerConfig, SchedulerService, VirtualClock};
/// # use std::{sync::Arc, time::Duration};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let midnight: chrono::DateTime<chrono::Utc> = "2026-11-15T00:00:00Z".parse()?;
/// let clock = Arc::new(VirtualClock::starting_at(midnight));
/// let scheduler = SchedulerService::with_clock(SchedulerConfig::default(), clock.clone())?;
/// scheduler.add_cron_job("hourly", "0 0 * * * *", None, |_| async {}).await?;
/// scheduler.start().await?;
///
/// tokio::time::sleep(Duration::from_secs(24 * 60 * 60 + 1)).await; // returns at once
/// assert_eq!(clock.now_utc().to_rfc3339(), "2026-11-16T00:00:01+00:00");
/// assert_eq!(scheduler.registry().get_status("hourly").map(|job| job.run_count), Some(24));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct VirtualClock {
    origin: Timestamp,
    started: Instant,
    stepped: AtomicI64,
    steps: Notify,
}

impl VirtualClock {
    /// A clock that shows `origin` now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads a clock")]
    pub fn starting_at(origin: impl Into<Timestamp>) -> Self {
        Self {
            origin: origin.into(),
            started: Instant::now(),
            stepped: AtomicI64::new(0),
            steps: Notify::new(),
        }
    }

    /// Moves the time of day without letting any pass, as an administrator or NTP would.
    pub fn step(&self, seconds: i64) {
        self.stepped.fetch_add(seconds.saturating_mul(1_000_000), Ordering::SeqCst);
        self.steps.notify_waiters();
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
        let stepped = self.stepped.load(Ordering::SeqCst);
        Timestamp::from_micros(passed.as_micros().saturating_add(stepped))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sleeps in one go, so that a quiet month costs nothing. A step is noticed as late as on the
    /// machine's clock.
    async fn sleep_until(&self, at: Timestamp) {
        let stepped = self.steps.notified();
        let noticed = async {
            stepped.await;
            tokio::time::sleep(LONGEST_SLEEP).await;
        };
        tokio::select! {
            () = tokio::time::sleep(at.since(self.now())) => {}
            () = noticed => {}
        }
    }
}
