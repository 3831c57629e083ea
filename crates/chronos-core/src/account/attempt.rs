//! Attempts: how often somebody may try to get in, counted where every node sees it.

use std::time::Duration;

use crate::Timestamp;

/// Something by which attempts are counted, such as a name or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Tells it from all others: derived from the name or the address.
    pub id: [u8; 16],
    /// Attempts that are let through in one window.
    pub limit: u32,
    /// How long a window is.
    pub window: Duration,
}

impl Subject {
    /// The end of the window that this instant is in.
    #[must_use]
    pub fn window_end(&self, now: Timestamp) -> Timestamp {
        let window = i64::try_from(self.window.as_micros()).unwrap_or(i64::MAX).max(1);
        let begun = now.as_micros().div_euclid(window).saturating_mul(window);
        Timestamp::from_micros(begun.saturating_add(window))
    }
}

/// Whether an attempt is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is, and is counted.
    Let,
    /// There were too many; not before this instant.
    Until(Timestamp),
}
