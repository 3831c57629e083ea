//! Quiet hours: weekly windows, and dates apart from the week, in which nothing fires.

mod date;
mod window;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, TimeZone};
use serde::{Deserialize, Serialize};

use crate::schedule::Zone;
use crate::{Error, PolicyId, Timestamp};
pub use date::Date;
pub use window::{WeekdaySet, Window};

/// A named set of quiet windows, read in the policy's own time zone. Jobs refer to it by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    /// Identifies the policy.
    pub id: PolicyId,
    /// Whose policy it is: every job may observe it, its owner and admins change it.
    pub owner: Box<str>,
    /// What people call it; no other policy has the name.
    pub name: Box<str>,
    /// The zone whose wall clock the windows and dates are read on.
    pub zone: Zone,
    /// The windows; several may overlap or touch.
    pub windows: Vec<Window>,
    /// Dates on which it is otherwise than the windows say.
    pub exceptions: BTreeMap<Date, Exception>,
    /// What happens to a recurring slot inside a window.
    pub mode: Mode,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last edited.
    pub updated_at: Timestamp,
    /// Counts edits, from 1.
    pub version: u64,
}

/// What happens to a recurring job's slot inside quiet hours. A one-time job is always deferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The slot is skipped with the reason "quiet hours".
    #[default]
    Skip,
    /// The first slot of the window runs once the window ends; later ones are skipped.
    Defer,
}

impl Mode {
    /// The mode's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Defer => "defer",
        }
    }
}

/// What a date has in place of what its weekday says, or beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exception {
    /// No window begins on it. One that began the night before still ends in its own time.
    Open,
    /// All of it is quiet, and its windows hold as ever.
    Quiet,
}

impl QuietHours {
    /// Longer names are refused.
    pub const MAX_NAME: usize = 200;
    /// More windows are refused.
    pub const MAX_WINDOWS: usize = 50;
    /// More exceptions are refused.
    pub const MAX_EXCEPTIONS: usize = 400;
    /// More policies are refused: nodes have all of them at hand.
    pub const MOST: usize = 1_000;
    /// Quiet is looked ahead for this long; what goes on longer is asked about again then.
    const HORIZON: Duration = Duration::from_hours(8 * 24);

    /// A policy of nobody without windows, which skips.
    #[must_use]
    pub fn new(id: PolicyId, name: &str, zone: Zone, created_at: Timestamp) -> Self {
        Self {
            id,
            owner: "".into(),
            name: name.into(),
            zone,
            windows: Vec::new(),
            exceptions: BTreeMap::new(),
            mode: Mode::default(),
            created_at,
            updated_at: created_at,
            version: 1,
        }
    }

    /// Refuses what the types alone cannot: names, and lists without end.
    pub fn validate(&self) -> Result<(), Error> {
        let refused = |field, problem| Err(Error::QuietHours { field, problem });
        let length = self.name.chars().count();
        if !(1..=Self::MAX_NAME).contains(&length) || self.name.chars().any(char::is_control) {
            let most = Self::MAX_NAME;
            let accepted = format!("use 1 to {most} characters, none of them control characters");
            return refused("name", format!("it is not accepted; {accepted}"));
        }
        for (field, given, most) in [
            ("windows", self.windows.len(), Self::MAX_WINDOWS),
            ("exceptions", self.exceptions.len(), Self::MAX_EXCEPTIONS),
        ] {
            if given > most {
                return refused(field, format!("{given} are not accepted; use at most {most}"));
            }
        }
        Ok(())
    }

    /// The policy that this one becomes when it is edited: what identifies it stays.
    #[must_use]
    pub fn edited(&self, edit: Self, now: Timestamp) -> Self {
        Self {
            id: self.id,
            owner: self.owner.clone(),
            created_at: self.created_at,
            updated_at: now,
            version: self.version + 1,
            ..edit
        }
    }

    /// When the quiet that holds at `at` ends; `None` when it is not quiet then.
    ///
    /// Windows that touch or overlap count as one. Quiet that never ends within eight days is cut
    /// there and asked about again, so a policy that covers the whole week stays finite.
    #[must_use]
    pub fn until(&self, at: Timestamp) -> Option<Timestamp> {
        let horizon = at.after(Self::HORIZON);
        let mut end = self.window_end(at)?;
        while end < horizon {
            match self.window_end(end) {
                Some(later) if later > end => end = later,
                _ => break,
            }
        }
        Some(end.min(horizon))
    }

    /// The latest end among the windows and dates that hold at this instant. All of them are ahead on the
    /// wall, so the one that is last there is also last in time, however the clocks change in between.
    fn window_end(&self, at: Timestamp) -> Option<Timestamp> {
        let local = at.to_datetime().with_timezone(&self.zone.tz()).naive_local();
        let begins = |date| self.exception(date) != Some(Exception::Open);
        let ends = self.windows.iter().filter_map(|window| window.end_around(local, begins));
        let all_day = self.exception(local.date()) == Some(Exception::Quiet);
        let day_end = all_day.then(|| window::end_of(local.date())).flatten();
        ends.chain(day_end).max().map(|end| self.first_instant_at(end, at))
    }

    fn exception(&self, date: NaiveDate) -> Option<Exception> {
        self.exceptions.get(&date.into()).copied()
    }

    /// The first instant after `after` at which the zone's clocks show `wall` or have passed it.
    fn first_instant_at(&self, wall: NaiveDateTime, after: Timestamp) -> Timestamp {
        /// A window may end inside a spring gap; its clocks jump past the end, at most a day on.
        const LONGEST_GAP: u16 = 24 * 60;
        let mut wall = wall;
        for _ in 0..=LONGEST_GAP {
            let instants = match self.zone.tz().from_local_datetime(&wall) {
                MappedLocalTime::Single(only) => [Some(only), None],
                MappedLocalTime::Ambiguous(first, second) => [Some(first), Some(second)],
                MappedLocalTime::None => [None, None],
            };
            let instants = instants.into_iter().flatten().map(|at| Timestamp::from(at.to_utc()));
            if let Some(instant) = instants.filter(|instant| *instant > after).min() {
                return instant;
            }
            wall += chrono::TimeDelta::minutes(1);
        }
        after.after(Duration::from_mins(1))
    }
}

#[cfg(test)]
mod tests;
