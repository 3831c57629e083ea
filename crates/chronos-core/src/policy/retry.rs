//! Retry: whether a failed execution is tried again, and when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::chance;
use crate::{JobId, Timestamp};

/// How often and how patiently a failed slot is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Retries after the first attempt; zero means the next slot is the next try.
    pub max_retry: u32,
    /// The delay before the first retry; each further one doubles it.
    pub base: Duration,
    /// The delay never grows past this.
    pub max_delay: Duration,
}

impl Policy {
    /// More retries than this are refused: a slot must come to an end.
    pub const MAX_RETRY: u32 = 1_000;

    /// No retries.
    pub const NONE: Self =
        Self { max_retry: 0, base: Duration::from_secs(5), max_delay: Duration::from_hours(1) };

    /// Up to `max_retry` retries with the usual delays: 5 s doubling up to an hour.
    #[must_use]
    pub const fn up_to(max_retry: u32) -> Self {
        Self { max_retry, ..Self::NONE }
    }

    /// How long to wait before retry number `retry + 1`, spread by up to a fifth either way so that
    /// jobs which failed together do not return together.
    #[must_use]
    pub fn delay(&self, job: JobId, slot: Timestamp, retry: u32) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(retry.min(31)));
        let delay = doubled.min(self.max_delay);
        let spread = u32::try_from(chance::of(b"retry", job, slot, retry) % 401).unwrap_or(200);
        // 800 ‰ to 1,200 ‰ of the delay; the ceiling holds for the spread value as well.
        (delay / 1_000).saturating_mul(800 + spread).min(self.max_delay)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::NONE
    }
}

/// Whether trying again could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// It may pass by itself: a network error, a timeout, an overloaded target.
    Transient,
    /// It will fail the same way again: a refused request, an unknown handler.
    Permanent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_within_a_fifth_and_stop_at_the_ceiling() {
        let policy = Policy {
            max_retry: 9,
            base: Duration::from_secs(10),
            max_delay: Duration::from_mins(1),
        };
        let job = JobId::new(Timestamp::EPOCH, [3; 10]);
        for (retry, seconds) in [(0, 10.0), (1, 20.0), (2, 40.0), (3, 60.0), (40, 60.0)] {
            let delay = policy.delay(job, Timestamp::EPOCH, retry).as_secs_f64();
            assert!(delay >= seconds * 0.8 - 0.01, "retry {retry}: {delay}");
            assert!(delay <= (seconds * 1.2_f64).min(60.0), "retry {retry}: {delay}");
        }
    }

    #[test]
    fn the_longest_delays_do_not_overflow() {
        let policy = Policy { max_retry: 5, base: Duration::MAX, max_delay: Duration::MAX };
        let job = JobId::new(Timestamp::EPOCH, [3; 10]);
        assert!(policy.delay(job, Timestamp::EPOCH, u32::MAX) > Duration::from_hours(1));
    }
}
