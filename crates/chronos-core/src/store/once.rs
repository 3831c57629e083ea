//! Requests that may come twice and must be done once.

use std::hash::Hasher;
use std::time::Duration;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A request by which its sender knows it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Tells it from all others: derived from whose it is and the key that the sender gave it.
    pub id: [u8; 16],
    /// What it asks for, in short: another digest under the same id is another request.
    pub digest: [u8; 16],
}

impl Request {
    /// How long a request is known again.
    pub const KEPT: Duration = Duration::from_hours(24);

    /// The request of this owner under this key that says this.
    #[must_use]
    pub fn new(owner: &str, key: &str, parts: &[&[u8]]) -> Self {
        let id = digest(&[owner.as_bytes(), key.as_bytes()]);
        Self { id, digest: digest(parts) }
    }
}

/// What a request led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<T> {
    /// What it made.
    pub made: T,
    /// Whether it was made by the same request, which came before.
    pub again: bool,
}

fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = SipHasher13::new();
    for part in parts {
        // The length goes first, so that no part can reach into the next.
        hasher.write_u64(part.len() as u64);
        hasher.write(part);
    }
    hasher.finish128().as_bytes()
}
