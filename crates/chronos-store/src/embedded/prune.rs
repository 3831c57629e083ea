//! Pruning: forgetting executions and decisions that are older than they are to be kept.

use std::ops::ControlFlow;

use chronos_core::store::{Prune, Pruned, Records, Result, midnight};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp};

use super::audit;
use super::keys::{Key, Table, past_volume_in};
use super::record::decode;
use super::state::engine;
use super::step::{Step, readable};
use crate::audit::SIZE;
use crate::kv::{self, Order};

/// Records that are looked at in one step.
const LOOKED_AT: usize = 1_000;

impl Step<'_> {
    /// Forgets what is to be forgotten of what is looked at in one step, which begins where one before it ended.
    pub(super) fn prune(&mut self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        match prune.records {
            Records::Executions => self.prune_executions(prune, from),
            Records::Decisions => self.prune_decisions(prune, from),
        }
    }

    fn prune_executions(&mut self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        let (first, end) = Table::Past.range();
        let from = from.filter(|from| **from > *first && **from < *end).unwrap_or(&first);
        let cutoff = prune.cutoff();
        let mut old: Vec<(JobId, ExecutionId)> = Vec::new();
        let (mut seen, mut next) = (0, None);
        engine(self.state.kv.scan(from, &end, Order::Ascending, &mut |key, value| {
            // Nothing in a volume ended before its first slot.
            if past_volume_in(key).is_some_and(|volume| volume.start() >= cutoff) {
                next = None;
                return ControlFlow::Break(());
            }
            // One that cannot be read tells no age, and stays.
            if let Ok(execution) = decode::<Execution>(value)
                && execution.finished_at().is_some_and(|at| at < cutoff)
            {
                old.push((execution.job, execution.id));
            }
            seen += 1;
            next = Some([key, &[0]].concat().into_boxed_slice());
            if seen < LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }))?;
        let next = next.filter(|_| seen == LOOKED_AT);
        if !prune.rehearsal {
            for (job, id) in &old {
                self.forget(*job, *id)?;
            }
        }
        Ok(Pruned { count: old.len() as u64, next })
    }

    /// Takes an execution out of its job's past.
    fn forget(&mut self, job: JobId, id: ExecutionId) -> Result<()> {
        let exists = readable(self.touch(job))?.unwrap_or(false);
        self.take_out_of_past(job, id);
        if exists {
            let place = &mut self.open(job)?.place;
            place.kept = place.kept.saturating_sub(1);
        }
        Ok(())
    }

    fn prune_decisions(&mut self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        let (first, _) = Table::Audit.range();
        let kv = self.state.kv.clone();
        let Some((newest_key, newest_at)) = audit::newest_record(kv.as_ref())? else {
            return Ok(Pruned::default());
        };
        // The next decision is numbered from the newest, whose day stays for that.
        let cutoff: Timestamp = prune.cutoff().min(midnight(newest_at));
        let from = from.filter(|from| **from > *first && **from < *newest_key).unwrap_or(&first);
        let mut old: Vec<kv::Key> = Vec::new();
        let (mut count, mut seen, mut next) = (0, 0, None);
        let mut sequences: Option<(u64, u64)> = None;
        audit::records(kv.as_ref(), (from, &newest_key), |key, events| {
            let (Some(oldest), Some(last)) = (events.first(), events.last()) else {
                return ControlFlow::Continue(());
            };
            if last.at >= cutoff {
                next = None;
                return ControlFlow::Break(());
            }
            old.push(key.into());
            count += events.len() as u64;
            let begun = sequences.map_or(oldest.sequence, |(first, _)| first);
            sequences = Some((begun, last.sequence));
            seen += 1;
            next = Some([key, &[0]].concat().into_boxed_slice());
            if seen < LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let next = next.filter(|_| seen == LOOKED_AT);
        if let (Some((begun, last)), false) = (sequences, prune.rehearsal) {
            for key in old {
                self.delete_raw(key);
            }
            // A chapter of which nothing is left needs no digest.
            for chapter in begun.saturating_sub(1) / SIZE..last / SIZE {
                self.delete(&Key::Digest(chapter));
            }
        }
        Ok(Pruned { count, next })
    }
}
