//! Sketches: how long things took, kept in little room, so that any two can be put together.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Buckets per doubling of the value; a power of two, so that the leading bits of a number are its bucket.
const PER_DOUBLING: u64 = 64;
const BITS: u32 = PER_DOUBLING.trailing_zeros();

/// How often durations of each size were seen.
///
/// A quantile is told to within [`Self::ERROR`] of the duration that it stands for; the least, the greatest
/// and the sum are exact. Sketches of parts put together in any order are the sketch of the whole: each
/// bucket is counted by itself, in whole numbers, and no bucket is ever merged with another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    /// Buckets that are not empty, in order, with their counts.
    buckets: Vec<(u16, u64)>,
    extent: Option<Extent>,
    sum: u64,
}

/// The least and the greatest, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Extent {
    min: u64,
    max: u64,
}

impl Sketch {
    /// A quantile is at most this part of itself too large or too small.
    pub const ERROR: f64 = 1.0 / 128.0;

    /// Counts one more duration; below a microsecond there is nothing to tell.
    pub fn add(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.count(bucket(micros), 1);
        self.widen(Extent { min: micros, max: micros });
        self.sum = self.sum.saturating_add(micros);
    }

    /// Puts another sketch to this one.
    pub fn merge(&mut self, other: &Self) {
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
        } else {
            for (bucket, count) in &other.buckets {
                self.count(*bucket, *count);
            }
        }
        if let Some(extent) = other.extent {
            self.widen(extent);
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// How many durations there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| count.saturating_add(sum))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The duration that this part of all are not longer than, such as 0.99; nothing where there are none.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let extent = self.extent?;
        let len = self.len();
        let wanted = rank(part, len);
        if wanted == len {
            return self.max();
        }
        let mut seen = 0_u64;
        for (bucket, count) in &self.buckets {
            seen = seen.saturating_add(*count);
            if seen >= wanted {
                let micros = middle(*bucket).clamp(extent.min, extent.max);
                return Some(Duration::from_micros(micros));
            }
        }
        Some(Duration::from_micros(extent.max))
    }

    /// The shortest of all.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.extent.map(|extent| Duration::from_micros(extent.min))
    }

    /// The longest of all.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        self.extent.map(|extent| Duration::from_micros(extent.max))
    }

    /// All of them together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum)
    }

    fn count(&mut self, bucket: u16, by: u64) {
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => {
                let (_, count) = &mut self.buckets[place];
                *count = count.saturating_add(by);
            }
            Err(place) => self.buckets.insert(place, (bucket, by)),
        }
    }

    fn widen(&mut self, by: Extent) {
        let Extent { min, max } = self.extent.unwrap_or(by);
        self.extent = Some(Extent { min: min.min(by.min), max: max.max(by.max) });
    }
}

/// Which of `len` durations in order is the quantile, counted from 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the product lies between zero and the count, and is held there"
)]
fn rank(part: f64, len: u64) -> u64 {
    let rank = (part.clamp(0.0, 1.0) * len as f64).ceil() as u64;
    rank.clamp(1, len.max(1))
}

/// Small numbers have buckets of their own; of larger ones the leading bits tell.
fn bucket(value: u64) -> u16 {
    let shift = shift_of(value);
    // The leading bits lie between `PER_DOUBLING` and twice that wherever something is shifted away.
    let bucket = u64::from(shift) * PER_DOUBLING + (value >> shift);
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

fn shift_of(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1)
}

/// The number in the middle of a bucket.
fn middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let shift = (bucket / PER_DOUBLING).saturating_sub(1);
    let least = (bucket - shift * PER_DOUBLING) << shift;
    least.saturating_add((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_hold_what_is_in_them() {
        let mut last = 0;
        for value in (0..100_000).chain((17..64).map(|doublings| (1 << doublings) - 1)) {
            let bucket = bucket(value);
            assert!(bucket >= last, "{value}");
            last = bucket;
            assert_eq!(super::bucket(middle(bucket)), bucket, "{value}");
            let off = middle(bucket).abs_diff(value) as f64;
            assert!(off <= value as f64 * Sketch::ERROR, "{value} is told as {}", middle(bucket));
        }
        assert_eq!(super::bucket(middle(bucket(u64::MAX))), bucket(u64::MAX));
    }

    #[test]
    fn of_nothing_there_is_no_quantile() {
        assert_eq!(Sketch::default().quantile(0.5), None);
    }

    #[test]
    fn of_one_every_quantile_is_itself() {
        let mut sketch = Sketch::default();
        sketch.add(Duration::from_micros(1_234_567));
        for part in [0.0, 0.5, 0.99, 1.0] {
            assert_eq!(sketch.quantile(part), Some(Duration::from_micros(1_234_567)));
        }
    }
}
