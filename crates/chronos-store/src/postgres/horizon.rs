//! Horizons: how far back a queue must be looked at.
//!
//! What was taken from the head of a queue leaves entries in its index that stay for as long as any
//! session anywhere in the cluster keeps an old snapshot. Walking over a million of them for every claim
//! is what brings queues in PostgreSQL down. So a node remembers below which place nothing lives, begins
//! there, and is told when something is put below: by its own steps, by notifications of other nodes,
//! and by a look at the whole from time to time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chronos_core::Timestamp;
use chronos_core::policy::Rank;
use sqlx::types::Uuid;

/// A place in a queue: the time of an entry, and its id among those of the same time.
pub(super) type Place = (Timestamp, Uuid);

/// The first place of a time.
pub(super) fn first_at(time: Timestamp) -> Place {
    (time, Uuid::nil())
}

#[derive(Default)]
pub(super) struct Horizon(Mutex<State>);

struct State {
    /// Below this nothing lives.
    floor: Place,
    /// Looks under way, each with the earliest place at which something was put since it began.
    looks: BTreeMap<u64, Option<Place>>,
    last_look: u64,
}

impl Default for State {
    fn default() -> Self {
        Self { floor: first_at(Timestamp::MIN), looks: BTreeMap::new(), last_look: 0 }
    }
}

/// A look at a queue that has begun.
pub(super) struct Look<'a> {
    /// Where it begins.
    pub(super) from: Place,
    horizon: &'a Horizon,
    number: u64,
}

impl Horizon {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a look at the queue; to be called before its snapshot is taken.
    pub(super) fn look(&self) -> Look<'_> {
        let mut state = self.state();
        state.last_look += 1;
        let number = state.last_look;
        state.looks.insert(number, None);
        Look { from: state.floor, horizon: self, number }
    }

    /// Something was put at this time.
    pub(super) fn lower(&self, time: Timestamp) {
        let (mut state, place) = (self.state(), first_at(time));
        state.floor = state.floor.min(place);
        for put in state.looks.values_mut() {
            *put = Some(put.map_or(place, |earlier| earlier.min(place)));
        }
    }
}

impl Look<'_> {
    /// The look found nothing below this place. What was put there since it began, it may not have seen.
    pub(super) fn found_nothing_below(self, place: Place) {
        let mut state = self.horizon.state();
        let put = state.looks.get(&self.number).copied().flatten();
        let place = put.map_or(place, |put| put.min(place));
        state.floor = state.floor.max(place);
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.horizon.state().looks.remove(&self.number);
    }
}

/// The horizons of the three queues.
#[derive(Default)]
pub(super) struct Horizons {
    /// Jobs that are due: those before the crowd, and the crowd.
    pub(super) due: [Horizon; 2],
    /// Executions that wait, one queue for each rank, by its number.
    pub(super) ready: [Horizon; Rank::COUNT],
    /// Executions that run.
    pub(super) reap: Horizon,
}

impl Horizons {
    /// A job, of the crowd or not, is due at this time.
    pub(super) fn lower_due(&self, time: Timestamp) {
        self.due.iter().for_each(|side| side.lower(time));
    }

    /// An execution of whatever rank was queued for this time.
    pub(super) fn lower_ready(&self, time: Timestamp) {
        self.ready.iter().for_each(|level| level.lower(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(second: i64) -> Place {
        first_at(Timestamp::from_secs(second))
    }

    fn after_looking_up_to(horizon: &Horizon, second: i64) {
        horizon.look().found_nothing_below(place(second));
    }

    #[test]
    fn what_is_put_below_is_seen_by_the_next_look() {
        let horizon = Horizon::default();
        after_looking_up_to(&horizon, 10);
        assert_eq!(horizon.look().from, place(10));
        horizon.lower(Timestamp::from_secs(4));
        assert_eq!(horizon.look().from, place(4));
        horizon.lower(Timestamp::from_secs(40));
        assert_eq!(horizon.look().from, place(4));
    }

    #[test]
    fn a_look_does_not_pass_over_what_was_put_since_it_began() {
        let horizon = Horizon::default();
        let look = horizon.look();
        horizon.lower(Timestamp::from_secs(4));
        horizon.lower(Timestamp::from_secs(7));
        look.found_nothing_below(place(10));
        assert_eq!(horizon.look().from, place(4));
        after_looking_up_to(&horizon, 10);
        assert_eq!(horizon.look().from, place(10));
    }

    #[test]
    fn a_look_never_lowers() {
        let horizon = Horizon::default();
        after_looking_up_to(&horizon, 10);
        after_looking_up_to(&horizon, 5);
        assert_eq!(horizon.look().from, place(10));
    }
}
