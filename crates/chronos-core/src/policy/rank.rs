//! Rank: where an execution stands among all that wait, so that nobody's many keep another's few waiting.
//!
//! Each owner's first jobs, with a few runs each, go before the crowd: what anybody has beyond that. The
//! crowd waits in the order of its time, whoever's it is, and has its turn all the same. So an owner with
//! any number of jobs delays those who have few by no more than another owner with few would.

use serde::{Deserialize, Serialize};

use super::Priority;

/// Jobs of an owner that go before the crowd: those that it made first.
pub const JOBS_BEFORE_CROWD: u64 = 64;

/// Runs of such a job that go before the crowd while they wait or run.
pub const RUNS_BEFORE_CROWD: u32 = 4;

/// Whether a job is one of the crowd whose owner has so many others when it is made. What belongs to
/// nobody shares with nobody.
#[must_use]
pub fn joins_crowd(owner: &str, others: u64) -> bool {
    !owner.is_empty() && others >= JOBS_BEFORE_CROWD
}

/// Where an execution stands among those that wait: whether with the crowd, and how urgent it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank(u8);

impl Rank {
    /// So many ranks there are.
    pub const COUNT: usize = 2 * Self::PRIORITIES as usize;
    const PRIORITIES: u8 = Priority::HIGHEST.level() + 1;

    /// The rank of a priority, before the crowd or in it.
    #[must_use]
    pub const fn new(priority: Priority, crowd: bool) -> Self {
        Self(if crowd { Self::PRIORITIES + priority.level() } else { priority.level() })
    }

    /// The rank that is kept under this number, if it is one.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        (usize::from(number) < Self::COUNT).then_some(Self(number))
    }

    /// The number that it is kept under; its order says nothing.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether it waits with the crowd.
    #[must_use]
    pub const fn is_crowd(self) -> bool {
        self.0 >= Self::PRIORITIES
    }

    /// How many ranks go before it: the more urgent ones, and those before the crowd if it is of the crowd.
    #[must_use]
    pub fn turn(self) -> usize {
        let urgency = self.0 % Self::PRIORITIES;
        let before = if self.is_crowd() { Self::PRIORITIES } else { 0 };
        usize::from(before + Self::PRIORITIES - 1 - urgency)
    }

    /// Every rank by its turn.
    pub fn by_turn() -> impl DoubleEndedIterator<Item = Self> {
        let front = (0..Self::PRIORITIES).rev();
        front.chain((Self::PRIORITIES..2 * Self::PRIORITIES).rev()).map(Self)
    }
}

impl Default for Rank {
    fn default() -> Self {
        Self::new(Priority::default(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_go_first_and_the_crowd_after_all() {
        let served: Vec<Rank> = Rank::by_turn().collect();
        assert_eq!(served.len(), Rank::COUNT);
        assert_eq!(served[0], Rank::new(Priority::HIGHEST, false));
        assert_eq!(served[9], Rank::new(Priority::LOWEST, false));
        assert_eq!(served[10], Rank::new(Priority::HIGHEST, true));
        assert_eq!(served[19], Rank::new(Priority::LOWEST, true));
        assert!(served.iter().all(|rank| Rank::numbered(rank.number()) == Some(*rank)));
        assert!(served.iter().enumerate().all(|(turn, rank)| rank.turn() == turn));
        assert_eq!(Rank::numbered(20), None);
    }

    #[test]
    fn an_owner_has_so_many_jobs_before_the_crowd_and_nobody_any_number() {
        assert!(!joins_crowd("ann", 63) && joins_crowd("ann", 64));
        assert!(!joins_crowd("", 1_000_000));
    }
}
