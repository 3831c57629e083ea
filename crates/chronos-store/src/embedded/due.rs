//! Jobs in the order in which they are due: the crowd's apart from the others', and by turns with them.

use std::collections::BTreeSet;
use std::iter::Peekable;

use chronos_core::{JobId, Timestamp};

/// Jobs, each at the time when it is due.
#[derive(Debug, Default)]
pub(super) struct Due {
    few: BTreeSet<(Timestamp, JobId)>,
    crowd: BTreeSet<(Timestamp, JobId)>,
}

/// Where a job is in the order of due jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) at: Timestamp,
    pub(super) job: JobId,
    /// Whether it is one of the crowd.
    pub(super) crowd: bool,
}

impl Due {
    /// Puts jobs in order at once: much faster than one by one.
    pub(super) fn new(jobs: &[Turn]) -> Self {
        let of = |crowd| {
            let jobs = jobs.iter().filter(move |turn| turn.crowd == crowd);
            jobs.map(|turn| (turn.at, turn.job)).collect()
        };
        Self { few: of(false), crowd: of(true) }
    }

    fn side(&mut self, crowd: bool) -> &mut BTreeSet<(Timestamp, JobId)> {
        if crowd { &mut self.crowd } else { &mut self.few }
    }

    pub(super) fn insert(&mut self, Turn { at, job, crowd }: Turn) {
        self.side(crowd).insert((at, job));
    }

    pub(super) fn remove(&mut self, Turn { at, job, crowd }: Turn) {
        self.side(crowd).remove(&(at, job));
    }

    /// The first job that is due by now: of the crowd or of the others, where both have one.
    pub(super) fn first(&self, now: Timestamp, crowd_first: bool) -> Option<Turn> {
        let ripe = |side: &BTreeSet<(Timestamp, JobId)>, crowd| {
            let (at, job) = side.first().copied().filter(|(at, _)| *at <= now)?;
            Some(Turn { at, job, crowd })
        };
        let (few, crowd) = (ripe(&self.few, false), ripe(&self.crowd, true));
        if crowd_first { crowd.or(few) } else { few.or(crowd) }
    }

    /// When a job is due first.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let firsts = self.few.first().into_iter().chain(self.crowd.first());
        firsts.map(|(at, _)| *at).min()
    }

    /// All jobs that are due from an instant on, in order, whoever's they are.
    pub(super) fn from(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, JobId)> {
        let from = (at, JobId::from_bytes([0; 16]));
        Merged {
            few: self.few.range(from..).peekable(),
            crowd: self.crowd.range(from..).peekable(),
        }
    }
}

/// Two orders as one.
struct Merged<'a, I: Iterator<Item = &'a (Timestamp, JobId)>> {
    few: Peekable<I>,
    crowd: Peekable<I>,
}

impl<'a, I: Iterator<Item = &'a (Timestamp, JobId)>> Iterator for Merged<'a, I> {
    type Item = (Timestamp, JobId);

    fn next(&mut self) -> Option<Self::Item> {
        let crowd_next = match (self.few.peek(), self.crowd.peek()) {
            (Some(few), Some(crowd)) => crowd < few,
            (few, _) => few.is_none(),
        };
        if crowd_next { self.crowd.next() } else { self.few.next() }.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(second: i64, name: u8, crowd: bool) -> Turn {
        Turn { at: Timestamp::from_secs(second), job: JobId::from_bytes([name; 16]), crowd }
    }

    #[test]
    fn both_sides_come_by_turns_and_are_one_order_to_whoever_lists_them() {
        let jobs = [turn(1, 1, true), turn(2, 2, true), turn(2, 3, false), turn(4, 4, false)];
        let mut due = Due::new(&jobs);
        let now = Timestamp::from_secs(2);
        assert_eq!(due.first(now, false), Some(jobs[2]));
        assert_eq!(due.first(now, true), Some(jobs[0]));
        assert_eq!(due.next(), Some(Timestamp::from_secs(1)));
        let listed: Vec<JobId> = due.from(Timestamp::from_secs(1)).map(|(_, job)| job).collect();
        assert_eq!(listed, jobs.map(|turn| turn.job));
        due.remove(jobs[2]);
        assert_eq!(due.first(now, false), Some(jobs[0]), "nobody waits for a side that has none");
        due.insert(turn(0, 9, false));
        assert_eq!(due.next(), Some(Timestamp::from_secs(0)));
    }
}
