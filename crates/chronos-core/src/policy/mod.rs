//! The rules a job carries beside its schedule: what to do when runs overlap, are missed, fail,
//! fall into quiet hours, or should not all begin at once.

pub mod catch_up;
pub mod jitter;
pub mod overlap;
pub mod priority;
pub mod quiet_hours;
pub mod rank;
pub mod retry;

pub use catch_up::CatchUpPolicy;
pub use overlap::OverlapPolicy;
pub use priority::Priority;
pub use quiet_hours::QuietHours;
pub use rank::Rank;
