//! Why a store could not be opened, said so that the operator knows what to do next.

use std::io;
use std::path::{Path, PathBuf};

use chronos_core::store;

use crate::kv;
use crate::url::Engine;

/// Why a store could not be opened, backed up or restored.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address of the store means nothing.
    #[error(
        "store address \"{given}\" {problem}; accepted are memory:, fjall:PATH and rocksdb:PATH"
    )]
    Address {
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// This program was built without the engine.
    #[error(
        "this program was built without the {0} engine; build it with the cargo feature \"{0}\", \
         or use another store address"
    )]
    NotBuilt(Engine),
    /// Another process uses the directory.
    #[error(
        "the store in {path} is in use by {holder}; stop it, or give this one a directory of its own",
        path = .path.display(),
        holder = .pid.map_or("another process".into(), |pid| format!("process {pid}"))
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that uses it, if it said so.
        pid: Option<u32>,
    },
    /// Others may write to the directory.
    #[error(
        "others may write to {path} (mode {mode:o}); run chmod go-w on it, or choose another directory",
        path = .path.display()
    )]
    WritableByOthers {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The directory cannot be written to.
    #[error(
        "{path} cannot be written to ({error}); give this user write permission, or choose another \
         directory",
        path = .path.display()
    )]
    ReadOnly {
        /// The directory, or a file in it.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is something else in the directory.
    #[error(
        "{path} is not empty and holds no store; choose an empty or a new directory",
        path = .0.display()
    )]
    NotAStore(PathBuf),
    /// A restored store needs a place of its own.
    #[error(
        "{path} exists already and is not empty; a backup is restored into a new directory only",
        path = .0.display()
    )]
    NotEmpty(PathBuf),
    /// Another engine wrote the directory.
    #[error(
        "the store in {path} was written by the {found} engine; open it as {found}:{path}",
        path = .path.display()
    )]
    OtherEngine {
        /// The directory.
        path: PathBuf,
        /// The engine that wrote it.
        found: Engine,
    },
    /// A newer or an older program wrote the directory.
    #[error(
        "the store in {path} has format {found}, this program reads format {known}; use the {age} \
         program that wrote it",
        path = .path.display(),
        age = if .found > .known { "newer" } else { "older" }
    )]
    OtherFormat {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that this program reads.
        known: u32,
    },
    /// Files are missing or hold what was never written.
    #[error(
        "the store in {path} is damaged: {what}; nothing was repaired: keep a copy of the directory \
         and restore a backup into a new one",
        path = .path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A backup is cut short or altered.
    #[error("the backup cannot be used: {0}")]
    BadBackup(String),
    /// The backup cannot be written where it should go.
    #[error("cannot write the backup: {0}")]
    BackupOutput(io::Error),
    /// The system refused.
    #[error("cannot {act} {path}: {error}", path = .path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The schema's name could be mistaken for something else.
    #[cfg(feature = "postgres")]
    #[error(
        "schema \"{given}\" is not accepted; use 1 to 40 lower-case letters, digits and underscores, no \
         digit first and not \"pg_\""
    )]
    Schema {
        /// The name that was given.
        given: String,
    },
    /// A setting cannot be meant.
    #[cfg(feature = "postgres")]
    #[error("{field} is not accepted: {problem}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// What is wrong with it, and what is accepted.
        problem: &'static str,
    },
    /// The address of the database means nothing. It is not shown, because it may hold a password.
    #[cfg(feature = "postgres")]
    #[error("the database address is not accepted: {0}; use postgres://USER@HOST:PORT/DATABASE")]
    Url(sqlx::Error),
    /// The database cannot be reached, or refuses.
    #[cfg(feature = "postgres")]
    #[error("the database cannot be used: {0}")]
    Database(sqlx::Error),
    /// A migration cannot be applied; the schema is as it was before it.
    #[cfg(feature = "postgres")]
    #[error("migration {number} cannot be applied: {error}; nothing of it was kept")]
    Migration {
        /// The migration.
        number: usize,
        /// What the database says.
        error: sqlx::Error,
    },
    /// A newer program migrated the schema.
    #[cfg(feature = "postgres")]
    #[error(
        "the schema \"{schema}\" is at version {found}, this program knows up to {known}; use the newer \
         program that migrated it"
    )]
    SchemaTooNew {
        /// The schema.
        schema: String,
        /// Its version.
        found: usize,
        /// The newest version that this program knows.
        known: usize,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] kv::Error),
    /// The records cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl OpenError {
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), what: what.into() }
    }

    /// Names what was tried; tells a place that cannot be written to from other trouble.
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path: path.into(), error }
            }
            _ => Self::Io { act, path: path.into(), error },
        }
    }
}
