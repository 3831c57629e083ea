//! Differences: which runs an edit of a job adds, removes and moves, before anybody makes it.

use std::cmp::Ordering;
use std::fmt;

use super::preview::{PreviewRun, preview_until};
use crate::Timestamp;
use crate::job::Job;
use crate::policy::QuietHours;

/// Slots of one job that a comparison goes through.
const MOST: usize = 5_000;

/// What an edit changes about the runs to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Runs that there are only with it.
    pub added: Vec<PreviewRun>,
    /// Runs that there are only without it.
    pub removed: Vec<PreviewRun>,
    /// Runs of the same slots that begin at another time.
    pub moved: Vec<Moved>,
    /// How many stay as they are.
    pub kept: usize,
    /// Up to when runs were compared: the end that was asked for, or earlier where there are too many.
    pub until: Timestamp,
    /// Whether that is the end that was asked for.
    pub complete: bool,
}

/// A run that begins at another time than it would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// When it would have begun.
    pub from: Timestamp,
    /// The run as it will be.
    pub run: PreviewRun,
}

/// Compares the runs of a job as it is with those of the job as it would be, up to `until`.
#[must_use]
pub fn difference(
    (before, quiet_before): (&Job, Option<&QuietHours>),
    (after, quiet_after): (&Job, Option<&QuietHours>),
    until: Timestamp,
) -> Difference {
    let (mut old, all_old) = preview_until(before, quiet_before, until, MOST);
    let (mut new, all_new) = preview_until(after, quiet_after, until, MOST);
    let complete = all_old && all_new;
    // Beyond the last slot of a side that was cut off nothing is known of it.
    let ends = [(&old, all_old), (&new, all_new)];
    let cut = ends.iter().filter(|(_, all)| !all);
    let cut = cut.filter_map(|(runs, _)| runs.last().map(|run| run.nominal)).min();
    let until = cut.map_or(until, |cut| cut.min(until));
    let is_run = |run: &PreviewRun| run.effective.is_some() && (complete || run.nominal < until);
    old.retain(is_run);
    new.retain(is_run);
    let nothing = (Vec::new(), Vec::new(), Vec::new());
    let (added, removed, moved) = nothing;
    let mut found = Difference { added, removed, moved, kept: 0, until, complete };
    found.merge(old, new);
    found
}

impl Difference {
    /// Goes through both lists, which are in the order of their slots.
    fn merge(&mut self, old: Vec<PreviewRun>, new: Vec<PreviewRun>) {
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(before), Some(after)) => before.nominal.cmp(&after.nominal),
            };
            let before = if order.is_le() { old.next() } else { None };
            let after = if order.is_ge() { new.next() } else { None };
            match (before, after) {
                (Some(before), Some(after)) if before.effective == after.effective => {
                    self.kept += 1;
                }
                (Some(before), Some(run)) => {
                    let from = before.effective.unwrap_or(before.nominal);
                    self.moved.push(Moved { from, run });
                }
                (before, after) => {
                    self.removed.extend(before);
                    self.added.extend(after);
                }
            }
        }
    }
}

/// The change in a few words, such as `adds 3 runs, removes 2`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("adds", self.added.len()), ("removes", self.removed.len())];
        let parts = parts.into_iter().chain([("moves", self.moved.len())]);
        let mut parts = parts.filter(|(_, count)| *count > 0).peekable();
        if parts.peek().is_none() {
            return f.write_str("changes no run");
        }
        for (place, (verb, count)) in parts.enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let runs = match (place, count) {
                (0, 1) => " run",
                (0, _) => " runs",
                _ => "",
            };
            write!(f, "{comma}{verb} {count}{runs}")?;
        }
        Ok(())
    }
}
