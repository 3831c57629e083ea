//! What can be wrong with the index, or with what it is asked.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use super::query::QueryError;

/// Why the index cannot be opened, searched or written.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query cannot be understood.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The cursor is of no page of this search.
    #[error("the cursor is not one that this search gave; leave it out to begin anew")]
    Cursor,
    /// Another process uses the index.
    #[error("the search index in {} is in use by another process", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The engine refuses.
    #[error(
        "the search index in {} cannot be used: {what}; delete the directory to have it made again",
        .path.display()
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the engine says.
        what: String,
    },
    /// The system refuses.
    #[error("cannot use the search index in {}: {source}", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
    /// It was left while something was being done.
    #[error("the search was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl SearchError {
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source: Arc::new(source) }
    }

    pub(super) fn engine(path: &Path) -> impl Fn(TantivyError) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            let path = path.clone();
            match error {
                TantivyError::LockFailure(LockError::LockBusy, _) => Self::InUse { path },
                TantivyError::IoError(source)
                | TantivyError::LockFailure(LockError::IoError(source), _)
                | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError {
                    io_error: source,
                    ..
                })
                | TantivyError::OpenReadError(OpenReadError::IoError {
                    io_error: source, ..
                })
                | TantivyError::OpenWriteError(OpenWriteError::IoError {
                    io_error: source, ..
                }) => Self::Io { path, source },
                error => Self::Unusable { path, what: error.to_string() },
            }
        }
    }
}
