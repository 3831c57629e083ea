//! Engines on disk: what they share above their own files, and what they promise when writes fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use chronos_core::store::Compacted;
use tracing::{info, warn};

use super::mark::{Mark, Promise};
use super::{Batch, CompactionWatch, Error, Kv, Order, Visitor};
use crate::directory::DataDir;
use crate::error::OpenError;
use crate::open::Tuning;

/// Space that must be there before an engine that ran out of it is opened again: it writes out what was
/// in memory first, and if it cannot, not even reads go on.
const ROOM: usize = 32;
const MEBIBYTE: usize = 1 << 20;

const IN_DOUBT: &str = "what was written before the store was opened again may be lost";

/// What an engine gives back.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// The files of one engine, opened.
pub trait Tables: Send + Sync + Sized + 'static {
    /// Looks for damage that the engine itself would pass over, before it is opened. Gives the batch up
    /// to which journals may go by opening it.
    fn inspect(path: &Path, promise: Promise) -> Result<u64>;

    /// Opens the files, or makes them.
    fn open(path: &Path, tuning: Tuning) -> Result<Self>;

    /// How many batches there were.
    fn count(&self) -> Result<u64>;

    /// As [`Kv::get`].
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// As [`Kv::scan`].
    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()>;

    /// As [`Kv::scan_snapshot`].
    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()>;

    /// Applies a batch and notes, in the same step, that it is the `count`th.
    fn commit(&self, batch: &Batch, count: u64) -> Result<()>;

    /// As [`Kv::sync`].
    fn sync(&self) -> Result<()>;

    /// How much is in memory that is to be written out, as a share of what may be.
    fn filled(&self) -> f64;

    /// Begins to write out everything that is in memory, after which journals may go.
    fn write_out(&self) -> Result<()>;

    /// As [`Kv::compact`], of what was written out.
    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted>;

    /// As [`Kv::size`].
    fn size(&self) -> u64;

    /// As [`Kv::pressure`].
    fn pressure(&self) -> Option<String>;
}

/// What went wrong, as far as it matters to what happens next.
#[derive(Debug)]
pub enum Failure {
    /// The engine refuses writes since an earlier failure.
    Poisoned,
    /// There is no space.
    Full(String),
    /// Files do not hold what was written.
    Damaged(String),
    /// The system refused.
    Io(io::Error),
    /// The engine is too slow for what is asked of it.
    Behind,
    /// A key is longer than the engine can hold.
    LongKey(usize),
}

impl Failure {
    /// Whether the engine must be opened again before it writes.
    fn ends_writing(&self) -> bool {
        match self {
            Self::Poisoned | Self::Full(_) | Self::Io(_) => true,
            Self::Damaged(_) | Self::Behind | Self::LongKey(_) => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Poisoned => "the engine takes no writes since one failed".into(),
            Self::Full(text) => format!("there is no space left for the store: {text}"),
            Self::Damaged(text) => format!("the store's files are damaged: {text}"),
            Self::Io(error) => format!("the store's files cannot be used: {error}"),
            Self::Behind => "the disk cannot keep up with the writes".into(),
            Self::LongKey(length) => format!("a key of {length} bytes is longer than 65535"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{
            FileTooLarge, InvalidData, NotFound, QuotaExceeded, StorageFull, UnexpectedEof,
        };
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full(error.to_string()),
            UnexpectedEof | NotFound | InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

/// Keeps entries in a directory.
///
/// After a failed write no more of them are taken, while reads go on. The engine is opened again by the
/// first commit that finds space; that commit still fails, so that its caller reads anew what is there.
/// After a sync that failed for another reason than space nobody can say what the disk holds: then
/// only a new start helps.
pub struct DurableKv<T: Tables> {
    /// `None` when they could not be opened again after a failure.
    tables: RwLock<Option<T>>,
    writer: Mutex<Writer>,
    mark: Mark,
    tuning: Tuning,
    /// Last, because the lock must outlive the files.
    directory: DataDir,
}

#[derive(Default)]
struct Writer {
    /// Batches so far.
    count: u64,
    /// How often the files were opened again.
    generation: u32,
    /// Batches whose committers know whether they are durable.
    answered: u64,
    /// Whether a batch may be lost and its committer does not know.
    doubt: bool,
    /// Whether the files must be opened again before the next write.
    failed: bool,
    /// Why there can be no more writes before a new start.
    halted: Option<String>,
}

impl<T: Tables> DurableKv<T> {
    /// Opens the engine in its directory; refuses one that is damaged.
    pub fn open(mut directory: DataDir, tuning: Tuning) -> std::result::Result<Self, OpenError> {
        let mark = Mark::of(&directory)?;
        let (tables, count) = open_tables::<T>(&directory, tuning, &mark)?;
        directory.settle()?;
        let writer = Writer { count, answered: count, ..Writer::default() };
        let (tables, writer) = (RwLock::new(Some(tables)), Mutex::new(writer));
        Ok(Self { tables, writer, mark, tuning, directory })
    }

    fn tables(&self) -> RwLockReadGuard<'_, Option<T>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<V>(&self, read: impl FnOnce(&T) -> Result<V>) -> super::Result<V> {
        if self.tables().is_none() {
            self.reopen()?;
        }
        let tables = self.tables();
        let Some(tables) = tables.as_ref() else {
            return Err(Error("the store is closed since a write failed".into()));
        };
        read(tables).map_err(|failure| Error(failure.text()))
    }

    /// Opens the files for a reader who finds them closed: whoever writes reads first, so that waiting
    /// for the next write would be waiting for ever.
    fn reopen(&self) -> super::Result<()> {
        let mut writer = self.writer();
        if let Some(text) = &writer.halted {
            return Err(Error(text.clone()));
        }
        if self.tables().is_some() {
            return Ok(());
        }
        let error = self.resume(&mut writer);
        if self.tables().is_some() { Ok(()) } else { Err(error) }
    }

    /// Writes out what is in memory if it is this share of what may be there.
    fn make_room(&self, writer: &Writer, share: f64) {
        if let Some(tables) = self.tables().as_ref().filter(|tables| tables.filled() > share)
            && let Err(failure) = self.write_out(writer, tables)
        {
            // What is committed stays so; the next one tries again.
            warn!(error = %failure.text(), "Store could not write out what is in memory");
        }
    }

    /// Nothing is committed meanwhile, so that whatever leaves memory is below the floor.
    fn write_out(&self, writer: &Writer, tables: &T) -> Result<()> {
        self.mark.raise_floor(writer.count)?;
        tables.write_out()
    }

    /// Opens the files again after a write failed, if there is space by now. The caller's write fails
    /// all the same: what it was based on may not have survived.
    fn resume(&self, writer: &mut Writer) -> Error {
        if let Err(error) = probe(self.directory.path()) {
            return Error(Failure::from(error).text());
        }
        let Ok(mut tables) = self.tables.try_write() else {
            return Error(
                "the store is opened again as soon as a compaction or backup ends".into(),
            );
        };
        // The files can be opened once only.
        *tables = None;
        match open_tables::<T>(&self.directory, self.tuning, &self.mark) {
            Ok((reopened, count)) => {
                info!(batches = count, "Store opened again after a failed write");
                *tables = Some(reopened);
                let doubt = writer.doubt || writer.count > writer.answered;
                let generation = writer.generation.wrapping_add(1);
                *writer = Writer { count, generation, answered: count, doubt, ..Writer::default() };
                Error("the store was opened again after a failed write; try again".into())
            }
            Err(error) => {
                warn!(%error, "Store could not be opened again after a failed write");
                Error(error.to_string())
            }
        }
    }
}

impl<T: Tables> Kv for DurableKv<T> {
    fn get(&self, key: &[u8]) -> super::Result<Option<Vec<u8>>> {
        self.with(|tables| tables.get(key))
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> super::Result<()> {
        self.with(|tables| tables.scan(from, to, order, visit))
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> super::Result<()> {
        self.with(|tables| tables.scan_snapshot(visit))
    }

    fn commit(&self, batch: Batch) -> super::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer();
        if let Some(text) = &writer.halted {
            return Err(Error(text.clone()));
        }
        if writer.failed {
            return Err(self.resume(&mut writer));
        }
        let count = writer.count + 1;
        // Bound first: in the match itself the files would stay locked while they are opened again.
        let committed = self.tables().as_ref().map(|tables| tables.commit(&batch, count));
        match committed {
            Some(Ok(())) => {
                writer.count = count;
                self.make_room(&writer, 1.0);
                Ok(())
            }
            // A worker of the engine failed unseen.
            Some(Err(Failure::Poisoned)) | None => Err(self.resume(&mut writer)),
            Some(Err(failure)) => {
                writer.failed = failure.ends_writing();
                Err(Error(failure.text()))
            }
        }
    }

    fn sync(&self) -> super::Result<()> {
        let (count, generation) = {
            let mut writer = self.writer();
            if std::mem::take(&mut writer.doubt) {
                return Err(Error(IN_DOUBT.into()));
            }
            (writer.count, writer.generation)
        };
        let outcome = match self.tables().as_ref() {
            Some(tables) => tables.sync(),
            None => Err(Failure::Poisoned),
        };
        let mut writer = self.writer();
        if writer.generation != generation {
            writer.doubt = false;
            return Err(Error(IN_DOUBT.into()));
        }
        writer.answered = writer.answered.max(count);
        match outcome {
            Ok(()) => {
                self.mark.raise(count);
                Ok(())
            }
            Err(Failure::Io(error)) => {
                let text = format!("a sync failed ({error}); check the disk and start again");
                writer.halted = Some(text.clone());
                Err(Error(text))
            }
            Err(failure) => {
                writer.failed |= failure.ends_writing();
                let space = probe(self.directory.path()).map_err(Failure::from);
                Err(Error(space.err().unwrap_or(failure).text()))
            }
        }
    }

    // Writing out takes tens of milliseconds, for which whoever commits in a busy moment would wait.
    fn tidy(&self) {
        let writer = self.writer();
        if writer.halted.is_none() && !writer.failed {
            self.make_room(&writer, 0.5);
        }
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> super::Result<Compacted> {
        self.with(|tables| {
            self.write_out(&self.writer(), tables)?;
            tables.compact(watch)
        })
    }

    fn size(&self) -> u64 {
        self.tables().as_ref().map_or(0, Tables::size)
    }

    fn pressure(&self) -> Option<String> {
        self.tables().as_ref().and_then(Tables::pressure)
    }
}

impl<T: Tables> Drop for DurableKv<T> {
    fn drop(&mut self) {
        // Everything acknowledged is durable; what was only committed becomes so if it can.
        if let Err(error) = self.sync() {
            warn!(%error, "Store could not be synced when it was closed");
        }
    }
}

/// Opens the files unless they are damaged; says how many batches they hold.
fn open_tables<T: Tables>(
    directory: &DataDir,
    tuning: Tuning,
    mark: &Mark,
) -> std::result::Result<(T, u64), OpenError> {
    let path = directory.engine_path();
    // Engines assert what they expect of their files; a broken one is no reason to fall over.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        if !directory.is_new() {
            let floor = T::inspect(&path, mark.promise())?;
            mark.raise_floor(floor)?;
        }
        let tables = T::open(&path, tuning)?;
        let count = tables.count()?;
        Ok((tables, count))
    }));
    let (tables, count) = match opened {
        Ok(opened) => opened.map_err(|failure| refusal(directory, failure))?,
        Err(_) => {
            return Err(OpenError::damaged(directory.path(), "the engine cannot make sense of it"));
        }
    };
    if count < mark.promise().durable {
        return Err(mark.lost(directory, count));
    }
    Ok((tables, count))
}

fn refusal(directory: &DataDir, failure: Failure) -> OpenError {
    match failure {
        Failure::Damaged(what) => OpenError::damaged(directory.path(), what),
        Failure::Io(error) => OpenError::io("open", &directory.engine_path())(error),
        failure => OpenError::Engine(Error(failure.text())),
    }
}

/// Whether there is space to go on: writes some and gives it back.
fn probe(directory: &Path) -> io::Result<()> {
    let path = directory.join("probe");
    let wrote = File::create(&path).and_then(|mut file| {
        let bytes = vec![1; MEBIBYTE];
        (0..ROOM).try_for_each(|_| file.write_all(&bytes))
    });
    let removed = fs::remove_file(&path);
    wrote.and(removed)
}
