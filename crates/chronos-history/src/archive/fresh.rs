//! Fresh nodes: those that were written or deleted, of which the search index does not know yet.

use std::hash::Hasher as _;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use super::key::{all_fresh, all_nodes, shelf_in};
use super::{Archive, Batch, Key, Result, Shelf};
use crate::Period;
use crate::node::Node;

/// Marks that are written together.
const CHUNK: usize = 1_000;

/// A node that is new to the search index.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    /// Whose it is; that of everyone where nobody is named.
    pub(crate) owner: Option<Box<str>>,
    /// The period that it is of.
    pub(crate) period: Period,
    /// What it says, unless it is gone.
    pub(crate) node: Option<Node>,
    mark: Mark,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    owner: Option<Box<str>>,
    period: Period,
    /// Tells what was written from what may be written later.
    stamp: u64,
}

impl Archive {
    /// Nodes that are new to the search index, at most so many.
    pub(crate) fn fresh(&self, limit: usize) -> Result<Vec<Fresh>> {
        let mut fresh = Vec::new();
        for entry in self.inner.keyspace.prefix(all_fresh()).take(limit) {
            let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
            let mark: Mark = self.decode(&key, &value)?;
            let node = self.node(mark.shelf(), mark.period)?;
            fresh.push(Fresh { owner: mark.owner.clone(), period: mark.period, node, mark });
        }
        Ok(fresh)
    }

    /// These are in the search index; what was written meanwhile is new all the same.
    pub(crate) fn not_fresh(&self, fresh: &[Fresh]) -> Result<()> {
        let _writing = self.writing();
        let mut batch = self.batch();
        for Fresh { mark, .. } in fresh {
            let key = Key::Fresh(mark.shelf(), mark.period);
            if self.get::<Mark>(key)?.as_ref() == Some(mark) {
                batch.delete(key);
            }
        }
        batch.commit()
    }

    /// All nodes are new to the search index, because it is.
    pub(crate) fn refresh(&self) -> Result<()> {
        let _writing = self.writing();
        let mut batch = self.batch();
        for entry in self.inner.keyspace.prefix(all_nodes()) {
            let (key, value) = entry.into_inner().map_err(|error| self.failed(error))?;
            let node: Node = self.decode(&key, &value)?;
            let shelf = shelf_in(&key);
            let shelf = shelf.ok_or_else(|| self.damaged("a node is on no shelf".into()))?;
            batch.freshen(shelf, node.period, Some(&node))?;
            if batch.len() >= CHUNK {
                batch.commit()?;
                batch = self.batch();
            }
        }
        batch.commit_durably()
    }
}

impl Batch<'_> {
    /// What a node says, or that there is none any more, is new to the search index.
    pub(super) fn freshen(
        &mut self,
        shelf: Shelf<'_>,
        period: Period,
        node: Option<&Node>,
    ) -> Result<()> {
        let mut hasher = SipHasher13::new();
        hasher.write(&postcard::to_allocvec(&node).unwrap_or_default());
        let stamp = hasher.finish();
        let owner = match shelf {
            Shelf::Everyone => None,
            Shelf::Owner(owner) => Some(owner.into()),
        };
        self.put(Key::Fresh(shelf, period), &Mark { owner, period, stamp })
    }
}

impl Mark {
    fn shelf(&self) -> Shelf<'_> {
        self.owner.as_deref().map_or(Shelf::Everyone, Shelf::Owner)
    }
}
