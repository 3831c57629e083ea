//! Commands that ask a daemon, against the real one.

mod house;
mod jobs;
mod refusals;
mod runs;
