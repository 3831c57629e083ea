//! Reading: how far the journal was read, what the table of contents says, and what is known of jobs.

use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::ops::{Bound, RangeInclusive};

use chronos_core::JobId;
use siphasher::sip::SipHasher13;

use super::key::{all_fresh, marked_in, marks_of, nodes_of, told_in};
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

    /// What the table of contents says of the periods from one to another of the same level, in order; of
    /// more than so many, the newest.
    pub fn nodes(
        &self,
        shelf: Shelf<'_>,
        periods: &RangeInclusive<Period>,
        limit: usize,
    ) -> Result<Vec<Node>> {
        let [first, last] =
            [periods.start(), periods.end()].map(|it| Key::Node(shelf, *it).encode());
        if first > last {
            return Ok(Vec::new());
        }
        let mut nodes = Vec::new();
        for entry in self.inner.keyspace.range(first..=last).rev().take(limit) {
            let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
            nodes.push(self.decode(&key, &value)?);
        }
        nodes.reverse();
        Ok(nodes)
    }

    /// The nearest periods of the same level that the table of contents tells of, before this one and after.
    pub fn neighbours(
        &self,
        shelf: Shelf<'_>,
        period: Period,
    ) -> Result<(Option<Period>, Option<Period>)> {
        let (level, own) = (period.level(), Key::Node(shelf, period).encode());
        let level_keys = nodes_of(shelf, level);
        let read = |entry: Option<fjall::Guard>| -> Result<Option<Period>> {
            let Some(entry) = entry else { return Ok(None) };
            let key = entry.key().map_err(|error| self.failed(error))?;
            let here = key.starts_with(&level_keys);
            Ok(if here { told_in(level, &key) } else { None })
        };
        let before = (Bound::Included(level_keys.clone()), Bound::Excluded(own.clone()));
        let after = (Bound::Excluded(own), Bound::Unbounded);
        let before = read(self.inner.keyspace.range(before).next_back())?;
        Ok((before, read(self.inner.keyspace.range(after).next())?))
    }

    /// What is known of a job on each of these days on which something is, in order, up to what was read last.
    pub fn days(
        &self,
        job: JobId,
        days: &RangeInclusive<Period>,
    ) -> Result<Vec<(Period, JobFacts)>> {
        let open = self.unsettled_days()?;
        let mut known = Vec::new();
        let mut day = Some(*days.start());
        while let Some(this) = day.filter(|day| day <= days.end()) {
            let facts = if open.contains(&this) {
                self.put_together(job, this)?
            } else {
                self.facts(job, this)?
            };
            known.extend(facts.map(|facts| (this, facts)));
            day = this.next();
        }
        Ok(known)
    }

    /// Days of which the hours know more than was rolled up.
    fn unsettled_days(&self) -> Result<BTreeSet<Period>> {
        let hours = self.marks(Level::Hour)?.into_iter().filter_map(|(hour, _)| hour.parent());
        let mut days: BTreeSet<Period> = hours.collect();
        days.extend(self.marks(Level::Day)?.into_iter().map(|(day, _)| day));
        Ok(days)
    }

    fn put_together(&self, job: JobId, period: Period) -> Result<Option<JobFacts>> {
        let mut whole: Option<JobFacts> = None;
        for part in period.children() {
            if let Some(facts) = self.facts(job, part)? {
                let raised = facts.raised(part.level(), period.level());
                whole.get_or_insert_default().merge(&raised);
            }
        }
        Ok(whole)
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
