//! Timelines: in which minutes or hours a job failed and in which it succeeded, and the spells that shows.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Level;

/// Where a job failed and where it succeeded, by the minute in hours and days, by the hour in longer periods.
///
/// Marks are set and never taken back, so that parts put together in any order are the whole; and the marks of
/// a longer period follow from those of the shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    failed: Marks,
    succeeded: Marks,
}

/// A stretch of failures that no success interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// The minute or hour of its first failure.
    pub from: Timestamp,
    /// The minute or hour of its last.
    pub to: Timestamp,
    /// The minute or hour of the success that ended it, if one did.
    pub recovered: Option<Timestamp>,
}

/// A set of units of time, sixty-four to a word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Marks(BTreeMap<i32, u64>);

const WORD: i64 = 64;

/// The unit that marks of a level stand for.
fn unit(level: Level) -> Duration {
    match level {
        Level::Hour | Level::Day => Duration::from_mins(1),
        Level::Week | Level::Month | Level::Year => Duration::from_hours(1),
    }
}

fn unit_of(level: Level, at: Timestamp) -> i64 {
    at.as_micros().div_euclid(micros(level))
}

fn start_of(level: Level, unit: i64) -> Timestamp {
    Timestamp::from_micros(unit.saturating_mul(micros(level)))
}

fn micros(level: Level) -> i64 {
    i64::try_from(unit(level).as_micros()).unwrap_or(i64::MAX)
}

impl Timeline {
    /// Marks a failure in an hour's timeline.
    pub(super) fn fail(&mut self, at: Timestamp) {
        self.failed.set(unit_of(Level::Hour, at));
    }

    /// Marks a success in an hour's timeline.
    pub(super) fn succeed(&mut self, at: Timestamp) {
        self.succeeded.set(unit_of(Level::Hour, at));
    }

    /// Puts another timeline of the same level to this one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.failed.merge(&other.failed);
        self.succeeded.merge(&other.succeeded);
    }

    /// The same timeline as one of the next larger level has it.
    pub(super) fn coarsened(&self, from: Level, to: Level) -> Self {
        if unit(from) == unit(to) {
            return self.clone();
        }
        let coarsened = |marks: &Marks| {
            let mut coarse = Marks::default();
            for unit in marks.units() {
                coarse.set(unit_of(to, start_of(from, unit)));
            }
            coarse
        };
        Self { failed: coarsened(&self.failed), succeeded: coarsened(&self.succeeded) }
    }

    /// The spells of failures in a timeline of this level, in order. `healed` says whether a success came after
    /// the last failure of all: within one unit marks do not tell which was first.
    pub(super) fn spells(&self, level: Level, healed: bool) -> Vec<Spell> {
        let mut spells: Vec<Spell> = Vec::new();
        for unit in self.failed.units() {
            let at = start_of(level, unit);
            match spells.last_mut().filter(|spell| spell.recovered.is_none()) {
                Some(spell) => spell.to = at,
                None => spells.push(Spell { from: at, to: at, recovered: None }),
            }
            let next_failure = self.failed.after(unit).unwrap_or(i64::MAX);
            let success = self.succeeded.after(unit).filter(|success| *success < next_failure);
            if let (Some(spell), Some(success)) = (spells.last_mut(), success) {
                spell.recovered = Some(start_of(level, success));
            }
        }
        if let Some(last) = spells.last_mut().filter(|last| last.recovered.is_none() && healed) {
            last.recovered = Some(last.to);
        }
        spells
    }
}

impl Marks {
    fn set(&mut self, unit: i64) {
        let (word, bit) = (unit.div_euclid(WORD), unit.rem_euclid(WORD));
        // Minutes of the supported years fit by far.
        let word = i32::try_from(word).unwrap_or(i32::MAX);
        *self.0.entry(word).or_default() |= 1 << bit;
    }

    fn merge(&mut self, other: &Self) {
        for (word, bits) in &other.0 {
            *self.0.entry(*word).or_default() |= bits;
        }
    }

    /// The units that are marked, in order.
    fn units(&self) -> impl Iterator<Item = i64> {
        self.0.iter().flat_map(|(word, bits)| {
            let (first, bits) = (i64::from(*word) * WORD, *bits);
            (0..WORD).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// The first unit after this one that is marked.
    fn after(&self, unit: i64) -> Option<i64> {
        let next = unit.saturating_add(1);
        let (word, bit) = (next.div_euclid(WORD), next.rem_euclid(WORD));
        let word = i32::try_from(word).ok()?;
        self.0.range(word..).find_map(|(at, bits)| {
            let bits = if *at == word { bits & (u64::MAX << bit) } else { *bits };
            (bits != 0).then(|| i64::from(*at) * WORD + i64::from(bits.trailing_zeros()))
        })
    }
}
