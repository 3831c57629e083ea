//! Finding jobs: the smallest set that holds every job asked for is gone through, a bounded part at a
//! time.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Bound::{Excluded, Unbounded};

use chronos_core::job::Status;
use chronos_core::store::{JobCounts, JobFilter, JobPage, Result};
use chronos_core::{JobId, Timestamp};
use rustc_hash::FxHashSet;

use super::index::Index;
use super::keys::names_from;
use super::record::decode;
use super::state::{State, until, visit_entries};
use super::step::readable;
use crate::kv::Order;

/// Jobs that a search looks at before it leaves the rest to the next: it holds the lock.
const MOST_LOOKED_AT: usize = 8_192;
/// Jobs that are listed for one search; a source with more of them is of no use.
const MOST_LISTED: usize = 1_024;

/// Sets of jobs of which each job asked for is in one.
struct Source<'a> {
    sets: Vec<&'a BTreeSet<JobId>>,
    /// In order.
    listed: Vec<JobId>,
}

impl Source<'_> {
    fn len(&self) -> usize {
        self.listed.len() + self.sets.iter().map(|set| set.len()).sum::<usize>()
    }
}

impl State {
    pub(super) fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage> {
        let mut page = JobPage::default();
        if limit == 0 {
            page.next = after;
            return Ok(page);
        }
        let roll = &self.index.roll;
        let source = self.source(filter)?;
        let from = after.map_or(Unbounded, Excluded);
        let candidates: Box<dyn Iterator<Item = JobId>> = match &source {
            None => Box::new(roll.cards().range((from, Unbounded)).map(|(job, _)| *job)),
            Some(source) => Box::new(merged(source, after)),
        };
        for (looked_at, job) in candidates.enumerate() {
            if looked_at == MOST_LOOKED_AT || page.jobs.len() == limit {
                // What was looked at last is where the next search goes on.
                return Ok(page);
            }
            page.next = Some(job);
            let Some(card) = roll.card(job) else {
                continue;
            };
            let live = self.index.live_of(job);
            if roll.matches(filter, (job, card), &live)
                && filter.spans(self.index.next_slot(job, card))
            {
                // One that cannot be read must not hide those after it.
                page.jobs.extend(readable(self.load(job))?.ok());
            }
        }
        page.next = None;
        Ok(page)
    }

    pub(super) fn count_jobs(&self) -> JobCounts {
        let roll = &self.index.roll;
        let mut counts = JobCounts::default();
        for rest in [Status::Pending, Status::Success, Status::Failed, Status::Disabled] {
            let shelves = roll.shelves(Some(rest), None);
            *counts.of(rest) = shelves.iter().map(|shelf| shelf.len() as u64).sum();
        }
        let live: FxHashSet<JobId> = self.index.live_jobs().collect();
        for job in live {
            if let Some(card) = roll.card(job) {
                *counts.of(card.rest()) -= 1;
                *counts.of(card.rest().with(self.index.live_of(job))) += 1;
            }
        }
        counts
    }

    /// The smallest source that holds every job asked for; `None` where that is the roll itself.
    fn source(&self, filter: &JobFilter) -> Result<Option<Source<'_>>> {
        let index = &self.index;
        let mut sources: Vec<Source<'_>> = by_status(index, filter).into_iter().collect();
        if filter.paused == Some(true) {
            sources.push(Source { sets: vec![index.roll.paused()], listed: Vec::new() });
        }
        if let Some(tag) = &filter.tag {
            let sets = index.roll.tagged(tag).into_iter().collect();
            sources.push(Source { sets, listed: Vec::new() });
        }
        sources.extend(by_next_slot(index, filter));
        if sources.iter().all(|source| source.len() > MOST_LISTED) {
            sources.extend(self.by_name(filter)?);
        }
        let best = sources.into_iter().min_by_key(Source::len);
        let is_small = |source: &Source<'_>| source.len() < index.roll.cards().len();
        Ok(best.filter(is_small))
    }

    /// The owner's jobs whose names begin as asked for, unless there are many.
    fn by_name(&self, filter: &JobFilter) -> Result<Option<Source<'_>>> {
        let Some(owner) = &filter.owner else {
            return Ok(None);
        };
        let (from, to) = names_from(owner, filter.name_prefix.as_deref().unwrap_or_default());
        let mut listed: Vec<JobId> = Vec::new();
        visit_entries(self.kv.as_ref(), (&from, &to), Order::Ascending, |_, value| {
            listed.push(decode(value)?);
            Ok(until(listed.len(), MOST_LISTED + 1))
        })?;
        if listed.len() > MOST_LISTED {
            return Ok(None);
        }
        listed.sort_unstable();
        Ok(Some(Source { sets: Vec::new(), listed }))
    }
}

/// The jobs that have the status asked for at rest, or of which something is alive.
fn by_status<'a>(index: &'a Index, filter: &JobFilter) -> Option<Source<'a>> {
    let shelves = |rest| index.roll.shelves(rest, filter.recurring);
    let live = || {
        let mut live: Vec<JobId> = index.live_jobs().collect();
        live.sort_unstable();
        live.dedup();
        live
    };
    match filter.status {
        None if filter.recurring.is_none() => None,
        None => Some(Source { sets: shelves(None), listed: Vec::new() }),
        Some(Status::Running | Status::RetryPending) => {
            Some(Source { sets: Vec::new(), listed: live() })
        }
        Some(Status::Pending) => {
            Some(Source { sets: shelves(Some(Status::Pending)), listed: live() })
        }
        rest @ Some(Status::Success | Status::Failed | Status::Disabled) => {
            Some(Source { sets: shelves(rest), listed: Vec::new() })
        }
    }
}

/// The jobs whose next slot is in the span asked for, unless there are many.
fn by_next_slot<'a>(index: &'a Index, filter: &JobFilter) -> Option<Source<'a>> {
    if filter.next_from.is_none() && filter.next_before.is_none() {
        return None;
    }
    let from = filter.next_from.unwrap_or(Timestamp::MIN);
    let due = index.due_between(from, filter.next_before);
    let mut listed: Vec<JobId> = due.take(MOST_LISTED + 1).collect();
    if listed.len() > MOST_LISTED {
        return None;
    }
    listed.sort_unstable();
    Some(Source { sets: vec![index.roll.off_due()], listed })
}

/// The jobs of a source after a given one, in order and each once.
fn merged<'a>(source: &'a Source<'a>, after: Option<JobId>) -> impl Iterator<Item = JobId> + 'a {
    let from = after.map_or(Unbounded, Excluded);
    let begin = after.map_or(0, |after| source.listed.partition_point(|job| *job <= after));
    let listed: Box<dyn Iterator<Item = JobId>> = Box::new(source.listed[begin..].iter().copied());
    let mut streams: Vec<Peekable<Box<dyn Iterator<Item = JobId> + 'a>>> = vec![listed.peekable()];
    for set in &source.sets {
        let stream: Box<dyn Iterator<Item = JobId>> =
            Box::new(set.range((from, Unbounded)).copied());
        streams.push(stream.peekable());
    }
    std::iter::from_fn(move || {
        let first = streams.iter_mut().filter_map(|stream| stream.peek().copied()).min()?;
        for stream in &mut streams {
            while stream.next_if_eq(&first).is_some() {}
        }
        Some(first)
    })
}
