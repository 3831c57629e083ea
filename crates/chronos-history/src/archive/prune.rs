//! Pruning: periods that are no longer to be kept go, once those that own them tell of them for good.

use std::collections::BTreeSet;

use chronos_core::Timestamp;

use super::key::{facts_of, job_in, nodes_of, told_in};
use super::{Archive, Key, Result, Shelf};
use crate::node::Phase;
use crate::{Level, Period};

/// Records that are deleted together.
const CHUNK: usize = 1_000;

impl Archive {
    /// Forgets the periods of a level that ended before then, or counts those that would go. The children of a
    /// period go together, once it is final: what was rolled up is never rolled up again from less.
    ///
    /// Between two families it asks whether to stop.
    pub(crate) fn prune(
        &self,
        level: Level,
        before: Timestamp,
        rehearsal: bool,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let mut pruned = 0;
        let mut after = None;
        while let Some(family) = self.next_family(level, after)? {
            let goes = family.iter().all(|period| period.end() <= before)
                && self.is_told_for_good(&family)?;
            // Older ones go first, so that what is left is of one piece.
            if !goes || should_stop() {
                break;
            }
            pruned += family.len() as u64;
            if !rehearsal {
                self.forget(level, &family)?;
            }
            after = family.last().copied();
        }
        Ok(pruned)
    }

    /// The first instant of which entries are still told; what comes later than that is not told of any more.
    pub(super) fn floor(&self) -> Result<Option<Timestamp>> {
        self.get(Key::Floor)
    }

    /// The oldest periods of a level that one period owns, after a given one.
    fn next_family(&self, level: Level, after: Option<Period>) -> Result<Option<Vec<Period>>> {
        let keys = nodes_of(Shelf::Everyone, level);
        let mut family: Vec<Period> = Vec::new();
        let first = after.map_or_else(
            || keys.clone(),
            |after| [Key::Node(Shelf::Everyone, after).encode(), vec![0]].concat(),
        );
        for entry in self.inner.keyspace.range(first..) {
            let key = entry.key().map_err(|error| self.failed(error))?;
            if !key.starts_with(&keys) {
                break;
            }
            let period = told_in(level, &key);
            let period = period.ok_or_else(|| self.damaged("a node is of no period".into()))?;
            if family.first().is_some_and(|first| !are_siblings(*first, period)) {
                break;
            }
            family.push(period);
        }
        Ok((!family.is_empty()).then_some(family))
    }

    /// Whether nothing of these periods is still to be rolled up, and the one that owns them tells of them all.
    fn is_told_for_good(&self, family: &[Period]) -> Result<bool> {
        for period in family {
            if self.get::<u64>(Key::Mark(*period))?.is_some() {
                return Ok(false);
            }
        }
        let Some(parent) = family.first().and_then(|period| period.parent()) else {
            return Ok(true);
        };
        let node = self.node(Shelf::Everyone, parent)?;
        let is_final = node.is_some_and(|node| node.phase == Phase::Final);
        Ok(is_final && self.get::<u64>(Key::Mark(parent))?.is_none())
    }

    fn forget(&self, level: Level, family: &[Period]) -> Result<()> {
        let _writing = self.writing();
        if level == Level::Hour
            && let Some(last) = family.last().and_then(|hour| hour.parent())
        {
            // Before anything goes: an hour must not be begun again from what is late.
            let mut batch = self.batch();
            batch.put(Key::Floor, &last.end())?;
            batch.commit_durably()?;
        }
        for period in family {
            let mut owners: BTreeSet<Box<str>> = BTreeSet::new();
            let mut batch = self.batch();
            for entry in self.inner.keyspace.prefix(facts_of(*period)) {
                let key = entry.key().map_err(|error| self.failed(error))?;
                let job = job_in(&key);
                let job = job.ok_or_else(|| self.damaged("facts are of no job".into()))?;
                owners.insert(self.card(job)?.unwrap_or_default().owner);
                batch.delete(Key::Facts(*period, job));
                if batch.len() >= CHUNK {
                    // Their owners are no longer known once they are gone, so their nodes go first.
                    delete_nodes(&mut batch, &owners, *period)?;
                    batch.commit()?;
                    batch = self.batch();
                }
            }
            delete_nodes(&mut batch, &owners, *period)?;
            // Last of all: whoever is interrupted finds the period again by it.
            batch.delete(Key::Node(Shelf::Everyone, *period));
            batch.freshen(Shelf::Everyone, *period, None)?;
            batch.commit()?;
        }
        self.batch().commit_durably()
    }
}

fn delete_nodes(
    batch: &mut super::Batch<'_>,
    owners: &BTreeSet<Box<str>>,
    period: Period,
) -> Result<()> {
    for owner in owners {
        batch.delete(Key::Node(Shelf::Owner(owner), period));
        batch.freshen(Shelf::Owner(owner), period, None)?;
    }
    Ok(())
}

fn are_siblings(one: Period, other: Period) -> bool {
    one.parent().is_some() && one.parent() == other.parent()
}
