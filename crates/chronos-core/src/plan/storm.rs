//! Storms: after an absence thousands of jobs may have thousands of slots to catch up. What each of them does is
//! bounded by its plan; what all of them do together is bounded here.

use std::time::Duration;

use super::{MAX_ROWS, Plan};
use crate::Timestamp;
use crate::execution::{State, Trigger};

/// What all jobs of a store caught up of late. The first tell of their slots one by one and begin at once; when
/// it becomes a storm, the others tell of them as ranges and begin one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Storm {
    /// Since when rows are counted, and how many there were.
    rows: Option<(Timestamp, usize)>,
    /// When the last caught-up runs were planned, and when all of them have begun at the rate they may.
    runs: Option<(Timestamp, Timestamp)>,
}

impl Storm {
    /// Slots that are passed over one by one within a [`SPELL`](Self::SPELL), by all jobs together; after that
    /// each plan records [`FEW_ROWS`](Self::FEW_ROWS) so.
    pub const ROWS: usize = 50 * MAX_ROWS;
    /// How long rows are counted together.
    pub const SPELL: Duration = Duration::from_mins(1);
    /// Slots that a plan passes over one by one in a storm, before it records the rest as a range.
    pub const FEW_ROWS: usize = 4;
    /// Caught-up runs that begin in a second, once as many have begun at once.
    pub const RUNS_A_SECOND: u32 = 1_000;

    /// Whether plans record few slots one by one now.
    #[must_use]
    pub fn is_terse(&self, now: Timestamp) -> bool {
        let spell = self.rows.filter(|(since, _)| holds(*since, now, Self::SPELL));
        spell.is_some_and(|(_, rows)| rows >= Self::ROWS)
    }

    /// When the next caught-up run may begin, if that is not at once.
    #[must_use]
    pub fn begins(&self, now: Timestamp) -> Option<Timestamp> {
        // A clock that was put back begins anew.
        let (_, all) = self.runs.filter(|(planned, _)| *planned <= now)?;
        Some(all.before(Duration::from_secs(1))).filter(|next| *next > now)
    }

    /// Counts what a plan does that was made now.
    pub fn count(&mut self, plan: &Plan, now: Timestamp) {
        let (mut rows, mut runs) = (0, 0);
        for execution in &plan.executions {
            match (&execution.state, &execution.trigger) {
                (State::Skipped { .. }, _) => rows += 1,
                // What is held begins when the one before it has ended.
                (State::Queued { held: false }, Trigger::CatchUp) => runs += 1,
                _ => {}
            }
        }
        if rows > 0 {
            let spell = self.rows.filter(|(since, _)| holds(*since, now, Self::SPELL));
            let (since, before) = spell.unwrap_or((now, 0));
            self.rows = Some((since, before + rows));
        }
        if runs > 0 {
            let before = self.runs.filter(|(planned, _)| *planned <= now).map(|(_, all)| all);
            let each = Duration::from_secs(1) / Self::RUNS_A_SECOND;
            self.runs = Some((now, before.unwrap_or(now).max(now).after(each * runs)));
        }
    }
}

fn holds(since: Timestamp, now: Timestamp, spell: Duration) -> bool {
    since <= now && now <= since.after(spell)
}
