//! The command `chronos`: a daemon that runs jobs on time, and what a schedule means, at a terminal or
//! in a script.

pub mod cli;
mod clock;
pub mod daemon;
mod grpc;
mod metrics;
pub mod proto;
