//! Spans of time, summed up: their average, their longest, and how long most of them were.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Classes of spans: four for each doubling of the microseconds, so that each tells its spans to a fifth.
const CLASSES: usize = 4 * 40;

/// How many spans there were, how long they were together, the longest, and how long most were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    count: u64,
    micros: u64,
    longest: u64,
    median: u64,
    most: u64,
}

impl Spans {
    /// Half of them were no longer, in milliseconds; `None` when there were none.
    #[must_use]
    pub fn median_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.median as f64 / 1_000.0)
    }

    /// Of a hundred, 99 were no longer, in milliseconds; `None` when there were none.
    #[must_use]
    pub fn most_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.most as f64 / 1_000.0)
    }

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
#[derive(Debug)]
pub(super) struct Counted {
    count: AtomicU64,
    micros: AtomicU64,
    longest: AtomicU64,
    classes: [AtomicU64; CLASSES],
}

impl Default for Counted {
    fn default() -> Self {
        let none = || AtomicU64::new(0);
        let classes = [const { AtomicU64::new(0) }; CLASSES];
        Self { count: none(), micros: none(), longest: none(), classes }
    }
}

impl Counted {
    pub(super) fn observe(&self, span: Duration) {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.longest.fetch_max(micros, Ordering::Relaxed);
        self.classes[class(micros)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn spans(&self) -> Spans {
        let longest = self.longest.load(Ordering::Relaxed);
        Spans {
            count: self.count.load(Ordering::Relaxed),
            micros: self.micros.load(Ordering::Relaxed),
            longest,
            median: self.within(50).min(longest),
            most: self.within(99).min(longest),
        }
    }

    /// So many of a hundred were no longer than this, in microseconds.
    fn within(&self, percent: u64) -> u64 {
        let counts: Vec<u64> =
            self.classes.iter().map(|class| class.load(Ordering::Relaxed)).collect();
        let wanted = (counts.iter().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        let found = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, end)
    }
}

/// The class of a span: its highest bit, and the two after it.
fn class(micros: u64) -> usize {
    let micros = micros.max(4);
    let bit = micros.ilog2();
    let quarter = (micros >> (bit - 2)) & 3;
    let class = (u64::from(bit) - 2) * 4 + quarter;
    usize::try_from(class).unwrap_or(CLASSES).min(CLASSES - 1)
}

/// The longest span of a class, in microseconds.
fn end(class: usize) -> u64 {
    let (doublings, quarter) = (class / 4, class as u64 % 4);
    ((5 + quarter) << doublings) - 1
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

    #[test]
    fn every_span_is_told_by_its_class_to_a_fifth() {
        for micros in (4..3_000).chain((12..40).map(|bit| (1 << bit) + 7)) {
            let told = end(class(micros));
            assert!(told >= micros && told <= micros + micros / 4, "{micros}: {told}");
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
        let counted = Counted::default();
        assert_eq!(counted.spans().median_ms(), None);
        for millis in 1..=100 {
            counted.observe(Duration::from_millis(millis));
        }
        let spans = counted.spans();
        let (median, most) = (spans.median_ms().unwrap(), spans.most_ms().unwrap());
        assert!(
            (50.0..60.0).contains(&median) && (99.0..=100.0).contains(&most),
            "{median} {most}"
        );
    }
}
