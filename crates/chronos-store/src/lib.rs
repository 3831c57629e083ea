//! Stores for Chronos: where jobs, executions and decisions are kept.
//!
//! [`EmbeddedStore`] keeps them in one ordered key-value engine inside the process. Its logic is
//! written once over the small seam of [`kv::Kv`]; the engine behind the seam is a choice.
//! `PostgresStore`, behind the cargo feature `postgres`, keeps them in a database that the nodes of a
//! cluster share.

mod audit;
mod backup;
mod directory;
pub mod embedded;
mod error;
pub mod kv;
mod open;
#[cfg(feature = "postgres")]
pub mod postgres;
mod url;

pub use backup::{BackupSummary, restore};
pub use directory::DataDir;
pub use embedded::{EmbeddedStore, Retention};
pub use error::OpenError;
pub use open::{Tuning, open};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresConfig, PostgresStore, SCHEMA_VERSION, migrate};
pub use url::{Engine, StoreUrl};
