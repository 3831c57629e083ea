//! Places: how many runs an engine has room for, and how many of the crowd among them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chronos_core::store::Openings;

/// Places that are taken by runs, or held for runs that may be claimed.
#[derive(Default)]
pub(super) struct Places {
    any: Count,
    crowd: Count,
}

impl Places {
    /// Takes up to `wanted` places of `most`, of which the crowd leaves some to others: what a crowd of runs
    /// that hang fills, nobody else could use.
    pub(super) fn take(&self, wanted: usize, most: usize) -> Openings {
        let any = self.any.take(wanted, most);
        let crowd = self.crowd.take(any, most - most / 4);
        Openings { any, crowd }
    }

    /// Takes places that nobody asked for before.
    pub(super) fn add(&self, runs: Openings) {
        self.any.taken.fetch_add(runs.any, Ordering::SeqCst);
        self.crowd.taken.fetch_add(runs.crowd, Ordering::SeqCst);
    }

    pub(super) fn leave(&self, left: Openings) {
        self.any.taken.fetch_sub(left.any, Ordering::SeqCst);
        self.crowd.taken.fetch_sub(left.crowd, Ordering::SeqCst);
    }

    /// Whether someone found no place of those that were left now, since the last time that was asked.
    pub(super) fn were_wanted(&self, left: Openings) -> bool {
        let any = left.any > 0 && self.any.refused.swap(false, Ordering::SeqCst);
        let crowd = left.crowd > 0 && self.crowd.refused.swap(false, Ordering::SeqCst);
        any || crowd
    }
}

#[derive(Default)]
struct Count {
    taken: AtomicUsize,
    /// Whether someone found none since the last time there was one.
    refused: AtomicBool,
}

impl Count {
    fn take(&self, wanted: usize, most: usize) -> usize {
        let taken = self.try_to_take(wanted, most);
        if taken > 0 || wanted == 0 {
            return taken;
        }
        self.refused.store(true, Ordering::SeqCst);
        // Whoever left one just before did not know that someone wants it.
        self.try_to_take(wanted, most)
    }

    fn try_to_take(&self, wanted: usize, most: usize) -> usize {
        let fits = |taken: usize| wanted.min(most.saturating_sub(taken));
        let taken =
            self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |taken| {
                match fits(taken) {
                    0 => None,
                    fits => Some(taken + fits),
                }
            });
        taken.map_or(0, fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crowd_leaves_a_quarter_to_others() {
        let places = Places::default();
        assert_eq!(places.take(10, 16), Openings { any: 10, crowd: 10 });
        assert_eq!(places.take(10, 16), Openings { any: 6, crowd: 2 });
        places.leave(Openings { any: 2, crowd: 0 });
        assert_eq!(places.take(2, 16), Openings { any: 2, crowd: 0 });
        let of_the_few = Openings { any: 1, crowd: 0 };
        places.leave(of_the_few);
        assert!(!places.were_wanted(of_the_few), "only the crowd found none");
        let of_the_crowd = Openings { any: 1, crowd: 1 };
        places.leave(of_the_crowd);
        assert!(places.were_wanted(of_the_crowd) && !places.were_wanted(of_the_crowd));
    }

    #[test]
    fn an_engine_for_one_run_has_room_for_one_of_the_crowd() {
        assert_eq!(Places::default().take(4, 1), Openings { any: 1, crowd: 1 });
    }
}
