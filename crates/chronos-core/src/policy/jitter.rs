//! Jitter: a delay that spreads jobs sharing a time, the same for the same slot on every node.

use std::time::Duration;

use crate::chance;
use crate::{JobId, Timestamp};

/// How long after its slot a run begins: somewhere in `[0, window)`, fixed by job and slot.
///
/// The window never reaches the next slot, so runs keep the order of their slots.
#[must_use]
pub fn offset(job: JobId, slot: Timestamp, next: Option<Timestamp>, window: Duration) -> Duration {
    let gap = next.map_or(Duration::MAX, |next| next.since(slot));
    let window = window.min(gap);
    // Milliseconds are as fine as anyone reads; a window below one leaves nothing to spread.
    let millis = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return Duration::ZERO;
    }
    Duration::from_millis(chance::of(b"jitter", job, slot, 0) % millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(seed: u8) -> JobId {
        JobId::new(Timestamp::EPOCH, [seed; 10])
    }

    proptest! {
        #[test]
        fn jitter_stays_inside_its_window_and_below_the_next_slot(
            seed: u8, slot in 0_i64..4_000_000_000, window in 0_u64..10_000_000, gap in 1_u64..10_000_000,
        ) {
            let slot = Timestamp::from_secs(slot);
            let next = slot.after(Duration::from_secs(gap));
            let window = Duration::from_secs(window);
            let offset = offset(job(seed), slot, Some(next), window);
            prop_assert!(offset < window || (window.is_zero() && offset.is_zero()));
            prop_assert!(slot.after(offset) < next);
        }
    }

    #[test]
    fn the_same_slot_has_the_same_jitter_and_many_jobs_spread_over_the_window() {
        let slot = Timestamp::from_secs(1_700_000_000);
        let window = Duration::from_mins(1);
        assert_eq!(offset(job(1), slot, None, window), offset(job(1), slot, None, window));
        let mut quarters = [0; 4];
        for seed in 0..=255 {
            let at = offset(job(seed), slot, None, window).as_secs() / 15;
            quarters[usize::try_from(at).unwrap()] += 1;
        }
        assert!(quarters.iter().all(|jobs| (40..90).contains(jobs)), "{quarters:?}");
    }
}
