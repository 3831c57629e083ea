//! The oracle: the slots of a schedule by plain arithmetic, to judge the code under test by.

use std::time::Duration;

use chronos_core::Timestamp;

/// Slots, counted without the code under test.
#[derive(Clone, Copy, Debug)]
pub(super) enum Oracle {
    /// Every so many microseconds, in phase with an instant.
    Every { period: i64, phase: i64, end: Option<Timestamp> },
    /// So long after the end of the run before.
    FromEnd(Duration),
    /// One instant.
    Once(Timestamp),
}

impl Oracle {
    pub(super) fn every(seconds: u64, phase: i64, end: Option<Timestamp>) -> Self {
        let period = i64::try_from(seconds).unwrap() * 1_000_000;
        Self::Every { period, phase, end }
    }

    /// The first slot after `t`; `None` when there is none, or when only a run's end tells.
    pub(super) fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        match *self {
            Self::Every { period, phase, end } => {
                let k = (t.as_micros() - phase).div_euclid(period) + 1;
                let next = Timestamp::from_micros(phase + k * period);
                (end.is_none_or(|end| next <= end)).then_some(next)
            }
            Self::FromEnd(_) => None,
            Self::Once(at) => (at > t).then_some(at),
        }
    }

    /// Whether there is a slot at `t`.
    pub(super) fn contains(&self, t: Timestamp) -> bool {
        self.next_after(t.before(Duration::from_micros(1))) == Some(t)
    }

    /// The slots after one instant and not after another.
    pub(super) fn between(&self, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        std::iter::successors(self.next_after(after), |slot| self.next_after(*slot))
            .take_while(|slot| *slot <= until)
            .collect()
    }
}
