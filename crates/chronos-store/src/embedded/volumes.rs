//! Volumes: the past is filed in parts that follow one another in time.
//!
//! An engine on disk merges what is new with whatever lies around it. Filed by job alone, each new
//! execution would lie between older ones, and all of the past would be written anew again and again:
//! the more is stored, the more a run would cost. In volumes whatever is new lies together, and older
//! volumes are left alone but for what is late or dropped.

use std::collections::BTreeMap;

use chronos_core::{ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};

/// Executions that fill a volume: more, and a merge writes more of it anew; fewer, and whoever reads
/// a job's past looks into more volumes.
pub(super) const SIZE: u64 = 1 << 20;

/// A volume of which the past has this many is full only at one part in as many of the past: of ten
/// times the past there are some hundreds of volumes more, and not ten times as many.
const MANY: u64 = 256;

/// A volume begins at most this many milliseconds before the slot that it is begun for. What ends a
/// little out of order shares it, and a clock that once ran ahead does not stretch it over all time until
/// then.
const LEEWAY: u64 = 60 * 60 * 1_000;

/// Names a volume: the first millisecond of the slots in it. It ends where the next one begins, so that
/// an execution's id tells its volume, and executions are in the order of their ids over all volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Volume(u64);

impl Volume {
    const FIRST: Self = Self(0);
    /// From the first that can be to the last.
    pub(super) const ALL: (Self, Self) = (Self::FIRST, Self(u64::MAX >> 16));

    /// The first instant of the slots in it.
    pub(super) fn start(self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.0).unwrap_or(i64::MAX))
    }

    /// The name in as many bytes as ids have for a slot.
    pub(super) fn to_bytes(self) -> [u8; 6] {
        let [_, _, name @ ..] = self.0.to_be_bytes();
        name
    }

    pub(super) fn from_bytes(name: [u8; 6]) -> Self {
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&name);
        Self(u64::from_be_bytes(bytes))
    }
}

/// What is kept in a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filling {
    /// How many executions; never fewer than there are.
    kept: u64,
    /// The last millisecond of a slot that was ever filed here.
    newest: u64,
}

/// Every volume that holds something.
#[derive(Debug)]
pub(super) struct Volumes {
    size: u64,
    kept: u64,
    fillings: BTreeMap<Volume, Filling>,
}

impl Volumes {
    pub(super) fn new(size: u64) -> Self {
        Self { size, kept: 0, fillings: BTreeMap::new() }
    }

    /// Takes on what is on record.
    pub(super) fn reload(&mut self, volumes: impl IntoIterator<Item = (Volume, Filling)>) {
        self.fillings = volumes.into_iter().collect();
        self.kept = self.fillings.values().map(|filling| filling.kept).sum();
    }

    /// What is kept in a volume, if anything is.
    pub(super) fn filling(&self, volume: Volume) -> Option<&Filling> {
        self.fillings.get(&volume)
    }

    /// The volume that an execution is in, if it is in any.
    pub(super) fn of(&self, id: ExecutionId) -> Volume {
        let nearest = self.fillings.range(..=Volume(slot(id))).next_back();
        nearest.map_or(Volume::FIRST, |(volume, _)| *volume)
    }

    /// The volumes from one to another.
    pub(super) fn between(
        &self,
        (first, last): (Volume, Volume),
    ) -> impl DoubleEndedIterator<Item = Volume> {
        let between = (first <= last).then(|| self.fillings.range(first..=last));
        between.into_iter().flatten().map(|(volume, _)| *volume)
    }

    /// Takes an execution in; says where it goes. A full volume is followed by a new one, which begins
    /// after everything that was filed in it: nothing that is filed ever changes its volume.
    pub(super) fn file(&mut self, id: ExecutionId) -> Volume {
        let slot = slot(id);
        let mut volume = self.of(id);
        let full = self.size.max(self.kept / MANY);
        if let Some(filling) = self.filling(volume)
            && filling.kept >= full
            && slot > filling.newest
        {
            volume = Volume((filling.newest + 1).max(slot.saturating_sub(LEEWAY)));
        }
        let filling = self.fillings.entry(volume).or_default();
        filling.kept += 1;
        filling.newest = filling.newest.max(slot);
        self.kept += 1;
        volume
    }

    /// Lets an execution go that was filed; says where it was. A volume that holds nothing more is no
    /// longer there: what would belong in it goes to the one before.
    pub(super) fn take_out(&mut self, id: ExecutionId) -> Volume {
        let volume = self.of(id);
        if let Some(filling) = self.fillings.get_mut(&volume) {
            filling.kept -= 1;
            self.kept -= 1;
            if filling.kept == 0 {
                self.fillings.remove(&volume);
            }
        }
        volume
    }
}

/// The millisecond of the slot of an execution.
fn slot(id: ExecutionId) -> u64 {
    let [head @ .., _, _, _, _, _, _, _, _] = *id.as_bytes();
    u64::from_be_bytes(head) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(slot: u64, tail: u8) -> ExecutionId {
        let mut bytes = [tail; 16];
        bytes[..6].copy_from_slice(&Volume(slot).to_bytes());
        ExecutionId::from_bytes(bytes)
    }

    proptest! {
        #[test]
        fn what_is_filed_is_found_where_it_was_filed_until_it_is_dropped(
            size in 1_u64..5,
            // Slots come in no order; each may be dropped again some time later.
            changes in proptest::collection::vec((0_u64..60, any::<bool>()), 1..200),
        ) {
            let mut volumes = Volumes::new(size);
            let mut filed: Vec<(ExecutionId, Volume)> = Vec::new();
            for ((number, drops), tail) in changes.into_iter().zip(0..) {
                let slot = number * LEEWAY / 4;
                if drops && !filed.is_empty() {
                    let index = usize::try_from(number).unwrap() % filed.len();
                    let (id, volume) = filed.swap_remove(index);
                    prop_assert_eq!(volumes.take_out(id), volume);
                } else {
                    let id = id(slot, tail);
                    filed.push((id, volumes.file(id)));
                }
                for (id, volume) in &filed {
                    prop_assert_eq!(volumes.of(*id), *volume);
                }
                let mut held: Vec<Volume> = filed.iter().map(|(_, volume)| *volume).collect();
                held.sort_unstable();
                held.dedup();
                prop_assert_eq!(volumes.between(Volume::ALL).collect::<Vec<_>>(), held);
                prop_assert_eq!(volumes.kept, filed.len() as u64);
            }
            let mut read = Volumes::new(size);
            read.reload(volumes.fillings.clone());
            prop_assert_eq!((read.kept, read.fillings), (volumes.kept, volumes.fillings));
        }
    }

    #[test]
    fn a_full_volume_is_followed_by_one_for_later_slots() {
        let mut volumes = Volumes::new(2);
        let filed = [10, 11, 12, 11, 13, 14, 12].map(|slot| volumes.file(id(slot, 0)).0);
        // A late one goes where its slot belongs, however full that is.
        assert_eq!(filed, [0, 0, 12, 0, 12, 14, 12]);
    }

    #[test]
    fn a_clock_that_ran_ahead_once_does_not_end_the_making_of_volumes() {
        let mut volumes = Volumes::new(2);
        let ahead = 9 * LEEWAY;
        for slot in [10, 11, ahead, ahead + 1, ahead + 2] {
            volumes.file(id(slot, 0));
        }
        let filed = [12, 13, 14, 15, 16, 17].map(|slot| volumes.file(id(slot, 0)).0);
        assert_eq!(filed, [12, 12, 14, 14, 16, 16]);
        assert_eq!(volumes.file(id(ahead + 3, 0)).0, ahead + 2);
    }

    #[test]
    fn a_thousand_times_the_past_is_in_some_thousands_of_volumes() {
        let mut volumes = Volumes::new(1);
        for slot in 0..1_000_000 {
            volumes.file(id(slot, 0));
        }
        let count = volumes.between(Volume::ALL).count();
        assert!((256..4_000).contains(&count), "{count}");
    }
}
