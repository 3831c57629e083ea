//! The journal: decisions in the order of their commits, with the executions that came to their end by them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::store::{JournalEntry, JournalPage, Result};
use chronos_core::{Execution, ExecutionId, JobId, JobSpec};
use rustc_hash::FxHashMap;

use super::rows;
use super::shared::Shared;
use super::specs;
use super::values::{Fields, tag, time, uuids};

/// Decisions that one reading looks at: what ends by each may be long.
const LOOKED_AT: usize = 256;

impl Shared {
    pub(super) async fn journal(&self, after: u64, limit: usize) -> Result<JournalPage> {
        let limit = limit.min(LOOKED_AT);
        // One more says whether the journal goes on.
        let mut events = self.audit(after, limit.saturating_add(1)).await?;
        let more = events.len() > limit;
        events.truncate(limit);
        let cursor = events.last().map_or(after, |event| event.sequence);
        // Read after the decisions, so that what came to its end by them is there.
        let mut ended = self.ended_by(&events).await?;
        let jobs: BTreeSet<JobId> = events.iter().filter_map(|event| event.job).collect();
        let specs = self.specs_of(&jobs).await?;
        let entry = |event: AuditEvent| {
            let id = JournalEntry::may_end(&event.decision);
            let found = id.and_then(|id| match event.decision {
                // The same execution may have another entry when it ends.
                Decision::CancelRequested { .. } => ended.get(&id).cloned(),
                _ => ended.remove(&id),
            });
            JournalEntry::new(event, found)
        };
        let entries = events.into_iter().map(entry).collect();
        self.make_decisions_durable(cursor).await?;
        Ok(JournalPage { entries, specs, cursor, more })
    }

    /// The executions that may have come to their end by these decisions, as far as they are over.
    async fn ended_by(&self, events: &[AuditEvent]) -> Result<FxHashMap<ExecutionId, Execution>> {
        let ends = events.iter().filter_map(|event| JournalEntry::may_end(&event.decision));
        let ids: Vec<ExecutionId> = ends.collect();
        // A step records executions at the time of its decisions, and few days are looked at by that.
        let first = events.iter().map(|event| event.at).min();
        let last = events.iter().map(|event| event.at).max();
        let (Some(first), Some(last), false) = (first, last, ids.is_empty()) else {
            return Ok(FxHashMap::default());
        };
        let tags: Vec<i32> = ids.iter().map(|id| tag(id.tag())).collect();
        let query = self.sql.journal_read.query().bind(uuids(&ids)).bind(tags);
        let rows = self.fetch_all(query.bind(time(first)).bind(time(last))).await?;
        let executions = rows.iter().map(|row| rows::execution(row).map(|it| (it.id, it)));
        executions.collect()
    }

    /// The specs of those of the jobs that are there and can be read.
    async fn specs_of(&self, jobs: &BTreeSet<JobId>) -> Result<Vec<Arc<JobSpec>>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.sql.journal_specs_read.query().bind(uuids(jobs));
        let rows = self.fetch_all(query).await?;
        let specs = rows.iter().map(|row| specs::decode(&mut Fields::of(row)));
        Ok(specs.filter_map(Result::ok).map(Arc::new).collect())
    }

    /// Sees to it that no power cut takes back what was read up to here: commits are visible before they
    /// are durable.
    async fn make_decisions_durable(&self, sequence: u64) -> Result<()> {
        if self.durable_decisions.load(Ordering::SeqCst) < sequence {
            self.synced().await.map_err(|fault| self.noted(fault))?;
            self.durable_decisions.fetch_max(sequence, Ordering::SeqCst);
        }
        Ok(())
    }
}
