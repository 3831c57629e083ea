//! The index: documents in a directory of their own, and with them how far the journal was read.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use chronos_core::store::JournalPage;
use chronos_core::{JobId, Timestamp};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::OpenReadError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::query::{BooleanQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};

use super::document::{Document, Kind};
use super::error::SearchError;
use super::reading::of_entry;
use super::schema::{Fields, Tag, WORDS, analyzer};
use super::view::View;
use crate::archive::Cursor;
use crate::projector::anchor_of;

/// What is stored and how it is read; a change to either adds one. An older index is made anew.
const FORMAT: u32 = 1;
/// Memory for documents that are not on disk yet.
const MEMORY: usize = 64 << 20;
/// Segments of so many documents are not merged any further, so that no merge takes long.
const LARGEST_MERGED: usize = 1_000_000;
/// Deleted documents of a segment, of all its documents, from which it is written anew without them.
const MOST_DELETED: f32 = 0.3;

pub(super) type Result<T> = std::result::Result<T, SearchError>;

/// How far the store was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursors {
    /// In the journal.
    pub journal: Cursor,
    /// Among the message events.
    pub messages: u64,
}

/// The search index of a history; cheap to clone. Its verbs block on the disk.
#[derive(Clone)]
pub struct Index {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    path: PathBuf,
    index: tantivy::Index,
    pub(super) fields: Fields,
    reader: IndexReader,
    writing: Mutex<Writing>,
    view: RwLock<Arc<View>>,
}

struct Writing {
    /// None after a failure; whatever it held is read again.
    writer: Option<IndexWriter>,
    /// How far was read, with what is not committed yet.
    read: Cursors,
    committed: Cursors,
    /// Documents that are not committed yet.
    pending: u64,
    is_dirty: bool,
}

impl Index {
    /// Opens the index in a directory. One that is not there, that an older program wrote or that is damaged is
    /// made anew: everything in it can be read again.
    pub fn open(path: &Path) -> Result<Self> {
        match Self::opened(path) {
            Ok(Some(index)) => Ok(index),
            Ok(None) | Err(SearchError::Unusable { .. }) => Self::anew(path),
            Err(error) => Err(error),
        }
    }

    /// Empties the index in a directory, whatever state it is in, and opens it.
    pub fn anew(path: &Path) -> Result<Self> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(SearchError::io(path)(error));
            }
            _ => {}
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(SearchError::io(path))?;
        let (schema, fields) = Fields::build();
        let failed = SearchError::engine(path);
        let directory = MmapDirectory::open(path).map_err(|error| failed(error.into()))?;
        let index = tantivy::Index::open_or_create(directory, schema).map_err(failed)?;
        Self::over(path, index, fields, Cursors::default())
    }

    /// The index that is there, if it is one of ours.
    fn opened(path: &Path) -> Result<Option<Self>> {
        let failed = SearchError::engine(path);
        let (schema, fields) = Fields::build();
        if !path.join("meta.json").exists() {
            return Ok(None);
        }
        let directory = MmapDirectory::open(path).map_err(|error| failed(error.into()))?;
        let index = match tantivy::Index::open(directory) {
            // What is missing or written by another program is not to be had by trying again.
            Err(TantivyError::OpenReadError(
                OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_),
            )) => return Ok(None),
            index => index.map_err(&failed)?,
        };
        if index.schema() != schema {
            return Ok(None);
        }
        let metas = index.load_metas().map_err(&failed)?;
        let cursors = match metas.payload.as_deref() {
            None => Cursors::default(),
            Some(payload) => match Cursors::told_by(payload) {
                Some(cursors) => cursors,
                None => return Ok(None),
            },
        };
        Self::over(path, index, fields, cursors).map(Some)
    }

    fn over(
        path: &Path,
        index: tantivy::Index,
        fields: Fields,
        committed: Cursors,
    ) -> Result<Self> {
        let failed = SearchError::engine(path);
        index.tokenizers().register(WORDS, analyzer());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader: IndexReader = reader.try_into().map_err(&failed)?;
        let view = View::new(reader.searcher(), None).map_err(&failed)?;
        let writer = Some(writer(&index).map_err(&failed)?);
        let writing = Writing { writer, read: committed, committed, pending: 0, is_dirty: false };
        let inner = Inner {
            path: path.into(),
            index,
            fields,
            reader,
            writing: Mutex::new(writing),
            view: RwLock::new(Arc::new(view)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// How far the store was read, with what is not committed yet.
    #[must_use]
    pub fn cursors(&self) -> Cursors {
        let writing = self.writing();
        // Without its writer, whatever it was given is gone.
        if writing.writer.is_some() { writing.read } else { writing.committed }
    }

    /// How far the store was read as of the last commit.
    #[must_use]
    pub fn committed(&self) -> Cursors {
        self.writing().committed
    }

    /// Documents that can be found.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.view().searcher.num_docs()
    }

    /// Whether there is nothing to be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Documents that were added since the last commit.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.writing().pending
    }

    /// Adds documents that were read from one place of the store to another. They are found and durable from
    /// the next commit on; if it never comes they are read again. What does not follow what was read is not
    /// added: somebody else was quicker, or something before it was given up.
    pub(super) fn add(&self, documents: Vec<Document>, from: Cursors, to: Cursors) -> Result<()> {
        let fields = &self.inner.fields;
        self.write(|writing, writer| {
            if writing.read != from {
                return Ok(());
            }
            writing.is_dirty |= from != to || !documents.is_empty();
            writing.pending += documents.len() as u64;
            for document in documents {
                if let Some(key) = &document.key {
                    writer.delete_term(Term::from_field_text(fields.key, key));
                }
                writer.add_document(document.into_indexed(fields))?;
            }
            writing.read = to;
            Ok(())
        })
    }

    /// Makes what was added and forgotten durable, together with how far was read, and lets it be found.
    pub fn commit(&self) -> Result<()> {
        self.write(|writing, writer| {
            if !writing.is_dirty {
                return Ok(());
            }
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&writing.read.told());
            prepared.commit()?;
            writing.committed = writing.read;
            (writing.pending, writing.is_dirty) = (0, false);
            self.renew_view()
        })
    }

    /// Forgets what is of a kind and happened before a time, from the next commit on.
    pub fn forget_before(&self, kind: Kind, before: Timestamp) -> Result<()> {
        let fields = &self.inner.fields;
        let tagged = fields.tagged(Tag::Kind(kind.as_str()));
        let tagged = TermQuery::new(tagged, IndexRecordOption::Basic);
        let until = Term::from_field_i64(fields.at, before.as_micros());
        let earlier = RangeQuery::new(std::ops::Bound::Unbounded, std::ops::Bound::Excluded(until));
        let parts: Vec<(Occur, Box<dyn Query>)> =
            vec![(Occur::Must, Box::new(tagged)), (Occur::Must, Box::new(earlier))];
        self.write(|writing, writer| {
            writer.delete_query(Box::new(BooleanQuery::new(parts)))?;
            writing.is_dirty = true;
            Ok(())
        })
    }

    /// Forgets the documents under these keys, from the next commit on.
    pub(super) fn remove(&self, keys: &[String]) -> Result<()> {
        self.write(|writing, writer| {
            for key in keys {
                writer.delete_term(Term::from_field_text(self.inner.fields.key, key));
            }
            writing.is_dirty |= !keys.is_empty();
            Ok(())
        })
    }

    /// Adds a page of the journal that follows what was read. `name_of` says what jobs are called that the page
    /// does not tell of.
    pub fn read(
        &self,
        from: Cursors,
        page: &JournalPage,
        mut name_of: impl FnMut(JobId) -> Box<str>,
    ) -> Result<()> {
        let mut names: HashMap<JobId, Box<str>> =
            page.specs.iter().map(|spec| (spec.id, spec.name.clone())).collect();
        let mut documents = Vec::with_capacity(page.entries.len());
        for entry in &page.entries {
            let name: &str = match entry.event.job {
                Some(job) => names.entry(job).or_insert_with(|| name_of(job)),
                None => "",
            };
            documents.extend(of_entry(entry, name));
        }
        let anchor = page.entries.last().map_or(0, |entry| anchor_of(&entry.event));
        let journal = Cursor { sequence: page.cursor, anchor };
        self.add(documents, from, Cursors { journal, ..from })
    }

    /// Waits until no merge is under way, for whoever measures.
    pub fn settle(&self) -> Result<()> {
        let mut writing = self.writing();
        let failed = SearchError::engine(&self.inner.path);
        if let Some(writer) = writing.writer.take() {
            writer.wait_merging_threads().map_err(&failed)?;
        }
        self.renew_view().map_err(failed)
    }

    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.inner.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn renew_view(&self) -> tantivy::Result<()> {
        self.inner.reader.reload()?;
        let view = View::new(self.inner.reader.searcher(), Some(&self.view()))?;
        *self.inner.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        Ok(())
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        // Whoever panicked left a writer behind that is not used again unless it works.
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something. After a failure everything since the last commit is given up, to be read again.
    fn write(
        &self,
        act: impl FnOnce(&mut Writing, &mut IndexWriter) -> tantivy::Result<()>,
    ) -> Result<()> {
        let failed = SearchError::engine(&self.inner.path);
        let mut writing = self.writing();
        let mut writer = if let Some(writer) = writing.writer.take() {
            writer
        } else {
            writing.read = writing.committed;
            (writing.pending, writing.is_dirty) = (0, false);
            writer(&self.inner.index).map_err(&failed)?
        };
        // Until it is through, the writer is not in its place: so a panic gives it up as a failure does.
        act(&mut writing, &mut writer).map_err(failed)?;
        writing.writer = Some(writer);
        Ok(())
    }
}

impl Cursors {
    /// As it is kept with a commit.
    fn told(self) -> String {
        let Self { journal: Cursor { sequence, anchor }, messages } = self;
        format!("chronos search {FORMAT} {sequence} {anchor} {messages}")
    }

    /// What a commit says, if it is one of this format.
    fn told_by(payload: &str) -> Option<Self> {
        let rest = payload.strip_prefix("chronos search ")?;
        let numbers: Vec<u64> = rest.split(' ').map_while(|number| number.parse().ok()).collect();
        match numbers[..] {
            [format, sequence, anchor, messages] if format == u64::from(FORMAT) => {
                Some(Self { journal: Cursor { sequence, anchor }, messages })
            }
            _ => None,
        }
    }
}

fn writer(index: &tantivy::Index) -> tantivy::Result<IndexWriter> {
    // One thread, so that documents stay in the order in which they came about, and one core is left alone.
    let options = IndexWriterOptions::builder()
        .memory_budget_per_thread(MEMORY)
        .num_worker_threads(1)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    let mut policy = LogMergePolicy::default();
    policy.set_max_docs_before_merge(LARGEST_MERGED);
    policy.set_del_docs_ratio_before_merge(MOST_DELETED);
    writer.set_merge_policy(Box::new(policy));
    Ok(writer)
}
