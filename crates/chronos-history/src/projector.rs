//! The projector: reads the store's journal on from where the archive ends.

use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::path::Path;
use std::sync::Arc;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::job::Target;
use chronos_core::store::{self, JournalEntry, JournalPage};
use chronos_core::{JobId, JobSpec, Store};
use siphasher::sip::SipHasher13;

use crate::archive::{Archive, ArchiveError, Cursor};
use crate::digest::Card;
use crate::entry::{Ended, Entry, Event, reason_of};

/// Entries that are read and filed together.
const PAGE: usize = 1_024;

/// Reads the store's journal into an archive.
#[derive(Clone)]
pub struct Projector {
    store: Arc<dyn Store>,
    archive: Archive,
}

/// How far the journal was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Projected {
    /// Entries of the journal that were read.
    pub read: u64,
    /// Whether the journal goes on already.
    pub more: bool,
}

/// Why the journal could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The archive is at fault.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store is at fault.
    #[error("the journal cannot be read: {0}")]
    Store(#[from] store::Error),
}

impl Projector {
    /// Opens the archive in a directory as that of a store. One that was made from another journal, or from
    /// this one before it was put back to an earlier state, is emptied and made again.
    pub async fn open(store: Arc<dyn Store>, path: &Path) -> Result<Self, ProjectError> {
        let path = path.to_owned();
        let archive = blocking({
            let path = path.clone();
            move || Archive::open(&path)
        });
        let mut archive = archive.await?;
        if !is_of(archive.cursor()?, store.as_ref()).await? {
            drop(archive);
            archive = blocking(move || Archive::anew(&path)).await?;
        }
        Ok(Self { store, archive })
    }

    /// Empties the archive in a directory, whatever state it is in, to have it made again from a store.
    pub async fn anew(store: Arc<dyn Store>, path: &Path) -> Result<Self, ProjectError> {
        let path = path.to_owned();
        let archive = blocking(move || Archive::anew(&path)).await?;
        Ok(Self { store, archive })
    }

    /// The archive that it reads into.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Reads a stretch of the journal and files what it tells; what was filed is durable, together with how
    /// far was read.
    pub async fn tick(&self) -> Result<Projected, ProjectError> {
        let after = self.archive.cursor()?.sequence;
        let page = self.store.journal(after, PAGE).await?;
        let projected = Projected { read: page.entries.len() as u64, more: page.more };
        if page.cursor > after {
            let archive = self.archive.clone();
            blocking(move || file(&archive, &page)).await?;
        }
        Ok(projected)
    }

    /// Reads the journal to its end; between two stretches it asks whether to stop.
    pub async fn catch_up(
        &self,
        should_stop: impl Fn() -> bool,
    ) -> Result<Projected, ProjectError> {
        let mut all = Projected { read: 0, more: true };
        while all.more && !should_stop() {
            let Projected { read, more } = self.tick().await?;
            all = Projected { read: all.read + read, more };
        }
        Ok(all)
    }
}

/// Whether it was this store's journal that was read up to here, as far as that can be told.
pub(crate) async fn is_of(cursor: Cursor, store: &dyn Store) -> store::Result<bool> {
    let Cursor { sequence, anchor } = cursor;
    let Some(before) = sequence.checked_sub(1) else {
        return Ok(true);
    };
    let page = store.journal(before, 1).await?;
    Ok(match page.entries.first() {
        Some(entry) if entry.event.sequence == sequence => anchor_of(&entry.event) == anchor,
        // Too old to be kept; what followed it is there.
        Some(_) => true,
        // The journal does not reach so far.
        None => false,
    })
}

fn file(archive: &Archive, page: &JournalPage) -> Result<(), ArchiveError> {
    let entries: Vec<Entry> = page.entries.iter().filter_map(told_by).collect();
    let mut cards: Vec<(JobId, Card)> =
        page.specs.iter().map(|spec| (spec.id, card_of(spec))).collect();
    let mut told: BTreeSet<JobId> = page.specs.iter().map(|spec| spec.id).collect();
    for JournalEntry { event, .. } in &page.entries {
        // Of a job that is gone the decisions still tell whose it was.
        let Some(job) = event.job else { continue };
        if told.insert(job) && archive.card(job)?.is_none() {
            let owner = (&*event.owner).into();
            cards.push((job, Card { owner, ..Card::unknown(job) }));
        }
    }
    let anchor = page.entries.last().map_or(0, |entry| anchor_of(&entry.event));
    archive.project(&entries, &cards, Cursor { sequence: page.cursor, anchor })
}

/// What the history tells of an entry.
fn told_by(JournalEntry { event, ended }: &JournalEntry) -> Option<Entry> {
    let (sequence, job, at) = (event.sequence, event.job, event.at);
    if let Some(ended) = ended {
        return Entry::of(sequence, ended);
    }
    let event = match &event.decision {
        Decision::Skipped { slots, reason } => Event::Skipped {
            // Where only enumerating them could tell, at least one was.
            slots: slots.count.unwrap_or(1),
            reason: reason_of(reason).into(),
        },
        // The execution is no longer kept.
        Decision::Ended { execution, ending, .. } => {
            Event::Ended(Ended::forgotten(*execution, *ending))
        }
        _ => return None,
    };
    Some(Entry { sequence, job: job?, at, event })
}

fn card_of(spec: &JobSpec) -> Card {
    let host = match &spec.target {
        Target::Http(http) => http.url().host_str().map(Into::into),
        Target::Handler { .. } | Target::Message(_) => None,
    };
    Card { owner: spec.owner.clone(), name: spec.name.clone(), host }
}

/// Tells a decision from others at its place.
pub(crate) fn anchor_of(event: &AuditEvent) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(&event.sequence.to_be_bytes());
    hasher.write(&event.at.as_micros().to_be_bytes());
    if let Some(job) = event.job {
        hasher.write(job.as_bytes());
    }
    hasher.write(event.decision.kind().as_bytes());
    hasher.finish()
}

/// The archive blocks on the disk, which no asynchronous thread may.
async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    tokio::task::spawn_blocking(act).await.unwrap_or_else(|error| Err(error.into()))
}
