//! What can be wrong with the archive.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the archive cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Another process uses it.
    #[error("the history in {} is in use by another process", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error(
        "the history in {} has format {found}, this program reads {reads}; \
         use the newer program, or delete the directory to have it made again",
        .path.display()
    )]
    TooNew {
        /// The directory.
        path: PathBuf,
        /// The format that was found.
        found: u32,
        /// The newest format that this program reads.
        reads: u32,
    },
    /// The directory holds something else.
    #[error("{} is not a history: it holds {found:?}; name an empty directory", .path.display())]
    Stranger {
        /// The directory.
        path: PathBuf,
        /// A file that is not the history's.
        found: String,
    },
    /// Something in it is not what was written.
    #[error(
        "the history in {} is damaged: {what}; delete the directory to have it made again",
        .path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It was left while something was being done.
    #[error("the history was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
    /// The system refuses.
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl ArchiveError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    pub(super) fn damaged(path: &Path, what: &dyn fmt::Display) -> Self {
        Self::Damaged { path: path.into(), what: what.to_string() }
    }

    pub(super) fn engine(path: &Path, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                Self::Damaged { path: path.into(), what: source.to_string() }
            }
            fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source)) => {
                Self::Io { doing: "use the history in", path: path.into(), source }
            }
            fjall::Error::Locked => Self::InUse { path: path.into() },
            error => Self::Damaged { path: path.into(), what: format!("{error:?}") },
        }
    }
}
