//! Reading: how far the journal was read, what the table of contents says, and what is known of jobs.

use std::hash::Hasher as _;

use chronos_core::JobId;
use siphasher::sip::SipHasher13;

use super::key::{all_fresh, marked_in, marks_of};
use super::{Archive, Cursor, Key, Result, Shelf};
use crate::digest::Card;
use crate::facts::JobFacts;
use crate::node::Node;
use crate::{Level, Period};

impl Archive {
    /// How far the journal was read.
    pub fn cursor(&self) -> Result<Cursor> {
        Ok(self.get(Key::Cursor)?.unwrap_or_default())
    }

    /// What the table of contents says of a period; nothing where nothing happened, or nothing was rolled up
    /// yet.
    pub fn node(&self, shelf: Shelf<'_>, period: Period) -> Result<Option<Node>> {
        self.get(Key::Node(shelf, period))
    }

    /// What is known of a job in a period; of hours at once, of longer periods once they were rolled up.
    pub fn facts(&self, job: JobId, period: Period) -> Result<Option<JobFacts>> {
        self.get(Key::Facts(period, job))
    }

    /// What people know a job by, as it was last known.
    pub fn card(&self, job: JobId) -> Result<Option<Card>> {
        self.get(Key::Card(job))
    }

    /// A number that two archives share if they say the same.
    pub fn fingerprint(&self) -> Result<u64> {
        // Not how far the journal was read, nor what is left to do, for us or for the search index.
        let from = Key::Card(JobId::from_bytes([0; 16])).encode();
        let marks = marks_of(Level::Hour)[..1].to_vec();
        let mut hasher = SipHasher13::new();
        for entry in self.inner.keyspace.range(from..all_fresh().to_vec()) {
            let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
            if key.starts_with(&marks) {
                continue;
            }
            for bytes in [&key, &value] {
                hasher.write_usize(bytes.len());
                hasher.write(bytes);
            }
        }
        Ok(hasher.finish())
    }

    /// Periods of a level in which something is new, in order, and the place in the journal of the newest.
    pub(crate) fn marks(&self, level: Level) -> Result<Vec<(Period, u64)>> {
        let mut marks = Vec::new();
        for entry in self.inner.keyspace.prefix(marks_of(level)) {
            let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
            let period = marked_in(level, &key);
            let period = period.ok_or_else(|| self.damaged("a mark is of no period".into()))?;
            marks.push((period, self.decode(&key, &value)?));
        }
        Ok(marks)
    }
}
