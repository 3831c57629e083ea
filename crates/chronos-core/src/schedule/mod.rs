//! When a job is due: the slots of cron expressions, intervals and one-time instants.

pub mod cron;
mod interval;
mod zone;

use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use cron::{Cron, CronError};
pub use interval::Interval;
pub use zone::{UnknownZone, Zone};

use crate::{Error, Timestamp};

/// The slots of a job: a cadence and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    cadence: Cadence,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<NonZeroU64>,
}

/// What makes the slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cadence {
    /// Wall-clock times in a zone.
    Cron(Cron),
    /// A fixed distance.
    Interval(Interval),
    /// A single instant.
    OneShot(Timestamp),
}

impl From<Cadence> for Schedule {
    fn from(cadence: Cadence) -> Self {
        Self { cadence, start_at: None, end_at: None, max_runs: None }
    }
}

impl Schedule {
    /// Slots at the wall-clock times of a cron expression.
    pub fn cron(expression: &str, zone: Zone) -> Result<Self, Error> {
        Ok(Cadence::Cron(Cron::parse(expression, zone)?).into())
    }

    /// A slot every `every`, the first one that long after `from`.
    ///
    /// ```
    /// # use chronos_core::{schedule::Schedule, Timestamp};
    /// # use std::time::Duration;
    /// let noon = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
    /// let schedule = Schedule::interval(Duration::from_secs(300), noon)?;
    /// assert_eq!(schedule.next_after(noon), Timestamp::parse("2026-11-15T12:05:00Z"));
    /// # Ok::<(), chronos_core::Error>(())
    /// ```
    pub fn interval(every: Duration, from: Timestamp) -> Result<Self, Error> {
        Ok(Cadence::Interval(Interval::new(every, from)?).into())
    }

    /// Each slot `every` after the end of the run before it, the first one that long after `from`.
    pub fn fixed_delay(every: Duration, from: Timestamp) -> Result<Self, Error> {
        Ok(Cadence::Interval(Interval::new(every, from)?.from_end()).into())
    }

    /// One slot, at this instant.
    #[must_use]
    pub fn one_shot(at: Timestamp) -> Self {
        Cadence::OneShot(at).into()
    }

    /// No slot before this instant; an interval takes its phase from it.
    pub fn starting_at(mut self, start_at: Timestamp) -> Result<Self, Error> {
        self.recurring("start_at")?;
        if let Cadence::Interval(interval) = &mut self.cadence {
            interval.start_at(start_at);
        }
        self.start_at = Some(start_at);
        self.in_order()
    }

    /// No slot after this instant.
    pub fn ending_at(mut self, end_at: Timestamp) -> Result<Self, Error> {
        self.recurring("end_at")?;
        self.end_at = Some(end_at);
        self.in_order()
    }

    /// At most this many slots fire.
    pub fn at_most(mut self, max_runs: u64) -> Result<Self, Error> {
        self.recurring("max_runs")?;
        self.max_runs = Some(NonZeroU64::new(max_runs).ok_or(Error::MaxRuns)?);
        Ok(self)
    }

    fn recurring(&self, bound: &'static str) -> Result<(), Error> {
        match self.cadence {
            Cadence::OneShot(_) => Err(Error::BoundOnOneShot { bound }),
            Cadence::Cron(_) | Cadence::Interval(_) => Ok(()),
        }
    }

    fn in_order(self) -> Result<Self, Error> {
        match (self.start_at, self.end_at) {
            (Some(start), Some(end)) if end < start => Err(Error::EndBeforeStart { start, end }),
            _ => Ok(self),
        }
    }

    /// The shortest time between two slots; nothing for a single one.
    #[must_use]
    pub fn shortest_gap(&self) -> Option<Duration> {
        match &self.cadence {
            Cadence::Cron(cron) => Some(cron.shortest_gap()),
            Cadence::Interval(interval) => Some(interval.every()),
            Cadence::OneShot(_) => None,
        }
    }

    /// What makes the slots.
    #[must_use]
    pub fn cadence(&self) -> &Cadence {
        &self.cadence
    }

    /// The instant before which there is no slot.
    #[must_use]
    pub fn start_at(&self) -> Option<Timestamp> {
        self.start_at
    }

    /// The instant after which there is no slot.
    #[must_use]
    pub fn end_at(&self) -> Option<Timestamp> {
        self.end_at
    }

    /// How many slots may fire in all.
    #[must_use]
    pub fn max_runs(&self) -> Option<NonZeroU64> {
        self.max_runs
    }

    /// Whether there is a single slot.
    #[must_use]
    pub fn is_one_shot(&self) -> bool {
        matches!(self.cadence, Cadence::OneShot(_))
    }

    /// Whether each slot is counted from the end of the run before it.
    #[must_use]
    pub fn counts_from_end(&self) -> bool {
        match &self.cadence {
            Cadence::Interval(interval) => interval.counts_from_end(),
            Cadence::Cron(_) | Cadence::OneShot(_) => false,
        }
    }

    /// The slot that follows a run which ended at `end`, for a schedule that counts from there.
    #[must_use]
    pub fn next_from_end(&self, end: Timestamp) -> Option<Timestamp> {
        let Cadence::Interval(interval) = &self.cadence else {
            return None;
        };
        let next = end.after(interval.every());
        (interval.counts_from_end() && self.end_at.is_none_or(|limit| next <= limit))
            .then_some(next)
    }

    /// Whether both describe the same cadence; where an interval is counted from does not matter.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let cadence = match (&self.cadence, &other.cadence) {
            (Cadence::Interval(one), Cadence::Interval(two)) => {
                (one.every(), one.counts_from_end()) == (two.every(), two.counts_from_end())
            }
            (one, two) => one == two,
        };
        cadence
            && (self.start_at, self.end_at, self.max_runs)
                == (other.start_at, other.end_at, other.max_runs)
    }

    /// The first slot strictly after `t`.
    #[must_use]
    pub fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        let t = match self.start_at {
            Some(start) if start > t => start.before(Duration::from_micros(1)),
            _ => t,
        };
        let next = match &self.cadence {
            Cadence::Cron(cron) => cron.next_after(t),
            Cadence::Interval(interval) => interval.next_after(t),
            Cadence::OneShot(at) => Some(*at).filter(|at| *at > t),
        };
        next.filter(|next| self.end_at.is_none_or(|end| *next <= end))
    }

    /// The last slot at or before `t`, given that `known` is a slot not after `t`.
    ///
    /// Found by halving the distance, so ten years cost hardly more than a day.
    #[must_use]
    pub fn latest_until(&self, t: Timestamp, known: Timestamp) -> Timestamp {
        let mut latest = known;
        if self.counts_from_end() {
            return latest;
        }
        let (mut low, mut high) = (known.as_micros(), t.as_micros());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.next_after(Timestamp::from_micros(middle)) {
                Some(slot) if slot <= t => {
                    latest = slot;
                    low = slot.as_micros();
                }
                _ => high = middle,
            }
        }
        latest
    }

    /// How many slots lie in `[first, last]`, both of them slots; `None` where only enumerating
    /// them could tell.
    #[must_use]
    pub fn count(&self, first: Timestamp, last: Timestamp) -> Option<u64> {
        match &self.cadence {
            Cadence::Interval(interval) => Some(interval.count(first, last)),
            Cadence::OneShot(_) => Some(1),
            Cadence::Cron(_) => (first == last).then_some(1),
        }
    }

    /// A cron expression as it was given; any other schedule in words.
    #[must_use]
    pub fn expression(&self) -> String {
        match &self.cadence {
            Cadence::Cron(cron) => cron.expression().into(),
            Cadence::Interval(_) | Cadence::OneShot(_) => self.describe(),
        }
    }

    /// The schedule in words, such as "at 09:00, Monday to Friday, Europe/Berlin".
    #[must_use]
    pub fn describe(&self) -> String {
        let cadence = match &self.cadence {
            Cadence::Cron(cron) => cron.describe(),
            Cadence::Interval(interval) => interval.describe(),
            Cadence::OneShot(at) => format!("once at {at}"),
        };
        let start = self.start_at.map(|start| format!("from {start}"));
        let end = self.end_at.map(|end| format!("until {end}"));
        let runs = self.max_runs.map(|runs| match runs.get() {
            1 => "at most 1 run".into(),
            runs => format!("at most {runs} runs"),
        });
        let parts: Vec<String> = [Some(cadence), start, end, runs].into_iter().flatten().collect();
        parts.join(", ")
    }
}
