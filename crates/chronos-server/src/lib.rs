//! The command `chronos`: what a schedule means and when it runs next, at a terminal or in a script.

pub mod cli;
mod clock;
pub mod config;
pub mod logs;
pub mod metrics;
pub mod proto;
pub mod text;
