//! Figures: how runs ended, how long they took, how late they began, and what was passed over.

use std::collections::BTreeMap;

use chronos_core::audit::EndingKind;
use serde::{Deserialize, Serialize};

use super::Sketch;
use crate::entry::{Ended, Event};

/// Figures of a job or of many, in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Attempts by how they ended.
    pub endings: Endings,
    /// Those of them that were retries.
    pub retries: u64,
    /// Slots that were passed over, by the reason.
    pub skips: BTreeMap<Box<str>, u64>,
    /// How long attempts took.
    pub durations: Sketch,
    /// How much later than they might have attempts began.
    pub lags: Sketch,
}

/// Attempts by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endings {
    /// By themselves.
    pub success: u64,
    /// With an error.
    pub failed: u64,
    /// Over their time.
    pub timed_out: u64,
    /// With their worker.
    pub stuck: u64,
    /// On request.
    pub cancelled: u64,
}

impl Endings {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.success.saturating_add(self.failures()).saturating_add(self.cancelled)
    }

    /// Those that somebody should look at.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.saturating_add(self.timed_out).saturating_add(self.stuck)
    }

    fn count(&mut self, ending: EndingKind) {
        let count = match ending {
            EndingKind::Success => &mut self.success,
            EndingKind::Failed => &mut self.failed,
            EndingKind::TimedOut => &mut self.timed_out,
            EndingKind::Stuck => &mut self.stuck,
            EndingKind::Cancelled => &mut self.cancelled,
            // Counted among what was passed over.
            EndingKind::Skipped => return,
        };
        *count = count.saturating_add(1);
    }

    fn merge(&mut self, other: &Self) {
        self.success = self.success.saturating_add(other.success);
        self.failed = self.failed.saturating_add(other.failed);
        self.timed_out = self.timed_out.saturating_add(other.timed_out);
        self.stuck = self.stuck.saturating_add(other.stuck);
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
    }
}

impl Figures {
    /// Counts what happened.
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::Skipped { slots, reason } => self.pass_over(reason, *slots),
            Event::Ended(ended) => self.end(ended),
        }
    }

    /// Slots that were passed over, whatever the reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skips.values().fold(0, |sum, count| count.saturating_add(sum))
    }

    /// Puts other figures to these.
    pub fn merge(&mut self, other: &Self) {
        self.endings.merge(&other.endings);
        self.retries = self.retries.saturating_add(other.retries);
        for (reason, slots) in &other.skips {
            self.pass_over(reason, *slots);
        }
        self.durations.merge(&other.durations);
        self.lags.merge(&other.lags);
    }

    fn end(&mut self, ended: &Ended) {
        self.endings.count(ended.ending);
        self.retries = self.retries.saturating_add(ended.is_retry.into());
        if let Some(took) = ended.took {
            self.durations.add(took);
        }
        if let Some(lag) = ended.lag {
            self.lags.add(lag);
        }
    }

    fn pass_over(&mut self, reason: &str, slots: u64) {
        match self.skips.get_mut(reason) {
            Some(count) => *count = count.saturating_add(slots),
            None => drop(self.skips.insert(reason.into(), slots)),
        }
    }
}
