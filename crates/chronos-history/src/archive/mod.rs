//! The archive: facts, nodes and how far the journal was read, in a directory of their own.
//!
//! Everything in it is made from the store, and whoever deletes the directory has it made again. All of it is
//! in one keyspace of the engine, so that whatever a crash leaves is the archive as it was after one of its
//! batches, and each batch holds what was read together with how far.

mod directory;
mod error;
mod fresh;
mod key;
mod project;
mod prune;
mod read;
mod record;
mod roll;

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use directory::{Directory, patiently};
pub use error::ArchiveError;
pub(crate) use fresh::Fresh;
use key::Key;
pub use key::Shelf;
pub use project::Cursor;
pub(crate) use roll::Gathered;

const KEYSPACE: &str = "history";
const CACHE: u64 = 16 << 20;
const JOURNAL: u64 = 64 << 20;
/// The engine's first worker takes a whole core while it waits for others, so there are more than are busy.
const WORKERS: usize = 4;

/// What is said of files that the engine stumbles over.
const UNREADABLE: &str = "the engine cannot make sense of its files";

/// What a verb of the archive gives back.
pub(crate) type Result<T> = std::result::Result<T, ArchiveError>;

/// The history's own directory; cheap to clone. Its verbs block on the disk.
#[derive(Clone)]
pub struct Archive {
    inner: Arc<Inner>,
}

struct Inner {
    keyspace: Keyspace,
    db: Database,
    /// Held from reading what is changed to writing it.
    writing: Mutex<()>,
    /// Held while a level is rolled up: of two at once the slower would write what is old.
    rolling: tokio::sync::Mutex<()>,
    /// After the engine: it is let go of once the engine is closed.
    directory: Directory,
}

impl Archive {
    /// Opens the archive in a directory; makes an empty one if there is none.
    pub fn open(path: &Path) -> Result<Self> {
        Self::over(Directory::open(path)?)
    }

    /// Empties the archive in a directory, whatever state it is in, and opens it.
    pub fn anew(path: &Path) -> Result<Self> {
        Self::over(Directory::anew(path)?)
    }

    fn over(directory: Directory) -> Result<Self> {
        let path = directory.path().to_owned();
        let path = path.as_path();
        let failed = |error| ArchiveError::engine(path, error);
        let open = || {
            Database::builder(directory.engine())
                .cache_size(CACHE)
                .max_journaling_size(JOURNAL)
                .worker_threads(WORKERS)
                .open()
        };
        // The engine trusts its own files more than a disk deserves, and panics at some damage.
        let opened = panic::catch_unwind(AssertUnwindSafe(|| {
            patiently(open, |error| matches!(error, fjall::Error::Locked))
        }));
        let db = opened.unwrap_or_else(|_| {
            Err(fjall::Error::Io(io::Error::new(io::ErrorKind::InvalidData, UNREADABLE)))
        });
        let db = db.map_err(failed)?;
        let keyspace = db.keyspace(KEYSPACE, KeyspaceCreateOptions::default).map_err(failed)?;
        let (writing, rolling) = (Mutex::default(), tokio::sync::Mutex::default());
        let archive = Self { inner: Arc::new(Inner { keyspace, db, writing, rolling, directory }) };
        // Damage there is worth knowing before anything is added.
        archive.cursor()?;
        Ok(archive)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.directory.path()
    }

    /// Bytes on disk, as far as the engine knows.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.inner.keyspace.disk_space()
    }

    /// Held while a level is rolled up.
    pub(crate) async fn rolling(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.inner.rolling.lock().await
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        // Nothing is changed but by batches, so whoever panicked left nothing half done.
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get<T: DeserializeOwned>(&self, key: Key<'_>) -> Result<Option<T>> {
        let key = key.encode();
        let value = self.inner.keyspace.get(&key).map_err(|error| self.failed(error))?;
        value.map(|value| self.decode(&key, &value)).transpose()
    }

    fn decode<T: DeserializeOwned>(&self, key: &[u8], value: &[u8]) -> Result<T> {
        record::decode(key, value).map_err(|what| self.damaged(what))
    }

    fn failed(&self, error: fjall::Error) -> ArchiveError {
        ArchiveError::engine(self.path(), error)
    }

    fn damaged(&self, what: String) -> ArchiveError {
        ArchiveError::Damaged { path: self.path().into(), what }
    }

    fn batch(&self) -> Batch<'_> {
        let writes = self.inner.db.batch().durability(None);
        Batch { archive: self, writes }
    }
}

/// Changes that are made together or not at all.
struct Batch<'a> {
    archive: &'a Archive,
    writes: fjall::OwnedWriteBatch,
}

impl Batch<'_> {
    fn put<T: Serialize>(&mut self, key: Key<'_>, value: &T) -> Result<()> {
        let key = key.encode();
        let value = record::encode(&key, value).map_err(|what| self.archive.damaged(what))?;
        self.writes.insert(&self.archive.inner.keyspace, key, value);
        Ok(())
    }

    fn delete(&mut self, key: Key<'_>) {
        self.writes.remove(&self.archive.inner.keyspace, key.encode());
    }

    fn len(&self) -> usize {
        self.writes.len()
    }

    /// Makes the changes; they are durable with the next [`Self::commit_durably`] at the latest.
    fn commit(self) -> Result<()> {
        self.writes.commit().map_err(|error| self.archive.failed(error))
    }

    /// Makes the changes, durably.
    fn commit_durably(self) -> Result<()> {
        let writes = self.writes.durability(Some(PersistMode::SyncAll));
        writes.commit().map_err(|error| self.archive.failed(error))
    }
}
