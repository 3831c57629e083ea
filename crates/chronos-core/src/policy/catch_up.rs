//! Catch-up: what becomes of slots that nobody was there to fire.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::Error;

/// What happens to slots older than the misfire grace when the scheduler gets to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatchUpPolicy {
    /// None of them runs; each is recorded as missed.
    #[default]
    Skip,
    /// One run stands for all of them; the record says for how many.
    RunOnce,
    /// The oldest run in order, up to this many; the rest are recorded as missed.
    RunAllCapped(NonZeroU32),
}

impl CatchUpPolicy {
    /// The most runs that one catch-up may start.
    pub const MAX_CAP: u32 = 1_000;
    /// The most that it starts where nobody says how many.
    pub const USUAL_CAP: u32 = 10;

    /// How many runs one catch-up may start.
    #[must_use]
    pub fn cap(self) -> u32 {
        match self {
            Self::Skip => 0,
            Self::RunOnce => 1,
            Self::RunAllCapped(cap) => cap.get(),
        }
    }

    /// Runs the oldest missed slots, up to `max` of them (1 to 1,000).
    pub fn run_all_capped(max: u32) -> Result<Self, Error> {
        match NonZeroU32::new(max) {
            Some(cap) if max <= Self::MAX_CAP => Ok(Self::RunAllCapped(cap)),
            _ => Err(Error::CatchUpCap { given: max }),
        }
    }
}
