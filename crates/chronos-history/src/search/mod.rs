//! Search: what happened, found by its words.
//!
//! Executions that came to their end, decisions, messages and the table of contents are documents of an
//! [`Index`], in a directory beside the archive. An [`Indexer`] reads them from the store; how far it read is
//! part of every commit, so that whatever a crash leaves is taken up where it ends. Whoever deletes the
//! directory has it made again.

mod compile;
mod document;
mod error;
mod find;
mod gather;
mod index;
mod indexer;
mod query;
mod reading;
mod schema;
mod snippet;
mod tally;
mod view;

pub use document::{Kind, Record};
pub use error::SearchError;
pub use find::{Found, Hit, Request};
pub use index::{Cursors, Index};
pub use indexer::{IndexError, Indexer};
pub use query::{Field, MAX_CHARS, MAX_CLAUSES, Query, QueryError};
pub use snippet::{Fragment, Snippet};
pub use tally::{Grain, Part, Tally};
