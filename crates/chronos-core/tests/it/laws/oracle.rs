//! The oracle: which slots a schedule has, by counting alone.

use chronos_core::Timestamp;

/// The slots of one version of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Oracle {
    /// `origin` + k · `step`, up to `end`.
    Grid { origin: Timestamp, step: i64, end: Option<Timestamp> },
    /// One instant.
    Single(Timestamp),
    /// Each slot is set by the end of a run, so nobody can enumerate them ahead.
    FromEnd { step: i64, end: Option<Timestamp> },
}

impl Oracle {
    /// The slots in `(after, until]`; `None` where they cannot be foretold.
    pub(super) fn slots(&self, after: Timestamp, until: Timestamp) -> Option<Vec<Timestamp>> {
        match *self {
            Self::Single(at) => {
                let inside = after < at && at <= until;
                Some(inside.then_some(at).into_iter().collect())
            }
            Self::Grid { origin, step, end } => {
                let until = end.map_or(until, |end| end.min(until)).as_micros();
                let past = (after.as_micros() - origin.as_micros()).div_euclid(step);
                let first = origin.as_micros() + (past + 1) * step;
                let slots = (0..).map(|k| first + k * step);
                let slots = slots.take_while(|slot| *slot <= until);
                Some(slots.map(Timestamp::from_micros).collect())
            }
            Self::FromEnd { .. } => None,
        }
    }

    /// The first slot after an instant, if it can be foretold and exists.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let far = match self {
            Self::Grid { step, .. } => Timestamp::from_micros(after.as_micros() + step),
            Self::Single(at) => *at,
            Self::FromEnd { .. } => return None,
        };
        self.slots(after, far)?.first().copied()
    }
}
