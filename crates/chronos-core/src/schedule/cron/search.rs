//! The search for slots: wall-clock times of an expression laid onto the instants of a zone.
//!
//! A zone is a row of spans with one offset each. Within a span wall clock and instant run in
//! step, so the search is plain there; all that is special happens where two spans meet:
//!
//! - a gap swallows wall-clock times. A fixed time in it fires once, at the gap's end; an
//!   expression that keeps its cadence has nothing to catch up.
//! - an overlap shows wall-clock times twice. A fixed time fires in the first pass only; a cadence
//!   runs on through both.

use super::fields::{Fields, Wall};
use crate::schedule::zone::{Transition, Zone};

/// How close to a named time the search looks at the zone again. Offsets of one zone differ by
/// 26 hours at most, so this many seconds before it the clocks cannot have passed it yet.
const APPROACH: i64 = 3 * Zone::LARGEST_SHIFT;

/// The first slot at or after the instant `from`, in seconds of universal time.
pub(super) fn first_slot(fields: &Fields, zone: Zone, mut from: i64) -> Option<i64> {
    // A change at `from` itself belongs to the search, so the walk begins just before it.
    let mut known = from - 1;
    let mut offset = zone.offset_at(known);
    loop {
        let named = fields.next(from + offset);
        // With no later time to find, one is still possible where clocks go back into this year.
        let until = named.map_or(from + Zone::LARGEST_SHIFT, |wall| wall - offset);
        let near = until.min(known + Zone::STEADY);
        if let Some(change) = zone.change_in(known, near, offset) {
            if let Some(wall) = named
                && !fields.keeps_cadence()
                && in_gap(change, wall)
            {
                return Some(change.at);
            }
            (from, known, offset) = (change.at, change.at, change.after);
            continue;
        }
        if near < until {
            // Nothing is named on the way, so no change on the way can move or repeat a slot.
            from = until - APPROACH;
            (known, offset) = (from, zone.offset_at(from));
            continue;
        }
        let slot = named? - offset;
        match repeat_end(fields, zone, slot, known) {
            None => return Some(slot),
            Some(end) => from = end,
        }
    }
}

/// The wall-clock time that `slot` stands in for, when a gap swallowed it.
pub(super) fn swallowed(fields: &Fields, zone: Zone, slot: i64) -> Option<Wall> {
    let change = zone.change_in(slot - 1, slot, zone.offset_at(slot - 1))?;
    if fields.keeps_cadence() || fields.matches(slot + change.after) {
        return None;
    }
    fields.next(slot + change.before).filter(|wall| in_gap(change, *wall))
}

const fn in_gap(change: Transition, wall: Wall) -> bool {
    change.at + change.before <= wall && wall < change.at + change.after
}

/// When `slot` shows a fixed time for the second time: the instant at which the repeat is over.
///
/// No change lies in `(known, slot]`, so only one before that can have turned the clocks back.
fn repeat_end(fields: &Fields, zone: Zone, slot: i64, known: i64) -> Option<i64> {
    let earliest = slot - Zone::LARGEST_SHIFT;
    if fields.keeps_cadence() || earliest >= known {
        return None;
    }
    let change = zone.change_in(earliest, slot, zone.offset_at(earliest))?;
    let end = change.at + change.before - change.after;
    (slot < end).then_some(end)
}
