//! The journal of the embedded store: decisions, with the executions that came to their end by them.

use std::collections::BTreeSet;
use std::sync::Arc;

use chronos_core::store::{Error, JournalEntry, JournalPage, Result};
use chronos_core::{Execution, ExecutionId, JobId, JobSpec};

use super::audit;
use super::keys::Key;
use super::record::decode;
use super::state::engine;
use super::{EmbeddedStore, volumes::Volume};

/// Decisions that one reading looks at.
const LOOKED_AT: usize = 1_024;
/// Bytes of executions after which a reading ends.
const BYTES: usize = 4 << 20;

impl EmbeddedStore {
    /// Reads from the engine itself, because whoever reads a whole past must not hold up the verbs; the
    /// store's lock is held only to learn where executions are filed.
    pub(super) fn read_journal(&self, after: u64, limit: usize) -> Result<JournalPage> {
        let last = self.outlet.readable().decision;
        let mut page = JournalPage { cursor: after, more: after < last, ..JournalPage::default() };
        let limit = limit.min(LOOKED_AT);
        if limit == 0 || after >= last {
            return Ok(page);
        }
        let mut events = audit::after(self.kv.as_ref(), after, limit)?;
        events.retain(|event| event.sequence <= last);
        let places = self.read(|state| {
            let place = |id: ExecutionId| (state.volumes.of(id), id);
            let ends = events.iter().map(|event| JournalEntry::may_end(&event.decision));
            Ok(ends.map(|id| id.map(place)).collect::<Vec<_>>())
        })?;
        let (mut bytes, mut jobs) = (0, BTreeSet::new());
        for (event, place) in events.into_iter().zip(places) {
            if bytes >= BYTES {
                break;
            }
            let found = match (place, event.job) {
                (Some((volume, id)), Some(job)) => {
                    let (execution, size) = self.past(volume, job, id)?.unzip();
                    bytes += size.unwrap_or(0);
                    execution
                }
                _ => None,
            };
            page.cursor = event.sequence;
            jobs.extend(event.job);
            page.entries.push(JournalEntry::new(event, found));
        }
        if page.entries.is_empty() {
            // Decisions that were dropped have nothing to tell.
            page.cursor = last;
        }
        page.more = page.cursor < last;
        page.specs = self.specs(jobs)?;
        Ok(page)
    }

    /// An execution that is over, and how large its record is.
    fn past(
        &self,
        volume: Volume,
        job: JobId,
        id: ExecutionId,
    ) -> Result<Option<(Execution, usize)>> {
        let record = engine(self.kv.get(&Key::Past(volume, job, id).encode()))?;
        record.map(|record| Ok((decode(&record)?, record.len()))).transpose()
    }

    /// The specs of those of the jobs that are there and can be read.
    fn specs(&self, jobs: BTreeSet<JobId>) -> Result<Vec<Arc<JobSpec>>> {
        let mut specs = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.read(|state| state.spec(job)) {
                Ok(spec) => specs.push(spec),
                Err(Error::NoSuchJob(_) | Error::Corrupt(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(specs)
    }
}
