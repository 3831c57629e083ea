//! The domain of Chronos, pure: every decision is a function of its arguments.
//!
//! Nothing here reads a clock, rolls dice, waits or touches a disk. Time comes in as a
//! [`Timestamp`], chance comes in as a hash of what it is for, and what should happen comes out as
//! a value that a store applies in one atomic step.

pub mod schedule;
mod time;

pub use time::Timestamp;
