//! Commands that ask a daemon, against the real one.

mod backup;
pub(crate) mod house;
mod identity;
mod jobs;
mod notices;
mod refusals;
mod runs;
mod secrets;
