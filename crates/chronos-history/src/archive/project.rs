//! Projecting: entries of the journal become facts of hours, together with how far the journal was read.

use std::collections::BTreeMap;

use chronos_core::JobId;
use serde::{Deserialize, Serialize};

use super::{Archive, Key, Result};
use crate::digest::Card;
use crate::entry::Entry;
use crate::facts::JobFacts;
use crate::{Level, Period};

/// How far the journal was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The place of the newest entry that was read; zero before the first.
    pub sequence: u64,
    /// Tells that entry from any other at the same place, of another journal or of this one put back to an
    /// earlier state.
    pub anchor: u64,
}

impl Archive {
    /// Adds entries of the journal, in their order, and how far it was read with them. What was read before is
    /// not added again. Once this returns it is durable.
    ///
    /// `cards` says what people know the jobs by.
    pub fn project(
        &self,
        entries: &[Entry],
        cards: &[(JobId, Card)],
        cursor: Cursor,
    ) -> Result<()> {
        let _writing = self.writing();
        if cursor.sequence <= self.cursor()?.sequence {
            return Ok(());
        }
        let mut hours: BTreeMap<(Period, JobId), Vec<&Entry>> = BTreeMap::new();
        let floor = self.floor()?;
        for entry in entries {
            if floor.is_some_and(|floor| entry.at < floor) {
                continue;
            }
            let hour = Period::containing(Level::Hour, entry.at);
            hours.entry((hour, entry.job)).or_default().push(entry);
        }
        let mut batch = self.batch();
        let mut marks: BTreeMap<Period, u64> = BTreeMap::new();
        for ((hour, job), entries) in hours {
            let key = Key::Facts(hour, job);
            let mut facts: JobFacts = self.get(key)?.unwrap_or_default();
            let before = facts.newest;
            for entry in entries {
                facts.count(entry);
            }
            if facts.newest > before {
                batch.put(key, &facts)?;
                let mark = marks.entry(hour).or_default();
                *mark = facts.newest.max(*mark);
            }
        }
        for (hour, newest) in marks {
            batch.put(Key::Mark(hour), &newest)?;
        }
        let cards: BTreeMap<&JobId, &Card> = cards.iter().map(|(job, card)| (job, card)).collect();
        for (job, card) in cards {
            if self.card(*job)?.as_ref() != Some(card) {
                batch.put(Key::Card(*job), card)?;
            }
        }
        batch.put(Key::Cursor, &cursor)?;
        batch.commit_durably()
    }
}
