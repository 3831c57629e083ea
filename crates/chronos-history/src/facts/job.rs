//! What is known of one job in one period.

use std::cmp::Reverse;
use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_core::{ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Cause, Causes, Figures, Sighting, Spell, Timeline};
use crate::Level;
use crate::entry::{Entry, Event};

/// What is known of one job in one period.
///
/// Facts of parts put together in any order are those of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// Its figures.
    pub figures: Figures,
    /// The execution that took longest.
    pub slowest: Option<Slowest>,
    /// What is known of its failures, if there were any.
    pub failures: Option<Failures>,
    /// Its newest success.
    pub last_success: Option<Sighting>,
    timeline: Timeline,
    /// The place in the journal of its newest entry.
    pub newest: u64,
}

/// An execution, and how long it took. The longer one is the greater; of equals, the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slowest {
    micros: u64,
    execution: Reverse<Sighting>,
}

/// A job's failures in a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// The earliest.
    pub first: Sighting,
    /// The latest.
    pub last: Sighting,
    /// Why they failed.
    pub causes: Causes,
}

impl Slowest {
    /// The execution.
    #[must_use]
    pub fn execution(&self) -> ExecutionId {
        self.execution.0.execution
    }

    /// How long it took.
    #[must_use]
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.micros)
    }
}

impl JobFacts {
    /// Counts an entry of the hour that the facts are of. One that is in them already is not counted again:
    /// entries come in the order of the journal, so that whatever is not newer is known.
    pub fn count(&mut self, entry: &Entry) {
        if entry.sequence <= self.newest {
            return;
        }
        self.newest = entry.sequence;
        self.figures.count(&entry.event);
        let Event::Ended(ended) = &entry.event else {
            return;
        };
        let sighting = Sighting { at: entry.at, execution: ended.id };
        if let Some(took) = ended.took {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            let one = Slowest { micros, execution: Reverse(sighting) };
            self.slowest = self.slowest.max(Some(one));
        }
        if let Some(cause) = Cause::of(ended) {
            let failures = self.failures.get_or_insert_with(|| Failures::first(sighting));
            failures.widen(sighting, sighting);
            failures.causes.count(cause, sighting);
            self.timeline.fail(entry.at);
        } else if ended.ending == EndingKind::Success {
            self.last_success = self.last_success.max(Some(sighting));
            self.timeline.succeed(entry.at);
        }
    }

    /// Puts facts of another part of the same period to these.
    pub fn merge(&mut self, other: &Self) {
        self.figures.merge(&other.figures);
        self.slowest = self.slowest.max(other.slowest);
        self.last_success = self.last_success.max(other.last_success);
        self.newest = self.newest.max(other.newest);
        self.timeline.merge(&other.timeline);
        if let Some(others) = &other.failures {
            match &mut self.failures {
                Some(failures) => {
                    failures.widen(others.first, others.last);
                    failures.causes.merge(&others.causes);
                }
                none => *none = Some(others.clone()),
            }
        }
    }

    /// The same facts as a period of the next larger level has them.
    #[must_use]
    pub fn raised(&self, from: Level, to: Level) -> Self {
        Self { timeline: self.timeline.coarsened(from, to), ..self.clone() }
    }

    /// Its spells of failures in a period of this level, in order.
    #[must_use]
    pub fn spells(&self, level: Level) -> Vec<Spell> {
        self.timeline.spells(level, self.has_recovered())
    }

    /// Whether it succeeded after its last failure.
    #[must_use]
    pub fn has_recovered(&self) -> bool {
        let failed: Option<Timestamp> = self.failures.as_ref().map(|failures| failures.last.at);
        failed.is_some() && self.last_success.map(|success| success.at) > failed
    }
}

impl Failures {
    fn first(sighting: Sighting) -> Self {
        Self { first: sighting, last: sighting, causes: Causes::default() }
    }

    fn widen(&mut self, first: Sighting, last: Sighting) {
        self.first = self.first.min(first);
        self.last = self.last.max(last);
    }
}
