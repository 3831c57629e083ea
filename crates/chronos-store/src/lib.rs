//! Stores for Chronos: where jobs, executions and decisions are kept.
//!
//! [`EmbeddedStore`] keeps them in one ordered key-value engine inside the process. Its logic is
//! written once over the small seam of [`kv::Kv`]; the engine behind the seam is a choice.

pub mod embedded;
pub mod kv;

pub use embedded::{EmbeddedStore, Retention};
