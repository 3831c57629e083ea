//! The command `chronos`: a daemon that runs jobs on time, and what a schedule means, at a terminal or
//! in a script.

pub mod auth;
mod backfills;
pub mod cli;
mod clock;
pub mod config;
pub mod daemon;
mod dashboard;
mod defaults;
mod grpc;
pub mod history;
pub mod logs;
mod loops;
pub mod metrics;
mod notify;
mod places;
mod problem;
pub mod proto;
pub mod quotas;
mod reach;
pub mod rest;
mod seconds;
mod secrets;
pub mod text;
