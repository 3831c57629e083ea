//! Slots: each of them, from a job's beginning to its end, is accounted for exactly once.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::audit::{Decision, Slots};
use chronos_core::execution::{SkipReason, Trigger};

use super::super::specs::Rhythm;
use super::Account;

/// A daemon that lives has dealt with everything older than this.
const LATEST: Duration = Duration::from_secs(8);

/// How often a slot fired, was passed over, and was stood for by the run of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cover {
    fired: u32,
    skipped: u32,
    stood_for: u32,
}

/// When a job's slots are, told from its rhythm and from when it was changed.
struct Calendar {
    rhythm: Rhythm,
    created_at: Timestamp,
    updated_at: Vec<Timestamp>,
}

impl Account {
    /// Checks every slot; says how many there were.
    pub(super) fn check_slots(&self, rhythm: Rhythm, stopped_at: Timestamp) -> usize {
        let calendar = self.calendar(rhythm);
        let mut covers = self.covers(&calendar);
        let expected = self.expected(&calendar, stopped_at, &covers);
        for slot in &expected {
            let cover = covers.remove(slot).unwrap_or_default();
            let Cover { fired, skipped, stood_for } = cover;
            let about = format!("{slot} of {}: {cover:?}", self.title());
            assert!(fired + skipped + stood_for > 0, "nothing accounts for {about}");
            // A run that waited may be passed over after all, by a pause or by the next slot.
            assert!(fired <= 1 && skipped <= 1 && fired + stood_for <= 1, "doubled: {about}");
        }
        assert_eq!(covers, BTreeMap::new(), "slots that {} does not have", self.title());
        expected.len()
    }

    pub(super) fn title(&self) -> String {
        let job = self.job.as_ref().map(|job| (job.spec.name.clone(), job.spec.id));
        job.map_or("a deleted job".into(), |(name, id)| format!("\"{name}\" ({id})"))
    }

    fn calendar(&self, rhythm: Rhythm) -> Calendar {
        let when = |is: fn(&Decision) -> bool| {
            let events = self.decisions.iter().filter(move |event| is(&event.decision));
            events.map(|event| event.at).collect::<Vec<_>>()
        };
        let created_at = when(|made| *made == Decision::Created)[0];
        let updated_at = when(|made| matches!(made, Decision::Updated { .. }));
        Calendar { rhythm, created_at, updated_at }
    }

    /// Every slot that must be accounted for: up to the next one of a job that lives, which is not
    /// long past, and up to the last one that a deleted job had before its end.
    fn expected(
        &self,
        calendar: &Calendar,
        stopped_at: Timestamp,
        covers: &BTreeMap<Timestamp, Cover>,
    ) -> Vec<Timestamp> {
        let last = match &self.job {
            None => covers.keys().last().copied().unwrap_or(Timestamp::EPOCH),
            Some(job) => match job.standing.next_slot {
                None => match calendar.rhythm {
                    Rhythm::Once(at) => at,
                    _ => panic!("{} stands nowhere", self.title()),
                },
                Some(next) => {
                    assert!(next.after(LATEST) > stopped_at, "{} is behind: {next}", self.title());
                    next.before(Duration::from_micros(1))
                }
            },
        };
        calendar.slots(Timestamp::EPOCH, last)
    }

    fn covers(&self, calendar: &Calendar) -> BTreeMap<Timestamp, Cover> {
        let mut covers: BTreeMap<Timestamp, Cover> = BTreeMap::new();
        for decision in self.decided() {
            match decision {
                Decision::Fired { slot, trigger, instead_of, .. } if trigger.is_scheduled() => {
                    covers.entry(*slot).or_default().fired += 1;
                    let others = instead_of.iter().flat_map(|slots| calendar.all_of(slots));
                    for other in others.filter(|other| other != slot) {
                        covers.entry(other).or_default().stood_for += 1;
                    }
                }
                // The retry of a run by hand gives way to a slot, and is none.
                Decision::Skipped { slots, reason: SkipReason::Superseded }
                    if self.was_by_hand(slots.first) => {}
                Decision::Skipped { slots, .. } => {
                    for slot in calendar.all_of(slots) {
                        covers.entry(slot).or_default().skipped += 1;
                    }
                }
                _ => {}
            }
        }
        covers
    }

    fn was_by_hand(&self, at: Timestamp) -> bool {
        self.decided().any(|made| {
            matches!(made, Decision::Fired { slot, trigger: Trigger::Manual { .. }, .. }
                if *slot == at)
        })
    }
}

impl Calendar {
    /// The slots of a range, which must begin and end with one and hold as many as it says.
    fn all_of(&self, range: &Slots) -> Vec<Timestamp> {
        let slots = self.slots(range.first, range.last);
        assert_eq!((slots.first(), slots.last()), (Some(&range.first), Some(&range.last)));
        assert_eq!(range.count.unwrap_or(slots.len() as u64), slots.len() as u64);
        slots
    }

    fn slots(&self, first: Timestamp, last: Timestamp) -> Vec<Timestamp> {
        if let Rhythm::Once(at) = self.rhythm {
            return if (first..=last).contains(&at) { vec![at] } else { Vec::new() };
        }
        // A job's slots come after its creation.
        let first = first.as_secs().max(self.created_at.as_secs() + 1);
        let seconds = (first..=last.as_secs()).map(Timestamp::from_secs);
        seconds.filter(|at| self.rhythm.strikes(*at, self.version_at(*at))).collect()
    }

    /// A change reaches only what comes after it.
    fn version_at(&self, at: Timestamp) -> u64 {
        1 + self.updated_at.iter().filter(|updated| **updated < at).count() as u64
    }
}
