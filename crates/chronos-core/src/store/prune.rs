//! Pruning: forgetting what is older than it is to be kept, a step at a time.

use std::time::Duration;

use crate::Timestamp;

const DAY: Duration = Duration::from_hours(24);

/// What is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Executions that are over.
    Executions,
    /// Decisions.
    Decisions,
}

/// What is to be forgotten, or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Of what kind it is.
    pub records: Records,
    /// It is from the days before this one's, in universal time.
    pub before: Timestamp,
    /// Counts what would go, and lets it be.
    pub rehearsal: bool,
}

/// What one step of pruning did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many records went, or would.
    pub count: u64,
    /// Where to go on, if there may be more.
    pub next: Option<Box<[u8]>>,
}

impl Prune {
    /// The first instant that is kept: whole days go, because a store may keep them apart.
    #[must_use]
    pub fn cutoff(&self) -> Timestamp {
        midnight(self.before)
    }
}

/// The first instant of a day.
#[must_use]
pub fn midnight(at: Timestamp) -> Timestamp {
    let day = DAY.as_secs().cast_signed();
    Timestamp::from_secs(at.as_secs().div_euclid(day) * day)
}
