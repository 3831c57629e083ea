//! Reads the engine's journals before the engine does, because it drops what it cannot read.
//!
//! At its start the engine cuts a journal off at the first entry that makes no sense, whether that is a
//! torn tail or damage in the middle of batches that were acknowledged, and its checksums leave the
//! order of batches unprotected. So each journal is followed here first, batch by batch: every batch
//! of this store counts itself, the count has no gap, and the order only rises.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use tracing::warn;
use xxhash_rust::xxh3::Xxh3;

use super::tables::{COUNT, META_ID};
use crate::kv::durable::{Failure, Result};
use crate::kv::mark::Promise;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const END_MAGIC: &[u8] = b"FJL\x03";

/// Follows every journal of the engine in `root`. A tail that nobody was promised is cut off; anything
/// else that does not belong, and any promised batch that is missing, is damage, and nothing is touched.
/// Gives the last batch that is in any journal but the active one.
pub(super) fn follow(root: &Path, promise: Promise) -> Result<u64> {
    let mut journals = journals(root)?;
    let Some((_, active)) = journals.pop() else {
        return Err(Failure::Damaged("its journal is missing".into()));
    };
    let mut course = Course::default();
    for (_, sealed) in &journals {
        if let Some(end) = course.follow(sealed)? {
            return Err(damaged_at(sealed, end));
        }
    }
    let sealed = course.counts.map_or(0, |(_, last)| last);
    let tail = course.follow(&active)?;
    match course.counts {
        Some((first, _)) if first > promise.floor + 1 => {
            let text = format!("batches {} to {} are missing", promise.floor + 1, first - 1);
            return Err(Failure::Damaged(text));
        }
        Some((_, last)) if last < promise.durable => {
            return Err(damaged_at(&active, tail.unwrap_or_default()));
        }
        None if promise.durable > promise.floor => {
            return Err(damaged_at(&active, 0));
        }
        _ => {}
    }
    if let Some(end) = tail {
        warn!(journal = %active.display(), end, "Torn tail of the journal cut off");
        let file = OpenOptions::new().write(true).open(&active)?;
        file.set_len(end)?;
        file.sync_all()?;
    }
    Ok(sealed)
}

fn damaged_at(journal: &Path, end: u64) -> Failure {
    let name = journal.file_name().unwrap_or_default().display();
    Failure::Damaged(format!(
        "batches that were acknowledged are unreadable in {name} from byte {end}"
    ))
}

fn journals(root: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            journals.extend(number.map(|number| (number, path)));
        }
    }
    journals.sort();
    Ok(journals)
}

/// The batches met so far.
#[derive(Default)]
struct Course {
    /// The engine's number of the last one.
    order: Option<u64>,
    /// The store's numbers of the first and the last one.
    counts: Option<(u64, u64)>,
}

impl Course {
    /// Follows one journal; gives the end of its last whole batch if something else comes after.
    fn follow(&mut self, path: &Path) -> Result<Option<u64>> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut reader =
            Reader { inner: BufReader::with_capacity(1 << 16, file), position: 0, length };
        let mut end = 0;
        loop {
            match reader.batch() {
                Ok(batch) => self.meet(path, end, &batch)?,
                Err(Unreadable::Io(error)) => return Err(error.into()),
                Err(Unreadable::NoBatch) => break,
            }
            end = reader.position;
        }
        // Journals are made larger than they are filled; what was never filled is zero.
        Ok(if rest_is_zero(path, end)? { None } else { Some(end) })
    }

    fn meet(&mut self, path: &Path, end: u64, batch: &Batch) -> Result<()> {
        let rises = self.order.is_none_or(|order| order < batch.order);
        let count = batch.count.filter(|count| match self.counts {
            Some((_, last)) => last.checked_add(1) == Some(*count),
            None => true,
        });
        let (true, Some(count)) = (rises, count) else {
            return Err(damaged_at(path, end));
        };
        self.order = Some(batch.order);
        self.counts = Some((self.counts.map_or(count, |(first, _)| first), count));
        Ok(())
    }
}

fn rest_is_zero(path: &Path, from: u64) -> io::Result<bool> {
    let mut file = File::open(path)?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(true),
            read if chunk[..read].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// What matters of a batch: the engine's number for it, which orders it, and the store's own.
struct Batch {
    order: u64,
    count: Option<u64>,
}

type Parsed<T> = std::result::Result<T, Unreadable>;

/// Why no batch follows.
enum Unreadable {
    NoBatch,
    Io(io::Error),
}

struct Reader {
    inner: BufReader<File>,
    position: u64,
    length: u64,
}

impl Reader {
    fn batch(&mut self) -> Parsed<Batch> {
        self.expect(START)?;
        let items = u32::from_le_bytes(self.array()?);
        let order = u64::from_le_bytes(self.array()?);
        let mut hash = Xxh3::new();
        let mut count = None;
        for _ in 0..items {
            count = self.item(&mut hash)?.or(count);
        }
        self.expect(END)?;
        let sum = u64::from_le_bytes(self.array()?);
        let magic: [u8; 4] = self.array()?;
        if magic != END_MAGIC || sum != hash.digest() {
            return Err(Unreadable::NoBatch);
        }
        Ok(Batch { order, count })
    }

    /// Reads one change; gives the store's count if that is what changes.
    fn item(&mut self, hash: &mut Xxh3) -> Parsed<Option<u64>> {
        self.expect(ITEM)?;
        hash.update(&[ITEM]);
        // Kind, compression, keyspace, and the lengths of the key, the value and its stored form.
        let head: [u8; 20] = self.array()?;
        hash.update(&head);
        let keyspace = &head[2..10];
        let key_length = u64::from(u16::from_le_bytes([head[10], head[11]]));
        let stored_length = u32::from_le_bytes([head[16], head[17], head[18], head[19]]);
        let key = self.bytes(key_length)?;
        hash.update(&key);
        let value = self.bytes(u64::from(stored_length))?;
        hash.update(&value);
        let is_count = keyspace == META_ID.to_le_bytes() && key == COUNT;
        let count = value.as_slice().try_into().ok().map(u64::from_be_bytes);
        Ok(count.filter(|_| is_count))
    }

    fn expect(&mut self, tag: u8) -> Parsed<()> {
        let [found] = self.array()?;
        if found == tag { Ok(()) } else { Err(Unreadable::NoBatch) }
    }

    fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn bytes(&mut self, count: u64) -> Parsed<Vec<u8>> {
        // A damaged length must not become a huge allocation.
        if count > self.length - self.position {
            return Err(Unreadable::NoBatch);
        }
        let mut bytes = vec![0; usize::try_from(count).map_err(|_| Unreadable::NoBatch)?];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Parsed<()> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Unreadable::NoBatch,
            _ => Unreadable::Io(error),
        })?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
