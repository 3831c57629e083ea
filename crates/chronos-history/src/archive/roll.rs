//! Rolling up: facts of periods become facts of the periods that own them, and nodes.

use std::collections::BTreeMap;

use chronos_core::JobId;

use super::key::{facts_of, job_in};
use super::{Archive, Key, Result, Shelf};
use crate::digest::{Card, Digest};
use crate::facts::JobFacts;
use crate::node::{Node, Phase};
use crate::{Level, Period};

/// Facts that are written together.
const CHUNK: usize = 1_000;

/// What is to be said of a period, on one shelf.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Whose it is; that of everyone where nobody is named.
    pub(crate) owner: Option<Box<str>>,
    pub(crate) digest: Digest,
    /// The periods that it was put together from, in order.
    pub(crate) children: Vec<Period>,
}

impl Gathered {
    pub(crate) fn shelf(&self) -> Shelf<'_> {
        self.owner.as_deref().map_or(Shelf::Everyone, Shelf::Owner)
    }
}

/// The facts of one period, job by job.
struct Source {
    period: Period,
    entries: fjall::Iter,
    head: Option<(JobId, JobFacts)>,
}

impl Archive {
    /// Whether a period's node says all that these children have to say, the newest of which has this version, and
    /// is in this phase.
    pub(crate) fn is_current(
        &self,
        (period, newest): (Period, u64),
        phase: Phase,
        children: &[Period],
    ) -> Result<bool> {
        let node = self.node(Shelf::Everyone, period)?;
        Ok(node.is_some_and(|node| {
            node.version >= newest && node.phase == phase && node.children == children
        }))
    }

    /// Those of a period's children of which something is known, and the newest version among them.
    pub(crate) fn known_children(
        &self,
        period: Period,
        is_ready: impl Fn(Period) -> bool,
    ) -> Result<(Vec<Period>, u64)> {
        let (mut known, mut newest) = (Vec::new(), 0);
        for child in period.children().filter(|child| is_ready(*child)) {
            if let Some(node) = self.node(Shelf::Everyone, child)? {
                known.push(child);
                newest = node.version.max(newest);
            }
        }
        Ok((known, newest))
    }

    /// Puts the facts of a period together from its children's, and digests them for every shelf; an hour has
    /// no children, and its facts are there.
    ///
    /// Writes as it goes: what it writes follows from what is there, and whoever is interrupted does it again,
    /// because the period is still marked.
    pub(crate) fn gather(&self, period: Period, children: &[Period]) -> Result<Vec<Gathered>> {
        let level = period.level();
        let own = [period];
        let from = if level == Level::Hour { &own[..] } else { children };
        let mut sources = Vec::with_capacity(from.len());
        for child in from {
            let entries = self.inner.keyspace.prefix(facts_of(*child));
            let mut source = Source { period: *child, entries, head: None };
            self.advance(&mut source)?;
            sources.push(source);
        }
        let mut shelves = Shelves::new(children);
        let mut batch = self.batch();
        while let Some(job) = sources.iter().filter_map(Source::job).min() {
            let mut facts = JobFacts::default();
            let mut parts = 0_u32;
            for (place, source) in sources.iter_mut().enumerate() {
                if source.job() != Some(job) {
                    continue;
                }
                let from = source.period.level();
                if let Some((_, part)) = source.head.take() {
                    facts.merge(&part.raised(from, level));
                    parts |= 1 << place;
                }
                self.advance(source)?;
            }
            let card = self.card(job)?.unwrap_or_else(|| Card::unknown(job));
            shelves.take(job, &facts, &card, parts);
            if level != Level::Hour {
                batch.put(Key::Facts(period, job), &facts)?;
            }
            if batch.len() >= CHUNK {
                batch.commit()?;
                batch = self.batch();
            }
        }
        batch.commit()?;
        Ok(shelves.into_gathered())
    }

    /// Files the nodes of a period, marks its owner for what is new, and takes its own mark away once it is
    /// final, unless something was added meanwhile.
    pub(crate) fn file(
        &self,
        (period, mark): (Period, u64),
        phase: Phase,
        nodes: &[(Option<Box<str>>, Node)],
    ) -> Result<()> {
        let _writing = self.writing();
        let mut batch = self.batch();
        for (owner, node) in nodes {
            let shelf = owner.as_deref().map_or(Shelf::Everyone, Shelf::Owner);
            batch.put(Key::Node(shelf, period), node)?;
            batch.freshen(shelf, period, Some(node))?;
        }
        let newest = nodes.iter().map(|(_, node)| node.version).max();
        if let (Some(parent), Some(newest)) = (period.parent(), newest) {
            let before: u64 = self.get(Key::Mark(parent))?.unwrap_or(0);
            batch.put(Key::Mark(parent), &newest.max(before))?;
        }
        if phase == Phase::Final && self.get(Key::Mark(period))? == Some(mark) {
            batch.delete(Key::Mark(period));
        }
        batch.commit_durably()
    }

    fn advance(&self, source: &mut Source) -> Result<()> {
        source.head = match source.entries.next() {
            None => None,
            Some(entry) => {
                let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
                let job = job_in(&key);
                let job = job.ok_or_else(|| self.damaged("facts are of no job".into()))?;
                Some((job, self.decode(&key, &value)?))
            }
        };
        Ok(())
    }
}

impl Source {
    fn job(&self) -> Option<JobId> {
        self.head.as_ref().map(|(job, _)| *job)
    }
}

/// Digests by shelf, with the children that each draws from, as bits in their order.
struct Shelves<'a> {
    children: &'a [Period],
    everyone: (Digest, u32),
    owners: BTreeMap<Box<str>, (Digest, u32)>,
}

impl<'a> Shelves<'a> {
    fn new(children: &'a [Period]) -> Self {
        Self { children, everyone: Default::default(), owners: BTreeMap::new() }
    }

    fn take(&mut self, job: JobId, facts: &JobFacts, card: &Card, parts: u32) {
        let own = match self.owners.get_mut(&card.owner) {
            Some(own) => own,
            None => self.owners.entry(card.owner.clone()).or_default(),
        };
        for (digest, drawn_from) in [&mut self.everyone, own] {
            digest.take(job, facts, || card.clone());
            *drawn_from |= parts;
        }
    }

    /// That of everyone is last: once it is there, so are the others.
    fn into_gathered(self) -> Vec<Gathered> {
        let children = self.children;
        let owners = self.owners.into_iter().map(|(owner, digest)| (Some(owner), digest));
        let all = owners.chain([(None, self.everyone)]).filter(|(_, (digest, _))| digest.jobs > 0);
        let gathered = all.map(|(owner, (digest, parts))| {
            let drawn_from = |(place, _): &(usize, &Period)| parts >> place & 1 == 1;
            let children = children.iter().enumerate().filter(drawn_from);
            Gathered { owner, digest, children: children.map(|(_, child)| *child).collect() }
        });
        gathered.collect()
    }
}
