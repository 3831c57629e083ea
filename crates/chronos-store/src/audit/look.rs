//! A look at the audit: chapter by chapter, newest or oldest first, until enough is found or it took enough.

use chronos_core::audit::AuditEvent;
use chronos_core::store::{AuditFilter, AuditPage, AuditWalk};

use super::digest::{SIZE, Wanted, chapter_of};

/// Decisions that one look reads, whatever it looks for: as many as four chapters have.
const READ: u64 = 4 * SIZE;
/// Digests that one look asks: each stands for a chapter that need not be read.
const ASKED: u64 = 1_024;

/// Consecutive decisions of one chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) chapter: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Somebody's look at the audit.
pub(crate) struct Look<'a> {
    filter: &'a AuditFilter,
    pub(crate) wanted: Wanted,
    pub(crate) newest_first: bool,
    /// What is looked at next, and on from there.
    at: u64,
    /// The oldest and the newest decision that is there.
    kept: (u64, u64),
    limit: usize,
    read: u64,
    asked: u64,
    events: Vec<AuditEvent>,
}

impl<'a> Look<'a> {
    /// A look at the decisions from `oldest` to `newest`, if there are any.
    pub(crate) fn begin(
        filter: &'a AuditFilter,
        walk: AuditWalk,
        limit: usize,
        (oldest, newest): (u64, u64),
    ) -> Self {
        let (newest_first, at) = match walk {
            AuditWalk::NewestFirst(before) => {
                (true, before.map_or(newest, |before| before.saturating_sub(1)).min(newest))
            }
            AuditWalk::OldestFirst(after) => (false, after.saturating_add(1).max(oldest)),
        };
        Self {
            filter,
            wanted: Wanted::by(filter),
            newest_first,
            at,
            kept: (oldest.max(1), newest),
            limit: limit.max(1),
            read: 0,
            asked: 0,
            events: Vec::new(),
        }
    }

    fn is_at_the_end(&self) -> bool {
        !(self.kept.0..=self.kept.1).contains(&self.at)
    }

    /// What is to be looked at next; nothing once enough is found, or it took enough, or nothing is left.
    pub(crate) fn stretch(&self) -> Option<Stretch> {
        let enough = self.events.len() >= self.limit || self.read >= READ || self.asked >= ASKED;
        if enough || self.is_at_the_end() {
            return None;
        }
        let chapter = chapter_of(self.at);
        let (first, last) = (chapter * SIZE + 1, (chapter + 1) * SIZE);
        let (first, last) = if self.newest_first {
            (first.max(self.kept.0), self.at)
        } else {
            (self.at, last.min(self.kept.1))
        };
        Some(Stretch { chapter, first, last })
    }

    /// Whether a digest is worth asking, because not all that it knows of is wanted.
    pub(crate) fn is_narrowed(&self) -> bool {
        !self.filter.is_open()
    }

    /// Goes on behind a stretch of which digests say that nothing in it is wanted, or which was read.
    pub(crate) fn pass(&mut self, stretch: Stretch, digests: u64) {
        self.asked += digests;
        self.at = if self.newest_first { stretch.first - 1 } else { stretch.last + 1 };
    }

    /// Sees the next decision of a stretch; says whether more are wanted.
    pub(crate) fn see(&mut self, event: AuditEvent) -> bool {
        self.read += 1;
        self.at = if self.newest_first { event.sequence - 1 } else { event.sequence + 1 };
        if self.filter.matches(&event) {
            self.events.push(event);
        }
        self.events.len() < self.limit
    }

    /// What was found, and where to go on.
    pub(crate) fn page(self) -> AuditPage {
        let go_on = if self.newest_first { self.at.saturating_add(1) } else { self.at - 1 };
        let next = (!self.is_at_the_end()).then_some(go_on);
        AuditPage { events: self.events, next }
    }
}
