//! Jitter for callers who want it at random; scheduled jobs derive theirs from job and slot.

use std::time::Duration;

/// How far a start may be spread.
///
/// ```
/// # use chronos_engine::JitterConfig;
/// # use std::time::Duration;
/// assert!(JitterConfig::new(300).generate_jitter() < Duration::from_secs(300));
/// assert_eq!(JitterConfig::none().generate_jitter(), Duration::ZERO);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitterConfig {
    /// The window in seconds; zero spreads nothing.
    pub max_jitter_secs: u64,
}

impl JitterConfig {
    /// Spreads over this many seconds.
    #[must_use]
    pub fn new(max_jitter_secs: u64) -> Self {
        Self { max_jitter_secs }
    }

    /// Spreads nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A random delay in `[0, max)`, in whole milliseconds.
    ///
    /// A scheduled job does not use it: its delay is fixed by job and slot, so that every node and
    /// every preview agrees on it.
    #[must_use]
    pub fn generate_jitter(&self) -> Duration {
        let window = self.max_jitter_secs.saturating_mul(1_000);
        if window == 0 { Duration::ZERO } else { Duration::from_millis(fastrand::u64(..window)) }
    }
}

/// Waits a random while below `max_secs` seconds, then runs the future.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let answer = chronos_engine::with_jitter(60, async { 42 }).await;
/// assert_eq!(answer, 42);
/// # }
/// ```
pub async fn with_jitter<F: Future>(max_secs: u64, future: F) -> F::Output {
    let delay = JitterConfig::new(max_secs).generate_jitter();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    future.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_jitter_stays_below_its_window_and_fills_it() {
        let second = JitterConfig::new(1);
        let drawn: Vec<_> = (0..1_000).map(|_| second.generate_jitter()).collect();
        assert!(drawn.iter().all(|delay| *delay < Duration::from_secs(1)));
        assert!(drawn.iter().any(|delay| *delay > Duration::from_millis(900)));
        assert!(drawn.iter().any(|delay| *delay < Duration::from_millis(100)));
        assert_eq!(JitterConfig::none().generate_jitter(), Duration::ZERO);
        assert!(JitterConfig::new(u64::MAX).generate_jitter() > Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn with_jitter_gives_back_what_the_future_does_within_the_window() {
        let begun = tokio::time::sleep(Duration::ZERO);
        let begun = begun.deadline();
        assert_eq!(with_jitter(5, async { 7 }).await, 7);
        assert!(begun.elapsed() < Duration::from_secs(6));
        assert_eq!(with_jitter(0, async { 8 }).await, 8);
    }
}
