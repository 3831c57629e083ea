//! What can be wrong with the id of a period.

use crate::Level;

/// An id that names no period, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text does not begin like the id of a period.
    #[error(
        "{given:?} is not the id of a period; \
         it begins with toc:hour:, toc:day:, toc:week:, toc:month: or toc:year:"
    )]
    NotAPeriod {
        /// The text, shortened if it is long.
        given: String,
    },
    /// The text begins like an id of this level and goes on differently.
    #[error("{given:?} is not the id of a period; {level}s are written {}", .level.example())]
    Malformed {
        /// The text, shortened if it is long.
        given: String,
        /// The level it begins with.
        level: Level,
    },
    /// The id is well written, but the calendar has no such period.
    #[error("{given:?} is not in the calendar; it has no such {level}")]
    NotInCalendar {
        /// The id as given.
        given: String,
        /// Its level.
        level: Level,
    },
}
