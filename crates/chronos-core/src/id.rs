//! Identities: what a job, an execution, a policy, a user and a worker are called.

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use uuid::{Builder, Uuid};

use crate::Timestamp;
use crate::execution::Trigger;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// A UUIDv7 of this instant; `chance` is ten bytes from the caller's source of chance.
            #[must_use]
            pub fn new(at: Timestamp, chance: [u8; 10]) -> Self {
                Self(uuid_v7(at, chance))
            }

            /// The id whose sixteen bytes these are.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes of this id, which sort as the id does.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        /// As two numbers and not byte by byte: ids are what large maps compare.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.as_u128().cmp(&other.0.as_u128())
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

id! {
    /// Identifies a job for as long as it exists.
    JobId
}
id! {
    /// Identifies one attempt at one slot.
    ExecutionId
}
id! {
    /// Identifies a backfill.
    BackfillId
}
id! {
    /// Identifies a quiet-hours policy.
    PolicyId
}
id! {
    /// Identifies a subscription to message events.
    SubscriptionId
}
id! {
    /// Identifies a user for good.
    UserId
}
id! {
    /// Identifies a login that goes on.
    SessionId
}
id! {
    /// Identifies an API key.
    KeyId
}

impl JobId {
    /// The last bytes of the id. Its executions' ids end alike, and few others do.
    #[must_use]
    pub fn tag(&self) -> [u8; 4] {
        tag(self.as_bytes())
    }
}

fn tag(bytes: &[u8; 16]) -> [u8; 4] {
    let [.., a, b, c, d] = *bytes;
    [a, b, c, d]
}

impl ExecutionId {
    /// The tag of the job that it belongs to.
    #[must_use]
    pub fn tag(&self) -> [u8; 4] {
        tag(self.as_bytes())
    }

    /// The least and the greatest id that an execution of a slot can have.
    #[must_use]
    pub fn of_slot(slot: Timestamp) -> (Self, Self) {
        let millis = u64::try_from(slot.as_millis()).unwrap_or(0);
        let [_, _, head @ ..] = millis.to_be_bytes();
        let bound = |rest: u8| {
            let mut bytes = [rest; 16];
            bytes[..6].copy_from_slice(&head);
            Self::from_bytes(bytes)
        };
        (bound(0), bound(u8::MAX))
    }

    /// The id of one attempt at one slot: derived, so that whoever plans a slot names it alike. It
    /// ends as the job's id does, which leads from an execution to its job.
    #[must_use]
    pub fn of(job: JobId, slot: Timestamp, trigger: &Trigger, attempt: u32) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(job.as_bytes());
        hasher.write_i64(slot.as_micros());
        match trigger {
            // A slot fires once, on time or caught up, so both share one name.
            Trigger::Schedule | Trigger::CatchUp => hasher.write_u8(0),
            Trigger::Manual { number } => {
                hasher.write_u8(1);
                hasher.write_u64(*number);
            }
            // Of each kind there is one about each execution.
            Trigger::Notice(notice) => {
                hasher.write_u8(2);
                hasher.write(notice.kind.as_str().as_bytes());
                hasher.write(notice.about.execution.as_bytes());
            }
            // A slot is filled once, whichever backfill asks for it.
            Trigger::Backfill { again: false, .. } => hasher.write_u8(3),
            // Each backfill that is to do slots again does each of them once.
            Trigger::Backfill { number, again: true } => {
                hasher.write_u8(4);
                hasher.write_u64(*number);
            }
        }
        hasher.write_u32(attempt);
        let digest = hasher.finish128().as_bytes();
        let mut chance = [0; 10];
        chance.copy_from_slice(&digest[..10]);
        // The attempt comes first, so that the attempts at a slot sort in their order.
        let [.., high, low] = attempt.min(0xfff).to_be_bytes();
        chance[..2].copy_from_slice(&[high, low]);
        chance[6..].copy_from_slice(&job.tag());
        Self(uuid_v7(slot, chance))
    }
}

impl BackfillId {
    /// The id of a job's backfill of this number: derived, so that a run which knows the number leads to it. It
    /// ends as the job's id does, which leads from a backfill to its job.
    #[must_use]
    pub fn of(job: JobId, number: u64) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(b"backfill");
        hasher.write(job.as_bytes());
        hasher.write_u64(number);
        let digest = hasher.finish128().as_bytes();
        let mut chance = [0; 10];
        chance.copy_from_slice(&digest[..10]);
        chance[6..].copy_from_slice(&job.tag());
        let [head @ .., _, _, _, _, _, _, _, _] = *job.as_bytes();
        let millis = i64::try_from(u64::from_be_bytes(head) >> 16).unwrap_or(0);
        Self(uuid_v7(Timestamp::from_micros(millis.saturating_mul(1_000)), chance))
    }

    /// The tag of the job that it belongs to.
    #[must_use]
    pub fn tag(&self) -> [u8; 4] {
        tag(self.as_bytes())
    }
}

fn uuid_v7(at: Timestamp, chance: [u8; 10]) -> Uuid {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &chance).into_uuid()
}

/// Names a node's executing side; shared freely, never empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(Arc<str>);

impl WorkerId {
    /// A worker of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The worker's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_named_alike_by_everyone_and_differently_from_every_other() {
        let job = JobId::new(Timestamp::from_secs(1_000), [7; 10]);
        let slot = Timestamp::from_secs(2_000);
        let first = ExecutionId::of(job, slot, &Trigger::Schedule, 1);
        assert_eq!(first, ExecutionId::of(job, slot, &Trigger::CatchUp, 1));
        assert_ne!(first, ExecutionId::of(job, slot, &Trigger::Schedule, 2));
        assert_ne!(first, ExecutionId::of(job, slot, &Trigger::Manual { number: 1 }, 1));
        assert_ne!(first, ExecutionId::of(job, Timestamp::from_secs(2_001), &Trigger::Schedule, 1));
    }

    #[test]
    fn a_slot_is_filled_under_one_name_and_done_again_under_one_of_each_backfill() {
        let job = JobId::new(Timestamp::from_secs(1_000), [7; 10]);
        let slot = Timestamp::from_secs(2_000);
        let named =
            |number, again| ExecutionId::of(job, slot, &Trigger::Backfill { number, again }, 1);
        assert_eq!(named(1, false), named(2, false));
        assert_ne!(named(1, true), named(2, true));
        assert_ne!(named(1, false), named(1, true));
        assert_ne!(named(1, false), ExecutionId::of(job, slot, &Trigger::Schedule, 1));
        assert_ne!(BackfillId::of(job, 1), BackfillId::of(job, 2));
        assert_eq!(BackfillId::of(job, 1).tag(), job.tag());
    }

    #[test]
    fn an_execution_tells_the_tag_of_its_job() {
        let job = JobId::new(Timestamp::from_secs(1_000), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let execution = ExecutionId::of(job, Timestamp::from_secs(2_000), &Trigger::Schedule, 3);
        assert_eq!(execution.tag(), job.tag());
    }

    #[test]
    fn ids_of_later_slots_and_attempts_sort_later() {
        let job = JobId::new(Timestamp::EPOCH, [0; 10]);
        let early = ExecutionId::of(job, Timestamp::from_secs(10), &Trigger::Schedule, 9);
        let late = ExecutionId::of(job, Timestamp::from_secs(11), &Trigger::Schedule, 1);
        assert!(early < late);
        for attempt in 1..300 {
            let slot = Timestamp::from_secs(10);
            let one = ExecutionId::of(job, slot, &Trigger::Schedule, attempt);
            assert!(one < ExecutionId::of(job, slot, &Trigger::Schedule, attempt + 1));
        }
    }
}
