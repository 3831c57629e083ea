//! Keys of the archive: bytes that sort as what they stand for does.

use chronos_core::{JobId, Timestamp};

use crate::{Level, Period};

/// Under what a record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key<'a> {
    /// How far the journal was read.
    Cursor,
    /// The first instant of which entries are still told.
    Floor,
    /// What people know a job by.
    Card(JobId),
    /// A period in which something is new.
    Mark(Period),
    /// What is known of a job in a period.
    Facts(Period, JobId),
    /// What the table of contents says of a period.
    Node(Shelf<'a>, Period),
    /// A node that the search index does not have yet.
    Fresh(Shelf<'a>, Period),
}

/// Whose table of contents it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shelf<'a> {
    /// That of all jobs.
    Everyone,
    /// That of the jobs of one owner.
    Owner(&'a str),
}

const CURSOR: u8 = 0;
const CARD: u8 = 1;
const MARK: u8 = 2;
const FACTS: u8 = 3;
const NODE: u8 = 4;
const FRESH: u8 = 5;

const START: usize = size_of::<u64>();
const JOB: usize = 16;

impl Key<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Cursor => vec![CURSOR],
            Self::Floor => vec![CURSOR, 1],
            Self::Card(job) => [&[CARD], job.as_bytes().as_slice()].concat(),
            Self::Mark(period) => of_period(MARK, *period),
            Self::Facts(period, job) => {
                [&of_period(FACTS, *period), job.as_bytes().as_slice()].concat()
            }
            Self::Node(shelf, period) => on_shelf(NODE, *shelf, *period),
            Self::Fresh(shelf, period) => on_shelf(FRESH, *shelf, *period),
        }
    }
}

fn on_shelf(table: u8, shelf: Shelf<'_>, period: Period) -> Vec<u8> {
    let mut key = vec![table];
    match shelf {
        Shelf::Everyone => key.push(0),
        Shelf::Owner(owner) => {
            key.push(1);
            // Led by its length, so that no owner's name can reach into another's shelf.
            let length = u32::try_from(owner.len()).unwrap_or(u32::MAX);
            key.extend(length.to_be_bytes());
            key.extend(owner.as_bytes());
        }
    }
    key.extend(period_bytes(period));
    key
}

/// The shelf that the node under this key is on.
pub(super) fn shelf_in(key: &[u8]) -> Option<Shelf<'_>> {
    let (kind, rest) = key.get(1..)?.split_first()?;
    if *kind == 0 {
        return Some(Shelf::Everyone);
    }
    let (length, rest) = rest.split_first_chunk()?;
    let owner = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    std::str::from_utf8(owner).ok().map(Shelf::Owner)
}

/// What every key of a node begins with.
pub(super) fn all_nodes() -> [u8; 1] {
    [NODE]
}

/// What every key of a fresh node begins with.
pub(super) fn all_fresh() -> [u8; 1] {
    [FRESH]
}

/// What every key of a period's facts begins with.
pub(super) fn facts_of(period: Period) -> Vec<u8> {
    of_period(FACTS, period)
}

/// What every key of a level's nodes on a shelf begins with.
pub(super) fn nodes_of(shelf: Shelf<'_>, level: Level) -> Vec<u8> {
    let mut key = Key::Node(shelf, Period::containing(level, Timestamp::EPOCH)).encode();
    key.truncate(key.len() - START);
    key
}

/// The job whose facts are under this key.
pub(super) fn job_in(key: &[u8]) -> Option<JobId> {
    let job = key.get(2 + START..)?;
    <[u8; JOB]>::try_from(job).ok().map(JobId::from_bytes)
}

/// What every mark of a level begins with.
pub(super) fn marks_of(level: Level) -> Vec<u8> {
    vec![MARK, rank(level)]
}

/// The period that is marked by this key.
pub(super) fn marked_in(level: Level, key: &[u8]) -> Option<Period> {
    period_at(level, key.get(2..)?)
}

/// The period whose node of this level is under this key.
pub(super) fn told_in(level: Level, key: &[u8]) -> Option<Period> {
    period_at(level, key.get(key.len().checked_sub(START)?..)?)
}

fn period_at(level: Level, start: &[u8]) -> Option<Period> {
    let start = <[u8; START]>::try_from(start).ok()?;
    let micros = (u64::from_be_bytes(start) ^ BIAS).cast_signed();
    let start = Timestamp::from_micros(micros);
    let period = Period::containing(level, start);
    (period.start() == start).then_some(period)
}

/// Turns the order of signed numbers into that of unsigned ones.
const BIAS: u64 = 1 << 63;

fn of_period(table: u8, period: Period) -> Vec<u8> {
    [&[table], period_bytes(period).as_slice()].concat()
}

fn period_bytes(period: Period) -> [u8; 1 + START] {
    let mut bytes = [rank(period.level()); 1 + START];
    let start = period.start().as_micros().cast_unsigned() ^ BIAS;
    bytes[1..].copy_from_slice(&start.to_be_bytes());
    bytes
}

fn rank(level: Level) -> u8 {
    match level {
        Level::Hour => 0,
        Level::Day => 1,
        Level::Week => 2,
        Level::Month => 3,
        Level::Year => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_period_lead_back_to_it_and_sort_by_time() {
        let mut last = Vec::new();
        for secs in [-1_000_000, -1, 0, 1_700_000_000, 1_800_000_000] {
            let period = Period::containing(Level::Hour, Timestamp::from_secs(secs));
            let key = Key::Mark(period).encode();
            assert_eq!(marked_in(Level::Hour, &key), Some(period));
            assert!(key.starts_with(&marks_of(Level::Hour)));
            assert!(key > last);
            last = key;
            let job = JobId::new(Timestamp::from_secs(1), [7; 10]);
            let key = Key::Facts(period, job).encode();
            assert!(key.starts_with(&facts_of(period)));
            assert_eq!(job_in(&key), Some(job));
        }
    }

    #[test]
    fn no_owner_reaches_into_the_shelf_of_another() {
        let day = Period::containing(Level::Day, Timestamp::EPOCH);
        let node = |owner| Key::Node(Shelf::Owner(owner), day).encode();
        for (one, other) in [("a", "a\0"), ("", "\0"), ("ann", "anna")] {
            assert!(!node(other).starts_with(&node(one)));
            assert_ne!(node(one), node(other));
        }
        assert_ne!(node(""), Key::Node(Shelf::Everyone, day).encode());
        for shelf in [Shelf::Everyone, Shelf::Owner(""), Shelf::Owner("ann")] {
            assert_eq!(shelf_in(&Key::Node(shelf, day).encode()), Some(shelf));
        }
    }
}
