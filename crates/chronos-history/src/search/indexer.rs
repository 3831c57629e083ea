//! The indexer: reads the journal, the messages and the table of contents into the index.

use std::sync::{Arc, Mutex, PoisonError};

use chronos_core::store::{self, EventFilter, EventPage, JournalPage, midnight};
use chronos_core::{Store, Timestamp};

use super::document::Kind;
use super::error::SearchError;
use super::index::{Cursors, Index};
use super::reading::{key_of, of_message, of_node};
use crate::archive::{Archive, ArchiveError, Fresh};
use crate::jobs::KeepRecords;
use crate::projector::{Projected, is_of};

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
    /// What was forgotten last.
    forgotten: Arc<Mutex<Vec<(Kind, Timestamp)>>>,
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
        Ok(Self { store, archive, index, reading: Arc::default(), forgotten: Arc::default() })
    }

    /// The index that it reads into.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The archive that it is beside.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
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
            // What is read on meanwhile would keep nodes from being added in their place.
            let _reading = self.reading.lock().await;
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

    /// Forgets what the store is not to keep any longer, once a day.
    pub async fn forget(&self, keep: KeepRecords, now: Timestamp) -> Result<(), IndexError> {
        let kept = [
            (Kind::Execution, keep.executions),
            (Kind::Audit, keep.audit),
            (Kind::Message, keep.messages),
        ];
        let kept = kept.into_iter().filter_map(|(kind, keep)| {
            // Whole days go, as they do from the store.
            Some((kind, midnight(now.before(keep?))))
        });
        let kept: Vec<(Kind, Timestamp)> = kept.collect();
        let this = self.clone();
        blocking(move || {
            let mut forgotten = this.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
            if *forgotten != kept {
                for (kind, before) in &kept {
                    this.index.forget_before(*kind, *before)?;
                }
                this.index.commit()?;
                *forgotten = kept;
            }
            Ok(())
        })
        .await
    }

    fn add_journal(&self, from: Cursors, page: &JournalPage) -> Result<(), IndexError> {
        let mut failed = None;
        let name_of = |job| match self.archive.card(job) {
            Ok(card) => card.map(|card| card.name).unwrap_or_default(),
            Err(error) => {
                failed = Some(error);
                Box::default()
            }
        };
        self.index.read(from, page, name_of)?;
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn add_messages(&self, from: Cursors, page: &EventPage) -> Result<(), IndexError> {
        let documents = page.events.iter().map(of_message).collect();
        Ok(self.index.add(documents, from, Cursors { messages: page.cursor, ..from })?)
    }

    /// Adds some of the nodes that are new, durably, and removes those that are gone; whether there were any.
    fn add_nodes(&self) -> Result<bool, IndexError> {
        let fresh = self.archive.fresh(PAGE)?;
        let (mut documents, mut gone) = (Vec::new(), Vec::new());
        // What is nobody's has a shelf that nobody reads: whoever sees it sees everyone's.
        let read = fresh.iter().filter(|fresh| fresh.owner.as_deref() != Some(""));
        for Fresh { owner, period, node, .. } in read {
            let owner = owner.as_deref().unwrap_or_default();
            match node {
                Some(node) => documents.push(of_node(owner, node)),
                None => gone.push(key_of(owner, *period)),
            }
        }
        let here = self.index.cursors();
        self.index.remove(&gone)?;
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
