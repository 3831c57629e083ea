//! Catch-up, applied: what becomes of slots older than the misfire grace.

use std::time::Duration;

use super::Draft;
use crate::Timestamp;
use crate::execution::{SkipReason, Trigger};
use crate::policy::CatchUpPolicy;

impl Draft<'_> {
    /// Deals with slots older than the misfire grace, as the job's policy says.
    pub(super) fn catch_up(&mut self) {
        // A slot exactly as old as the grace is still on time.
        let grace = self.job.spec.misfire_grace.saturating_add(Duration::from_micros(1));
        let cutoff = self.now.before(grace);
        if let Some(window) = self.job.spec.catch_up_window {
            // What is on time is never too old.
            let oldest = self.now.before(window.saturating_add(Duration::from_micros(1)));
            self.pass_over(oldest.min(cutoff), &SkipReason::Missed);
        }
        let Some(first) = self.slot_until(cutoff) else {
            return;
        };
        match self.job.spec.catch_up {
            CatchUpPolicy::Skip => self.pass_over(cutoff, &SkipReason::Missed),
            CatchUpPolicy::RunOnce => self.run_once(first, cutoff),
            CatchUpPolicy::RunAllCapped(_) => {
                for _ in 0..self.job.spec.catch_up.cap() {
                    let Some(slot) = self.slot_until(cutoff) else {
                        return;
                    };
                    self.fire(slot, Trigger::CatchUp, self.caught_up_at(), None);
                }
                self.pass_over(cutoff, &SkipReason::Missed);
            }
        }
    }

    /// One run stands for all missed slots: the slot that is on time, else the newest missed one.
    fn run_once(&mut self, first: Timestamp, cutoff: Timestamp) {
        let missed = self.slots(first, cutoff);
        let last = missed.last;
        if let Some(slot) = self.slot_after(last).filter(|slot| *slot <= self.now) {
            self.fire(slot, Trigger::Schedule, slot, Some(missed));
        } else {
            let stood_for = (first != last).then_some(missed);
            self.fire(last, Trigger::CatchUp, self.caught_up_at(), stood_for);
        }
    }

    /// When a caught-up run begins: now, or in its turn where many are caught up, but well before the next
    /// slot, which it would keep from its own turn.
    fn caught_up_at(&self) -> Timestamp {
        let Some(turn) = self.live.begins else {
            return self.now;
        };
        let next = self.job.spec.schedule.next_after(self.now);
        let latest = next.map(|next| self.now.after(next.since(self.now) / 2));
        latest.map_or(turn, |latest| turn.min(latest)).max(self.now)
    }
}
