//! The indexer: reads the journal, the messages and the table of contents into the index.

use std::collections::HashMap;
use std::sync::Arc;

use chronos_core::store::{self, EventFilter, EventPage, JournalPage};
use chronos_core::{JobId, Store};

use super::document::Document;
use super::error::SearchError;
use super::index::{Cursors, Index};
use super::reading::{of_entry, of_message, of_node};
use crate::archive::{Archive, ArchiveError, Cursor, Fresh};
use crate::projector::{Projected, anchor_of, is_of};

/// Entries that are read together.
const PAGE: usize = 1_024;
/// Documents after which they are committed, so that a long way is not gone twice.
const COMMITTED_AFTER: u64 = 200_000;
/// The index's directory in the history's.
const DIRECTORY: &str = "search";

/// Reads what a store and its archive have to say into the index beside the archive.
#[derive(Clone)]
pub struct Indexer {
    store: Arc<dyn Store>,
    archive: Archive,
    index: Index,
    /// Held from reading to adding: of two at once, one would read in vain.
    reading: Arc<tokio::sync::Mutex<()>>,
}

/// Why the index could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index is at fault.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The archive is at fault.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store is at fault.
    #[error("the journal cannot be read: {0}")]
    Store(#[from] store::Error),
}

impl Indexer {
    /// Opens the index beside an archive. One that was made from another journal than the store's, or from this
    /// one before it was put back to an earlier state, is emptied and made again.
    pub async fn open(store: Arc<dyn Store>, archive: Archive) -> Result<Self, IndexError> {
        let path = archive.path().join(DIRECTORY);
        let index = blocking(move || Index::open(&path).map_err(IndexError::from)).await?;
        if !is_of(index.committed().journal, store.as_ref()).await? {
            drop(index);
            return Self::anew(store, archive).await;
        }
        Self::over(store, archive, index).await
    }

    /// Empties the index beside an archive, whatever state it is in, to have it made again.
    pub async fn anew(store: Arc<dyn Store>, archive: Archive) -> Result<Self, IndexError> {
        let path = archive.path().join(DIRECTORY);
        let index = blocking(move || Index::anew(&path).map_err(IndexError::from)).await?;
        Self::over(store, archive, index).await
    }

    async fn over(
        store: Arc<dyn Store>,
        archive: Archive,
        index: Index,
    ) -> Result<Self, IndexError> {
        if index.committed() == Cursors::default() {
            // It has none of the nodes that are there.
            let archive = archive.clone();
            blocking(move || archive.refresh().map_err(IndexError::from)).await?;
        }
        Ok(Self { store, archive, index, reading: Arc::default() })
    }

    /// The index that it reads into.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Reads a stretch of the journal, or of the messages once the journal is through. What was read is found
    /// and durable from the next commit on.
    pub async fn tick(&self) -> Result<Projected, IndexError> {
        let _reading = self.reading.lock().await;
        let from = self.index.cursors();
        let page = self.store.journal(from.journal.sequence, PAGE).await?;
        if page.cursor > from.journal.sequence {
            let read = page.entries.len() as u64;
            let this = self.clone();
            blocking(move || this.add_journal(from, &page)).await?;
            return Ok(Projected { read, more: true });
        }
        let page = self.store.message_events(&EventFilter::default(), from.messages, PAGE).await?;
        let read = page.events.len() as u64;
        let more = page.more;
        if page.cursor > from.messages {
            let this = self.clone();
            blocking(move || this.add_messages(from, &page)).await?;
        }
        Ok(Projected { read, more })
    }

    /// Reads to the end of what there is and commits it; between two stretches it asks whether to stop, and
    /// commits what it has if so.
    pub async fn catch_up(&self, should_stop: impl Fn() -> bool) -> Result<Projected, IndexError> {
        let mut all = Projected { read: 0, more: true };
        while all.more && !should_stop() {
            let Projected { read, more } = self.tick().await?;
            all = Projected { read: all.read + read, more };
            if self.index.pending() >= COMMITTED_AFTER {
                self.commit().await?;
            }
        }
        self.commit().await?;
        while !should_stop() {
            let this = self.clone();
            if !blocking(move || this.add_nodes()).await? {
                break;
            }
        }
        Ok(all)
    }

    /// Makes what was read durable, together with how far was read, and lets it be found.
    pub async fn commit(&self) -> Result<(), IndexError> {
        let index = self.index.clone();
        blocking(move || index.commit().map_err(IndexError::from)).await
    }

    fn add_journal(&self, from: Cursors, page: &JournalPage) -> Result<(), IndexError> {
        let mut names: HashMap<JobId, Box<str>> =
            page.specs.iter().map(|spec| (spec.id, spec.name.clone())).collect();
        let mut documents = Vec::with_capacity(page.entries.len());
        for entry in &page.entries {
            let name = match entry.event.job {
                None => "",
                Some(job) => match names.entry(job) {
                    std::collections::hash_map::Entry::Occupied(known) => &**known.into_mut(),
                    // The job is no longer there; the archive may remember it.
                    std::collections::hash_map::Entry::Vacant(unknown) => {
                        let card = self.archive.card(job)?;
                        let name = card.map(|card| card.name).unwrap_or_default();
                        &**unknown.insert(name)
                    }
                },
            };
            documents.extend(of_entry(entry, name));
        }
        let anchor = page.entries.last().map_or(0, |entry| anchor_of(&entry.event));
        let to = Cursors { journal: Cursor { sequence: page.cursor, anchor }, ..from };
        Ok(self.index.add(documents, from, to)?)
    }

    fn add_messages(&self, from: Cursors, page: &EventPage) -> Result<(), IndexError> {
        let documents = page.events.iter().map(of_message).collect();
        Ok(self.index.add(documents, from, Cursors { messages: page.cursor, ..from })?)
    }

    /// Adds some of the nodes that are new, durably; whether there were any.
    fn add_nodes(&self) -> Result<bool, IndexError> {
        let fresh = self.archive.fresh(PAGE)?;
        let document = |Fresh { owner, node, .. }: &Fresh| {
            let node = node.as_ref()?;
            Some(of_node(owner.as_deref().unwrap_or_default(), node))
        };
        let documents: Vec<Document> = fresh.iter().filter_map(document).collect();
        let here = self.index.cursors();
        self.index.add(documents, here, here)?;
        self.index.commit()?;
        // Only now: whoever is interrupted before this adds them again, in their own place.
        self.archive.not_fresh(&fresh)?;
        Ok(!fresh.is_empty())
    }
}

/// The index blocks on the disk, which no asynchronous thread may.
async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(acted) => acted,
        Err(error) => Err(SearchError::from(error).into()),
    }
}
