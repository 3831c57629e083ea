//! The fjall engine: a log-structured merge tree in Rust, one keyspace for each table.
//!
//! A keyspace per first byte keeps small tables that change all the time (where jobs stand, what is
//! alive) apart from large ones that only grow (the past), so that neither is merged for the other's
//! sake, and a compaction can be stopped in between.

mod inspect;
mod journal;
mod tables;

pub use tables::FjallTables;

use super::durable::DurableKv;

/// Keeps entries in a directory, by fjall.
pub type FjallKv = DurableKv<FjallTables>;
