//! Spans of time, summed up where nobody needs their distribution.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many spans there were, how long they were together, and the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    count: u64,
    micros: u64,
    longest: u64,
}

impl Spans {
    /// The average in milliseconds; `None` when there were none.
    #[must_use]
    pub fn average_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.micros as f64 / self.count as f64 / 1_000.0)
    }

    /// The longest in milliseconds; `None` when there were none.
    #[must_use]
    pub fn longest_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.longest as f64 / 1_000.0)
    }
}

/// Spans that are still counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    count: AtomicU64,
    micros: AtomicU64,
    longest: AtomicU64,
}

impl Counted {
    pub(super) fn observe(&self, span: Duration) {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.longest.fetch_max(micros, Ordering::Relaxed);
    }

    pub(super) fn spans(&self) -> Spans {
        Spans {
            count: self.count.load(Ordering::Relaxed),
            micros: self.micros.load(Ordering::Relaxed),
            longest: self.longest.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_an_average_and_a_longest_once_there_are_any() {
        let counted = Counted::default();
        assert_eq!(counted.spans().average_ms(), None);
        for millis in [1, 2, 6] {
            counted.observe(Duration::from_millis(millis));
        }
        let spans = counted.spans();
        assert_eq!((spans.average_ms(), spans.longest_ms()), (Some(3.0), Some(6.0)));
    }
}
