//! Between the contract's types and the domain's: one module per noun, each way of it checked.

pub(super) mod execution;
pub(super) mod history;
pub(super) mod job;
mod notify;
pub(super) mod policy;
pub(super) mod schedule;
pub(super) mod search;
pub(super) mod spec;
pub(super) mod target;
pub(super) mod time;
