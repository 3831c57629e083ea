//! Commands that ask a daemon, against the real one.

mod backup;
mod house;
mod identity;
mod jobs;
mod refusals;
mod runs;
