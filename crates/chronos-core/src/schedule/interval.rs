//! Intervals: slots a fixed distance apart.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Timestamp};

/// A distance between slots, in whole seconds, and the instant it is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    seconds: u32,
    from: Timestamp,
    from_end: bool,
}

impl Interval {
    /// A hundred years, the longest distance that is plausibly meant.
    const MAX_SECONDS: u32 = 100 * 366 * 24 * 60 * 60;

    /// A slot every `every`, at `from` + k·`every` for k = 1, 2, …
    pub fn new(every: Duration, from: Timestamp) -> Result<Self, Error> {
        let seconds = u32::try_from(every.as_secs()).ok();
        let seconds = seconds.filter(|seconds| (1..=Self::MAX_SECONDS).contains(seconds));
        match seconds {
            Some(seconds) if every.subsec_nanos() == 0 => {
                Ok(Self { seconds, from, from_end: false })
            }
            _ => Err(Error::Interval { given: every }),
        }
    }

    /// The same distance, counted from the end of the run before instead of from the slot.
    #[must_use]
    pub fn from_end(self) -> Self {
        Self { from_end: true, ..self }
    }

    /// The distance between slots.
    #[must_use]
    pub fn every(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds))
    }

    pub(super) fn start_at(&mut self, start: Timestamp) {
        self.from = start.before(self.every());
    }

    pub(super) fn counts_from_end(&self) -> bool {
        self.from_end
    }

    pub(super) fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        let step = self.step();
        let elapsed = t.as_micros() - self.from.as_micros();
        let k = elapsed.div_euclid(step).max(0) + 1;
        let slot = k.checked_mul(step)?.checked_add(self.from.as_micros())?;
        (slot <= Timestamp::MAX.as_micros()).then(|| Timestamp::from_micros(slot))
    }

    pub(super) fn count(&self, first: Timestamp, last: Timestamp) -> u64 {
        let distance = last.as_micros() - first.as_micros();
        u64::try_from(distance / self.step()).unwrap_or(0) + 1
    }

    pub(super) fn describe(&self) -> String {
        let seconds = self.seconds;
        let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
        let (count, unit) = units
            .into_iter()
            .find(|(length, _)| seconds.is_multiple_of(*length))
            .map_or((seconds, "second"), |(length, unit)| (seconds / length, unit));
        let tail = if self.from_end { " after the end of the previous run" } else { "" };
        match (count, self.from_end) {
            (1, false) => format!("every {unit}"),
            (1, true) => format!("1 {unit}{tail}"),
            (_, false) => format!("every {count} {unit}s"),
            (_, true) => format!("{count} {unit}s{tail}"),
        }
    }

    fn step(&self) -> i64 {
        i64::from(self.seconds) * 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_that_cannot_be_meant_are_refused() {
        for every in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_millis(1_500),
            Duration::from_secs(u64::MAX),
            Duration::MAX,
        ] {
            let error = Interval::new(every, Timestamp::EPOCH).unwrap_err().to_string();
            assert!(error.contains("whole seconds"), "{error}");
        }
    }

    #[test]
    fn lengths_read_as_people_say_them() {
        for (seconds, text) in [
            (1, "every second"),
            (90, "every 90 seconds"),
            (60, "every minute"),
            (300, "every 5 minutes"),
            (3_600, "every hour"),
            (172_800, "every 2 days"),
        ] {
            let every = Duration::from_secs(seconds);
            let interval = Interval::new(every, Timestamp::EPOCH).unwrap();
            assert_eq!(interval.describe(), text);
        }
    }

    proptest! {
        #[test]
        fn slots_keep_their_phase_and_come_after_the_instant_asked_for(
            seconds in 1_u64..1_000_000, from in -1_000_000_000_i64..4_000_000_000,
            t in -1_000_000_000_000_000_i64..4_000_000_000_000_000,
        ) {
            let every = Duration::from_secs(seconds);
            let interval = Interval::new(every, Timestamp::from_secs(from)).unwrap();
            let t = Timestamp::from_micros(t);
            let slot = interval.next_after(t).unwrap();
            prop_assert!(slot > t);
            prop_assert_eq!((slot.as_secs() - from).rem_euclid(i64::try_from(seconds).unwrap()), 0);
            let first = Timestamp::from_secs(from).after(every);
            prop_assert!(slot == first || slot.before(every) <= t);
            let later = interval.next_after(slot).unwrap();
            prop_assert_eq!(later.since(slot), every);
            prop_assert_eq!(interval.count(slot, later), 2);
        }
    }
}
