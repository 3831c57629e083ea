//! Chance without dice: numbers that look random and depend on nothing but what they are for.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::{JobId, Timestamp};

/// A number spread evenly over `u64`, the same on every node and in every release.
pub(crate) fn of(purpose: &[u8], job: JobId, slot: Timestamp, salt: u32) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(purpose);
    hasher.write(job.as_bytes());
    hasher.write_i64(slot.as_micros());
    hasher.write_u32(salt);
    hasher.finish()
}
