//! The archive's directory: private, used by one process at a time, and marked with its format.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::ArchiveError;

/// The layout that this program writes and reads; a change to what is stored, or to what is counted, adds one.
/// The archive of an older one is made anew, because everything in it can be.
const FORMAT: u32 = 2;

const LOCK: &str = "lock";
const MARKER: &str = "history";
const DRAFT: &str = "history.new";
const ENGINE: &str = "engine";
/// The search index, which looks after itself.
const SEARCH: &str = "search";
const FIRST_LINE: &str = "chronos history, format ";

/// A directory that this process alone uses, until it is dropped.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Directory {
    /// Takes the directory; makes it if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let doing = |what, path: &Path| ArchiveError::io(what, path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(doing("create", path))?;
        let marker = path.join(MARKER);
        let found = match fs::read_to_string(&marker) {
            Ok(text) => Some(format_in(&text).ok_or_else(|| {
                ArchiveError::damaged(path, &"the file \"history\" is not what was written")
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(ArchiveError::damaged(path, &error));
            }
            Err(error) => return Err(doing("read", &marker)(error)),
        };
        if let Some(found) = found.filter(|found| *found > FORMAT) {
            return Err(ArchiveError::TooNew { path: path.into(), found, reads: FORMAT });
        }
        if found.is_none() {
            refuse_strangers(path)?;
        }
        let directory = Self { path: path.into(), _lock: lock(path)? };
        if found != Some(FORMAT) {
            directory.begin()?;
        }
        Ok(directory)
    }

    /// Takes the directory and empties it, whatever state and of whatever format the history in it is.
    pub(super) fn anew(path: &Path) -> Result<Self, ArchiveError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(ArchiveError::io("create", path))?;
        refuse_strangers(path)?;
        let directory = Self { path: path.into(), _lock: lock(path)? };
        directory.begin()?;
        Ok(directory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn engine(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    /// Starts anew. What an older program, or a start that was interrupted, left behind can be made again.
    pub(super) fn begin(&self) -> Result<(), ArchiveError> {
        let (engine, marker) = (self.engine(), self.path.join(MARKER));
        // Without its marker the directory is begun anew by whoever opens it next, if this is cut short.
        unless_absent(fs::remove_file(&marker)).map_err(ArchiveError::io("remove", &marker))?;
        let synced = File::open(&self.path).and_then(|directory| directory.sync_all());
        synced.map_err(ArchiveError::io("sync", &self.path))?;
        for made in [engine, self.path.join(SEARCH)] {
            unless_absent(fs::remove_dir_all(&made)).map_err(ArchiveError::io("remove", &made))?;
        }
        let draft = self.path.join(DRAFT);
        let write = || {
            let mut file = private().create(true).truncate(true).open(&draft)?;
            file.write_all(marker_text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &marker)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(ArchiveError::io("write", &marker))
    }
}

fn unless_absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn lock(path: &Path) -> Result<File, ArchiveError> {
    let lock = path.join(LOCK);
    let file = private().create(true).truncate(false).open(&lock);
    let file = file.map_err(ArchiveError::io("open", &lock))?;
    let locked = patiently(|| file.try_lock(), |error| matches!(error, TryLockError::WouldBlock));
    match locked {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ArchiveError::InUse { path: path.into() }),
        Err(TryLockError::Error(error)) => Err(ArchiveError::io("lock", &lock)(error)),
    }
}

/// Tries again for a quarter of a second while something is locked: whoever closed the archive just now may
/// still hold its locks.
pub(super) fn patiently<T, E>(
    mut act: impl FnMut() -> Result<T, E>,
    is_locked: impl Fn(&E) -> bool,
) -> Result<T, E> {
    for _ in 0..25 {
        match act() {
            Err(error) if is_locked(&error) => thread::sleep(Duration::from_millis(10)),
            answer => return answer,
        }
    }
    act()
}

/// A directory with other files in it is not ours to write to.
fn refuse_strangers(path: &Path) -> Result<(), ArchiveError> {
    let entries = fs::read_dir(path).map_err(ArchiveError::io("read", path))?;
    for entry in entries {
        let name = entry.map_err(ArchiveError::io("read", path))?.file_name();
        if ![LOCK, MARKER, DRAFT, ENGINE, SEARCH].iter().any(|ours| name == *ours) {
            let found = name.to_string_lossy().into_owned();
            return Err(ArchiveError::Stranger { path: path.into(), found });
        }
    }
    Ok(())
}

fn marker_text() -> String {
    format!("{FIRST_LINE}{FORMAT}\neverything here is made from the store, and can be made again\n")
}

/// The format that a marker tells, whoever wrote it.
fn format_in(text: &str) -> Option<u32> {
    let first = text.lines().next()?;
    first.strip_prefix(FIRST_LINE)?.parse().ok()
}
