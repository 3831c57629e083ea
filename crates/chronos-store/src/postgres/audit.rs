//! Reading the audit on PostgreSQL, and the digests that make it quick.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::audit::{AuditEvent, Decision, Reconciliation};
use chronos_core::store::{AuditFilter, AuditPage, AuditWalk, Error, Result};
use sqlx::postgres::PgRow;
use tracing::debug;

use super::shared::{Shared, step};
use super::values::{Fields, count, limit as rows_up_to, time};
use crate::audit::{self, Digest, Look, SIZE, Stretch, Wanted, chapter_of};

/// Decisions that one record holds at most are not known, so that many records are read at a time.
const RECORDS: usize = 256;
/// Digests that one statement goes through.
const CHAPTERS: u64 = 1_024;
/// Chapters that get their digests in one go.
const DIGESTED: usize = 64;
/// How often it is looked for chapters without a digest.
pub(super) const BETWEEN_DIGESTS: Duration = Duration::from_secs(20);

/// What is on file.
struct Bounds {
    oldest: u64,
    newest: u64,
    /// The first chapter without a digest, and with none after it that has one.
    undigested: u64,
}

impl Shared {
    pub(super) async fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEvent>> {
        let mut found = Vec::new();
        let mut from = after;
        while found.len() < limit {
            let query = self.sql.audit_read.query().bind(count(from));
            let records = RECORDS.min(limit - found.len());
            let rows = self.fetch_all(query.bind(rows_up_to(records))).await?;
            for row in &rows {
                let (last, events) = decode(row)?;
                found.extend(events.into_iter().filter(|event| event.sequence > after));
                from = last;
            }
            if rows.len() < records {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    pub(super) async fn find_audit(
        &self,
        filter: &AuditFilter,
        walk: AuditWalk,
        limit: usize,
    ) -> Result<AuditPage> {
        let bounds = self.audit_bounds().await?;
        let mut look = Look::begin(filter, walk, limit, (bounds.oldest, bounds.newest));
        while let Some(stretch) = look.stretch() {
            let digested = look.is_narrowed() && stretch.chapter < bounds.undigested;
            if digested && !self.may_hold(&mut look, stretch, &bounds).await? {
                continue;
            }
            if self.see_all(&mut look, stretch).await? {
                look.pass(stretch, 0);
            }
        }
        Ok(look.page())
    }

    /// Whether this very chapter may hold something that is looked for; if not, goes on to one that may.
    async fn may_hold(
        &self,
        look: &mut Look<'_>,
        stretch: Stretch,
        bounds: &Bounds,
    ) -> Result<bool> {
        let here = stretch.chapter;
        let (from, to) = if look.newest_first {
            (here.saturating_sub(CHAPTERS - 1), here)
        } else {
            (here, (here + CHAPTERS - 1).min(bounds.undigested - 1))
        };
        let found = self.chapter(&look.wanted, look.newest_first, (from, to)).await?;
        if found == Some(here) {
            return Ok(true);
        }
        let passed = match found {
            Some(chapter) if look.newest_first => (chapter + 1, here),
            Some(chapter) => (here, chapter - 1),
            None => (from, to),
        };
        let (first, last) = (passed.0 * SIZE + 1, (passed.1 + 1) * SIZE);
        look.pass(Stretch { chapter: here, first, last }, passed.1 - passed.0 + 1);
        Ok(false)
    }

    /// The first chapter on the way that may hold what is wanted.
    async fn chapter(
        &self,
        wanted: &Wanted,
        newest_first: bool,
        (from, to): (u64, u64),
    ) -> Result<Option<u64>> {
        let statement =
            if newest_first { &self.sql.audit_chapter_back } else { &self.sql.audit_chapter };
        let bits: Vec<i32> =
            wanted.bits.iter().map(|bit| i32::try_from(*bit).unwrap_or(i32::MAX)).collect();
        let query = statement.query().bind(count(from)).bind(count(to));
        let query = query.bind(time(wanted.since)).bind(time(wanted.until)).bind(bits);
        let row = self.fetch_optional(query).await?;
        row.map(|row| Fields::of(&row).count()).transpose()
    }

    /// Shows a stretch to the look; says whether it saw all of it.
    async fn see_all(&self, look: &mut Look<'_>, stretch: Stretch) -> Result<bool> {
        let back = look.newest_first;
        let statement = if back { &self.sql.audit_between_back } else { &self.sql.audit_between };
        let (mut first, mut last) = (stretch.first, stretch.last);
        while first <= last {
            let query = statement.query().bind(count(first)).bind(count(last));
            let rows = self.fetch_all(query.bind(rows_up_to(RECORDS))).await?;
            for row in &rows {
                let (_, mut events) = decode(row)?;
                if back {
                    events.reverse();
                }
                let wanted = |event: &AuditEvent| (first..=last).contains(&event.sequence);
                for event in events.into_iter().filter(wanted).collect::<Vec<_>>() {
                    let sequence = event.sequence;
                    if !look.see(event) {
                        return Ok(false);
                    }
                    if back { last = sequence - 1 } else { first = sequence + 1 }
                }
            }
            if rows.len() < RECORDS {
                break;
            }
        }
        Ok(true)
    }

    async fn audit_bounds(&self) -> Result<Bounds> {
        let row = self.fetch_optional(self.sql.audit_bounds.query()).await?;
        let silent = || Error::Unavailable("the database does not tell its bounds".into());
        let row = row.ok_or_else(silent)?;
        let fields = &mut Fields::of(&row);
        let (oldest, newest, digested): (u64, u64, i64) =
            (fields.count()?, fields.count()?, fields.get()?);
        Ok(Bounds { oldest, newest, undigested: (digested + 1).unsigned_abs() })
    }

    /// Writes the digests of chapters that are full and have none, and deletes those of chapters that are
    /// gone; says how many it wrote.
    pub(super) async fn digest_audit(&self) -> Result<usize> {
        let Bounds { oldest, newest, undigested } = self.audit_bounds().await?;
        if newest == 0 {
            return Ok(0);
        }
        let oldest = chapter_of(oldest);
        let chapters = undigested.max(oldest)..chapter_of(newest + 1);
        let mut written = 0;
        for chapter in chapters.take(DIGESTED) {
            let filter = AuditFilter::default();
            let (first, last) = (chapter * SIZE + 1, (chapter + 1) * SIZE);
            let walk = AuditWalk::OldestFirst(chapter * SIZE);
            let most = usize::try_from(SIZE).unwrap_or(usize::MAX);
            let mut look = Look::begin(&filter, walk, most, (first, last));
            self.see_all(&mut look, Stretch { chapter, first, last }).await?;
            let mut digest = Digest::default();
            look.page().events.iter().for_each(|event| digest.add(event));
            let (earliest, latest) = digest.times.unwrap_or((Timestamp::MAX, Timestamp::MIN));
            let query = self.sql.audit_digest_put.query().bind(count(chapter));
            let query = query.bind(time(earliest)).bind(time(latest));
            self.fetch_all(query.bind(digest.bits.into_vec())).await?;
            written += 1;
        }
        if oldest > 0 {
            self.fetch_all(self.sql.audit_digests_prune.query().bind(count(oldest))).await?;
        }
        Ok(written)
    }

    /// Writes digests for as long as the store is there. Nodes that do so at once write the same.
    pub(super) async fn keep_digesting(&self) {
        loop {
            match self.digest_audit().await {
                // There may be more.
                Ok(DIGESTED) => continue,
                Ok(_) => {}
                Err(error) => debug!(%error, "No digest of the audit was written"),
            }
            tokio::time::sleep(BETWEEN_DIGESTS).await;
        }
    }

    pub(super) async fn note_reconciliation(
        &self,
        done: Reconciliation,
        now: Timestamp,
    ) -> Result<()> {
        step!(self, now, |_session, step| {
            step.note("", None, None, Decision::Reconciled(done.clone()));
            Ok(())
        })
    }
}

/// The last number of a record, and its decisions.
fn decode(row: &PgRow) -> Result<(u64, Vec<AuditEvent>)> {
    let fields = &mut Fields::of(row);
    let (first, last): (u64, u64) = (fields.count()?, fields.count()?);
    Ok((last, audit::decode(fields.get()?, first)?))
}
