//! The wall clock, read in this one place.

use std::time::{Duration, SystemTime};

use chronos_core::Timestamp;

/// What the wall clock shows.
#[expect(
    clippy::disallowed_methods,
    reason = "a command that is asked about now has no other source for it; all else takes the time as an argument"
)]
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp::EPOCH.after(since_1970.unwrap_or(Duration::ZERO))
}
