//! The data directory: private, used by one process at a time, and marked with what wrote it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::OpenError;
use crate::url::Engine;

/// The layout of a data directory that this program writes and reads: of its files, and of what the
/// store files in the engine.
const FORMAT: u32 = 8;

const LOCK: &str = "lock";
const MARKER: &str = "store";
const MARKER_DRAFT: &str = "store.new";
const MARK: &str = "durable";
const ENGINE: &str = "engine";

/// A directory that this process alone uses, until it is dropped.
///
/// | file | what |
/// |---|---|
/// | `lock` | locked while a process uses the directory; says which |
/// | `store` | the marker: format, engine, and whether the store was ever opened |
/// | `durable` | how many batches are known to be durable |
/// | `engine/` | the engine's own files |
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    engine: Engine,
    is_new: bool,
    /// Held for its lock.
    _lock: File,
}

impl DataDir {
    /// Takes the directory for an engine; makes it if it is not there.
    pub fn open(path: &Path, engine: Engine) -> Result<Self, OpenError> {
        make_private(path)?;
        if !path.join(MARKER).exists() {
            refuse_strangers(path)?;
        }
        let lock = lock(path)?;
        let marker = read_marker(path)?;
        if let Some(found) = marker.as_ref().map(|marker| marker.engine).filter(|it| *it != engine)
        {
            return Err(OpenError::OtherEngine { path: path.into(), found });
        }
        let is_new = marker.is_none_or(|marker| !marker.ready);
        let directory = Self { path: path.into(), engine, is_new, _lock: lock };
        if is_new {
            directory.begin()?;
        }
        Ok(directory)
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether no store was ever opened here.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Where the engine keeps its files.
    pub(crate) fn engine_path(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    /// Where the count of durable batches is kept.
    pub(crate) fn mark_path(&self) -> PathBuf {
        self.path.join(MARK)
    }

    /// Says that the engine's files are complete: from now on a missing one is damage.
    #[cfg(any(feature = "fjall", feature = "rocksdb"))]
    pub(crate) fn settle(&mut self) -> Result<(), OpenError> {
        if self.is_new {
            self.write_marker(true)?;
            self.is_new = false;
        }
        Ok(())
    }

    /// Starts anew. Until [`settle`](Self::settle) nothing was promised to anyone, so that what an
    /// interrupted start left behind may go.
    fn begin(&self) -> Result<(), OpenError> {
        self.write_marker(false)?;
        let engine = self.engine_path();
        match fs::remove_dir_all(&engine) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(OpenError::io("remove", &engine)(error));
            }
            _ => {}
        }
        let mark = self.mark_path();
        if mark.exists() {
            fs::remove_file(&mark).map_err(OpenError::io("remove", &mark))?;
        }
        let made = DirBuilder::new().mode(0o700).create(&engine);
        made.map_err(OpenError::io("create", &engine))
    }

    fn write_marker(&self, ready: bool) -> Result<(), OpenError> {
        let draft = self.path.join(MARKER_DRAFT);
        let written = write_synced(&draft, &Marker { engine: self.engine, ready }.encode());
        written.map_err(OpenError::io("write", &draft))?;
        let marker = self.path.join(MARKER);
        let renamed = fs::rename(&draft, &marker).and_then(|()| sync_directory(&self.path));
        renamed.map_err(OpenError::io("write", &marker))
    }
}

/// Makes the directory's entries survive a power cut.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn make_private(path: &Path) -> Result<(), OpenError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    let found = created.and_then(|()| fs::metadata(path));
    let mode = found.map_err(OpenError::io("create", path))?.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(OpenError::WritableByOthers { path: path.into(), mode });
    }
    Ok(())
}

/// A directory without a marker may hold nothing but what an interrupted start left.
fn refuse_strangers(path: &Path) -> Result<(), OpenError> {
    for entry in fs::read_dir(path).map_err(OpenError::io("read", path))? {
        let name = entry.map_err(OpenError::io("read", path))?.file_name();
        if name != LOCK && name != MARKER_DRAFT {
            return Err(OpenError::NotAStore(path.into()));
        }
    }
    Ok(())
}

fn lock(directory: &Path) -> Result<File, OpenError> {
    let path = directory.join(LOCK);
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(OpenError::io("open", &path))?;
    match patiently(|| file.try_lock(), |error| matches!(error, TryLockError::WouldBlock)) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::InUse { path: directory.into(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(OpenError::io("lock", &path)(error)),
    }
    let said = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    said.map_err(OpenError::io("write", &path))?;
    Ok(file)
}

/// Tries again for a quarter of a second while something is locked: a process that is about to end
/// still holds its locks, and one that is just being started holds copies of this one's.
pub(crate) fn patiently<T, E>(
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

/// What the marker file says.
#[derive(Debug)]
struct Marker {
    engine: Engine,
    ready: bool,
}

impl Marker {
    fn encode(&self) -> String {
        let state = if self.ready { "ready" } else { "new" };
        let text =
            format!("chronos store\nformat {FORMAT}\nengine {}\nstate {state}\n", self.engine);
        format!("{text}check {:08x}\n", crc32fast::hash(text.as_bytes()))
    }
}

fn read_marker(directory: &Path) -> Result<Option<Marker>, OpenError> {
    let path = directory.join(MARKER);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::io("read", &path)(error)),
    };
    let damaged = || OpenError::damaged(directory, "its marker file \"store\" cannot be read");
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let (body, check) = text.rsplit_once("check ").ok_or_else(damaged)?;
    if check.trim_end() != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
        return Err(damaged());
    }
    let mut lines = body.lines();
    if lines.next() != Some("chronos store") {
        return Err(damaged());
    }
    let mut value = |name| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let found: u32 = value("format").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    if found != FORMAT {
        return Err(OpenError::OtherFormat { path: directory.into(), found, known: FORMAT });
    }
    let engine = value("engine").and_then(Engine::named).ok_or_else(damaged)?;
    let ready = match value("state") {
        Some("ready") => true,
        Some("new") => false,
        _ => return Err(damaged()),
    };
    Ok(Some(Marker { engine, ready }))
}
