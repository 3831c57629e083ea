//! Decisions in words: one sentence for each.

use super::{BackfillAct, Decision, Reconciliation, Slots};
use crate::backfill::Counts;
use crate::execution::{SkipReason, Trigger};

impl Decision {
    /// The decision in one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Fired { slot, trigger, instead_of, .. } => {
                let how = match trigger {
                    Trigger::Schedule => format!("fired for {slot}"),
                    Trigger::CatchUp => format!("caught up the missed run of {slot}"),
                    Trigger::Manual { .. } => format!("run by hand at {slot}"),
                    Trigger::Notice(_) => format!("told of the run of {slot}"),
                    Trigger::Backfill { number, again: false } => {
                        format!("backfill {number} fired {slot}")
                    }
                    Trigger::Backfill { number, again: true } => {
                        format!("backfill {number} fired {slot} again")
                    }
                };
                match instead_of {
                    None => how,
                    Some(slots) => format!("{how}, standing for {}", slots.in_words()),
                }
            }
            Self::Skipped { slots, reason: SkipReason::Missed } => {
                format!("missed {}: nobody was there to fire in time", slots.in_words())
            }
            Self::Skipped { slots, reason } => {
                let why = format!("skipped {}: {}", slots.in_words(), reason.as_str());
                reason.note().map_or(why.clone(), |note| format!("{why} ({note})"))
            }
            Self::Deferred { slot, until } => format!("quiet hours hold {slot} back until {until}"),
            Self::Created => "created".into(),
            Self::Updated { version } => format!("updated to version {version}"),
            Self::Paused { note, resume_at } => {
                let until = resume_at.map(|at| format!(" until {at}")).unwrap_or_default();
                let why = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
                format!("paused{until}{why}")
            }
            Self::Resumed { by_itself: false } => "resumed".into(),
            Self::Resumed { by_itself: true } => "resumed by itself".into(),
            Self::PolicyMissing { policy } => {
                format!(
                    "quiet-hours policy {policy} is missing or cannot be read, so nothing is held back"
                )
            }
            Self::Deleted => "deleted".into(),
            Self::Disabled => "switched off".into(),
            Self::Enabled => "switched on again".into(),
            Self::Redriven { slot, .. } => format!("the run of {slot} is tried again by hand"),
            Self::Ended { slot, ending, next_attempt, .. } => {
                let ending = format!("{ending:?}").to_lowercase();
                match next_attempt {
                    None => format!("the run of {slot} ended: {ending}"),
                    Some(at) => format!("the run of {slot} ended: {ending}; next attempt at {at}"),
                }
            }
            Self::Told { kind, about, .. } => {
                format!("{} of execution {about} is to be told", kind.as_str())
            }
            Self::NoticeEnded { kind, ending, next_attempt, .. } => {
                let ending = format!("{ending:?}").to_lowercase();
                let notice = format!("the notice of {} ended: {ending}", kind.as_str());
                match next_attempt {
                    None => notice,
                    Some(at) => format!("{notice}; next attempt at {at}"),
                }
            }
            Self::CancelRequested { cause, .. } => {
                format!("asked a run to stop: {}", cause.as_str())
            }
            Self::PolicyCreated { name, .. } => format!("quiet-hours policy \"{name}\" made"),
            Self::PolicyUpdated { name, version, .. } => {
                format!("quiet-hours policy \"{name}\" updated to version {version}")
            }
            Self::PolicyDeleted { name, .. } => format!("quiet-hours policy \"{name}\" removed"),
            Self::Reconciled(done) => done.in_words(),
            Self::Backfill { number, act } => format!("backfill {number} {}", act.in_words()),
        }
    }
}

impl BackfillAct {
    fn in_words(&self) -> String {
        match self {
            Self::Created { from, to, total, force } => {
                let again = if *force { ", again where they have run" } else { "" };
                format!("asked for: {total} slots from {from} to {to}{again}")
            }
            Self::Paused => "paused".into(),
            Self::Resumed => "resumed".into(),
            Self::Cancelled => "cancelled".into(),
            Self::Finished(counts) => {
                let Counts { succeeded, failed, cancelled, skipped, already_run, .. } = counts;
                let mut parts = vec![format!("{succeeded} succeeded"), format!("{failed} failed")];
                for (count, word) in
                    [(cancelled, "cancelled"), (skipped, "skipped"), (already_run, "had run")]
                {
                    if *count > 0 {
                        parts.push(format!("{count} {word}"));
                    }
                }
                format!("finished: {}", parts.join(", "))
            }
        }
    }
}

impl Slots {
    pub(super) fn in_words(&self) -> String {
        match self.count {
            Some(1) => format!("the run of {}", self.first),
            Some(count) => format!("{count} runs from {} to {}", self.first, self.last),
            None => format!("all runs from {} to {}", self.first, self.last),
        }
    }
}

impl Reconciliation {
    fn in_words(&self) -> String {
        let Self { worker, lost, jobs, planned, fired, missed, skipped, deferred, .. } = self;
        format!(
            "{worker} started: of {jobs} jobs {planned} were due, {fired} slots fired, {missed} were missed, \
             {skipped} skipped and {deferred} deferred; {lost} runs had been left behind"
        )
    }
}
