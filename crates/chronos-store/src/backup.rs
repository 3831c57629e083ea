//! Backups: a store as one stream of bytes, which any engine can take in again.
//!
//! | part | bytes |
//! |---|---|
//! | head | `chronos backup\n`, and the version of the stream (4) |
//! | each entry | length of the key (4), length of the value (4), key, value |
//! | end | four bytes of ones, the number of entries (8), CRC-32 of all before it (4) |
//!
//! Numbers are big-endian, and entries come in the order of their keys.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crc32fast::Hasher;

use crate::directory::sync_directory;
use crate::kv::{Batch, Kv};
use crate::open::engine;
use crate::{DataDir, EmbeddedStore, Engine, OpenError, Retention, StoreUrl, Tuning};

const MAGIC: &[u8] = b"chronos backup\n";
/// Raised with the format of the data directory too: a backup holds what the store files there.
const VERSION: u32 = 6;
const END: u32 = u32::MAX;

/// Entries are written and taken in in portions of about this many bytes.
const CHUNK: usize = 256 << 10;

/// What a backup holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// Entries, of which a job or an execution needs several.
    pub entries: u64,
    /// The length of the stream.
    pub bytes: u64,
}

impl EmbeddedStore {
    /// Writes everything as it is at one moment, while other verbs go on. Blocks: call it on a thread
    /// that may.
    pub fn backup(&self, out: &mut dyn Write) -> Result<BackupSummary, OpenError> {
        let mut stream = Output { out, hash: Hasher::new(), chunk: Vec::new(), bytes: 0 };
        let mut entries = 0;
        let mut outcome = stream.head();
        self.kv().scan_snapshot(&mut |key, value| {
            if outcome.is_ok() {
                outcome = stream.entry(key, value);
                entries += 1;
            }
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome.and_then(|()| stream.end(entries)).map_err(OpenError::BackupOutput)?;
        Ok(BackupSummary { entries, bytes: stream.bytes })
    }
}

struct Output<'a> {
    out: &'a mut dyn Write,
    hash: Hasher,
    chunk: Vec<u8>,
    bytes: u64,
}

impl Output<'_> {
    fn head(&mut self) -> io::Result<()> {
        self.put(MAGIC)?;
        self.put(&VERSION.to_be_bytes())
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.put(&length(key)?.to_be_bytes())?;
        self.put(&length(value)?.to_be_bytes())?;
        self.put(key)?;
        self.put(value)
    }

    fn end(&mut self, entries: u64) -> io::Result<()> {
        self.put(&END.to_be_bytes())?;
        self.put(&entries.to_be_bytes())?;
        self.pass_on()?;
        let sum = self.hash.clone().finalize();
        self.put(&sum.to_be_bytes())?;
        self.pass_on()?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK { self.pass_on() } else { Ok(()) }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.hash.update(&self.chunk);
        self.out.write_all(&self.chunk)?;
        self.bytes += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length != END);
    length.ok_or_else(|| io::Error::other("an entry is larger than 4 GiB"))
}

/// Takes a backup in as a new store at an address. The store appears there when all of it is known to be
/// good, and not at all otherwise. Blocks: call it on a thread that may.
pub fn restore(backup: &mut dyn Read, url: &StoreUrl) -> Result<BackupSummary, OpenError> {
    let StoreUrl::Directory(kind, path) = url else {
        let problem = "is memory, which would not outlast the restore";
        return Err(OpenError::Address { given: url.to_string(), problem });
    };
    refuse_content(path)?;
    let draft = Draft::new(path, *kind)?;
    let kv = engine(&StoreUrl::Directory(*kind, draft.path.clone()), Tuning::default())?;
    let summary = take_in(backup, kv.as_ref())?;
    kv.sync()?;
    // Entries that are as they were written may still be none that this program reads.
    drop(EmbeddedStore::over(Arc::clone(&kv), Retention::default())?);
    drop(kv);
    draft.publish(path)?;
    Ok(summary)
}

fn refuse_content(path: &Path) -> Result<(), OpenError> {
    match fs::read_dir(path) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(OpenError::NotEmpty(path.into())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(OpenError::NotEmpty(path.into()))
        }
        Err(error) => Err(OpenError::io("read", path)(error)),
    }
}

/// A directory beside the one that is to be, removed unless it takes its place.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn new(target: &Path, engine: Engine) -> Result<Self, OpenError> {
        let absolute = std::path::absolute(target).map_err(OpenError::io("find", target))?;
        let mut name = OsString::from(absolute.file_name().unwrap_or_default());
        name.push(".restoring");
        let path = absolute.with_file_name(name);
        if path.exists() {
            // Another restore that is under way holds its lock; one that was cut short does not.
            if let Err(error @ OpenError::InUse { .. }) = DataDir::open(&path, engine) {
                return Err(error);
            }
            fs::remove_dir_all(&path).map_err(OpenError::io("remove", &path))?;
        }
        Ok(Self { path })
    }

    fn publish(self, target: &Path) -> Result<(), OpenError> {
        // Renaming replaces an empty directory and refuses any other.
        let renamed = fs::rename(&self.path, target);
        let synced = renamed.and_then(|()| match self.path.parent() {
            Some(parent) => sync_directory(parent),
            None => Ok(()),
        });
        synced.map_err(OpenError::io("create", target))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.path.exists()
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "Unfinished restore could not be removed");
        }
    }
}

/// Reads the whole stream into an engine and checks its end.
fn take_in(backup: &mut dyn Read, kv: &dyn Kv) -> Result<BackupSummary, OpenError> {
    let mut stream = Input { inner: backup, hash: Hasher::new(), bytes: 0 };
    if stream.bytes(MAGIC.len() as u64)? != MAGIC {
        return Err(OpenError::BadBackup("it is no backup of a Chronos store".into()));
    }
    let version = u32::from_be_bytes(stream.array()?);
    if version != VERSION {
        let text = format!("it has version {version}, this program reads {VERSION}");
        return Err(OpenError::BadBackup(text));
    }
    let mut entries = 0;
    let (mut batch, mut held) = (Batch::default(), 0);
    loop {
        let key_length = u32::from_be_bytes(stream.array()?);
        if key_length == END {
            break;
        }
        let value_length = u32::from_be_bytes(stream.array()?);
        let key = stream.bytes(u64::from(key_length))?;
        let value = stream.bytes(u64::from(value_length))?;
        if key.is_empty() {
            return Err(altered());
        }
        entries += 1;
        held += key.len() + value.len();
        batch.put(key.as_slice(), value);
        if held >= CHUNK {
            kv.commit(std::mem::take(&mut batch))?;
            held = 0;
        }
    }
    let counted = u64::from_be_bytes(stream.array()?);
    let sum = stream.hash.clone().finalize();
    if counted != entries || u32::from_be_bytes(stream.array()?) != sum || stream.more()? {
        return Err(altered());
    }
    kv.commit(batch)?;
    Ok(BackupSummary { entries, bytes: stream.bytes })
}

fn altered() -> OpenError {
    OpenError::BadBackup("it is not what was written; use another one".into())
}

struct Input<'a> {
    inner: &'a mut dyn Read,
    hash: Hasher,
    bytes: u64,
}

impl Input<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], OpenError> {
        let bytes = self.bytes(N as u64)?;
        bytes.try_into().map_err(|_| altered())
    }

    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, OpenError> {
        let mut bytes = Vec::new();
        // Grows with what is there, so that an altered length is no huge allocation.
        let read = (&mut *self.inner).take(count).read_to_end(&mut bytes);
        let read =
            read.map_err(|error| OpenError::BadBackup(format!("it cannot be read: {error}")))?;
        if read as u64 != count {
            return Err(OpenError::BadBackup("it is cut short; use another one".into()));
        }
        self.hash.update(&bytes);
        self.bytes += count;
        Ok(bytes)
    }

    fn more(&mut self) -> Result<bool, OpenError> {
        let read = self.inner.read(&mut [0]);
        Ok(read.map_err(|error| OpenError::BadBackup(format!("it cannot be read: {error}")))? > 0)
    }
}
