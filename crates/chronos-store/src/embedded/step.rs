//! A step: the writes of one verb, gathered and committed together or not at all.

use std::ops::ControlFlow;
use std::sync::Arc;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::execution::{CancelCause, SkipReason, State as Stage, Token};
use chronos_core::plan::{Plan, Withdrawal, follow_up};
use chronos_core::store::{Error, Result, Wake};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Timestamp};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::audit;
use super::keys::{Key, execution_in, past_of};
use super::record::{StandingRecord, encode};
use super::state::{State, engine};
use crate::kv::{Batch, Order};

pub(super) struct Step<'a> {
    pub(super) state: &'a mut State,
    pub(super) now: Timestamp,
    batch: Batch,
    events: Vec<AuditEvent>,
    /// Where jobs stand by this step: one that meets a job twice goes on from there, because the
    /// engine does not see the batch before it is committed.
    standings: FxHashMap<JobId, StandingRecord>,
    /// What a bounded store files with its jobs' past by this step.
    filed: Vec<(JobId, ExecutionId)>,
    wakes: Wakes,
}

/// Tells a record that cannot be read, which is its job's trouble, from an engine that fails, which is
/// everyone's.
pub(super) fn readable<T>(loaded: Result<T>) -> Result<Result<T>> {
    match loaded {
        Err(Error::Unavailable(text)) => Err(Error::Unavailable(text)),
        answer => Ok(answer),
    }
}

/// What may have come due by a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wakes {
    job: bool,
    execution: bool,
    cancel: bool,
}

impl Wakes {
    pub(super) fn iter(self) -> impl Iterator<Item = Wake> {
        let wakes =
            [(self.job, Wake::Job), (self.execution, Wake::Execution), (self.cancel, Wake::Cancel)];
        wakes.into_iter().filter(|(set, _)| *set).map(|(_, wake)| wake)
    }
}

impl State {
    /// Runs a verb as one step. When it fails midway nothing of it is committed, and the index is
    /// rebuilt before the next one.
    pub(super) fn step<T>(
        &mut self,
        now: Timestamp,
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<(T, Wakes)> {
        self.refresh()?;
        let mut step = Step {
            state: self,
            now,
            batch: Batch::default(),
            events: Vec::new(),
            standings: FxHashMap::default(),
            filed: Vec::new(),
            wakes: Wakes::default(),
        };
        let outcome = verb(&mut step);
        let changed = step.changes_something();
        let outcome = outcome.and_then(|value| step.commit().map(|wakes| (value, wakes)));
        if let Err(error) = &outcome {
            self.stale = changed || matches!(error, Error::Unavailable(_));
        }
        outcome
    }
}

impl Step<'_> {
    fn changes_something(&self) -> bool {
        !(self.batch.is_empty() && self.standings.is_empty() && self.events.is_empty())
    }

    fn commit(mut self) -> Result<Wakes> {
        self.file_standings()?;
        self.file_events()?;
        if !self.batch.is_empty() {
            engine(self.state.kv.commit(std::mem::take(&mut self.batch)))?;
        }
        Ok(self.wakes)
    }

    fn file_standings(&mut self) -> Result<()> {
        for (job, mut record) in std::mem::take(&mut self.standings) {
            if let Some(most) = self.state.retention.executions_per_job {
                let excess = record.kept.saturating_sub(most.get());
                record.kept -= self.drop_oldest(job, excess)?;
            }
            self.put(&Key::Standing(job), &record)?;
        }
        Ok(())
    }

    fn file_events(&mut self) -> Result<()> {
        let Some(first) = self.events.first() else {
            return Ok(());
        };
        self.batch.put(Key::Audit(first.sequence).encode(), encode(&self.events)?);
        if let Some(most) = self.state.retention.audit_events {
            let oldest = self.state.sequence.saturating_sub(most);
            for key in audit::expired(self.state.kv.as_ref(), oldest)? {
                self.batch.delete(key);
            }
        }
        Ok(())
    }

    pub(super) fn put<T: Serialize>(&mut self, key: &Key<'_>, value: &T) -> Result<()> {
        self.batch.put(key.encode(), encode(value)?);
        Ok(())
    }

    pub(super) fn delete(&mut self, key: &Key<'_>) {
        self.batch.delete(key.encode());
    }

    pub(super) fn decide(&mut self, job: JobId, decision: Decision) {
        self.state.sequence += 1;
        let sequence = self.state.sequence;
        self.events.push(AuditEvent { sequence, at: self.now, job, decision });
    }

    pub(super) fn wake(&mut self, wake: Wake) {
        match wake {
            Wake::Job => self.wakes.job = true,
            Wake::Execution => self.wakes.execution = true,
            Wake::Cancel => self.wakes.cancel = true,
        }
    }

    pub(super) fn next_token(&mut self) -> Token {
        self.state.token = Token(self.state.token.0 + 1);
        self.state.token
    }

    pub(super) fn put_spec(&mut self, spec: &Arc<JobSpec>) -> Result<()> {
        self.state.index.put_spec(spec);
        self.put(&Key::Spec(spec.id), spec.as_ref())
    }

    /// The job and its record, as this step leaves them so far; an error when there is none.
    pub(super) fn load(&mut self, job: JobId) -> Result<(Job, StandingRecord)> {
        let Some(record) = self.standings.get(&job).cloned() else {
            return self.state.load(job);
        };
        let spec = self.state.spec(job)?;
        let standing = record.standing.clone();
        Ok((Job { spec, standing }, record))
    }

    /// Keeps where the job stands and moves it in the order of due jobs.
    pub(super) fn put_standing(&mut self, job: &Job, record: &mut StandingRecord) {
        let due = job.due_at();
        self.state.index.move_due(job.spec.id, record.due, due);
        record.due = due;
        record.standing.clone_from(&job.standing);
        self.standings.insert(job.spec.id, record.clone());
    }

    pub(super) fn put_live(&mut self, execution: Execution) -> Result<()> {
        if execution.is_queued() && !execution.is_held() {
            self.wake(Wake::Execution);
        }
        self.put(&Key::Live(execution.id), &execution)?;
        self.state.index.put_live(execution);
        Ok(())
    }

    /// Files an execution that is over with its job's past. `record` counts what is kept, and is put
    /// afterwards; `None` when the job is gone.
    pub(super) fn put_past(
        &mut self,
        execution: &Execution,
        record: Option<&mut StandingRecord>,
    ) -> Result<()> {
        if self.state.index.take_live(execution.id).is_some() {
            self.delete(&Key::Live(execution.id));
        }
        let bounded = self.state.retention.executions_per_job.is_some();
        match record {
            // A bounded store keeps no past for jobs that nobody can ask about by name.
            None if bounded => return Ok(()),
            None => {}
            Some(record) => record.kept = record.kept.saturating_add(1),
        }
        if bounded {
            self.filed.push((execution.job, execution.id));
        }
        self.put(&Key::Past(execution.job, execution.id), execution)?;
        self.put(&Key::JobOf(execution.id), &execution.job)
    }

    /// Deletes the job's oldest past executions; says how many there were to delete.
    pub(super) fn drop_oldest(&mut self, job: JobId, count: u32) -> Result<u32> {
        if count == 0 {
            return Ok(0);
        }
        let (from, to) = past_of(job);
        let mut oldest: Vec<ExecutionId> = Vec::new();
        engine(self.state.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
            oldest.extend(execution_in(key));
            if oldest.len() < count as usize {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }))?;
        // What this step files is not visible to the scan yet.
        let filed = self.filed.iter().filter(|(owner, _)| *owner == job);
        oldest.extend(filed.map(|(_, id)| *id));
        oldest.sort_unstable();
        oldest.truncate(count as usize);
        for id in &oldest {
            self.delete(&Key::Past(job, *id));
            self.delete(&Key::JobOf(*id));
            self.delete(&Key::DeadLetter(*id));
        }
        Ok(u32::try_from(oldest.len()).unwrap_or(u32::MAX))
    }

    /// Makes a plan so.
    pub(super) fn apply(
        &mut self,
        job: &mut Job,
        record: &mut StandingRecord,
        plan: &Plan,
    ) -> Result<()> {
        job.standing.clone_from(&plan.standing);
        for withdrawal in &plan.withdrawals {
            match withdrawal {
                Withdrawal::Skip(id, reason) => self.skip(*id, reason, record)?,
                Withdrawal::Cancel(id, cause) => self.cancel(*id, *cause, Some(&mut *record))?,
                Withdrawal::Hold(id) => self.hold(*id, true)?,
            }
        }
        for execution in &plan.executions {
            if execution.is_live() {
                self.put_live(execution.clone())?;
            } else {
                self.put_past(execution, Some(&mut *record))?;
            }
        }
        for decision in &plan.decisions {
            self.decide(job.spec.id, decision.clone());
        }
        if !plan.withdrawals.is_empty() {
            self.follow_up(job)?;
        }
        self.put_standing(job, record);
        Ok(())
    }

    fn skip(
        &mut self,
        id: ExecutionId,
        reason: &SkipReason,
        record: &mut StandingRecord,
    ) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        execution.state = Stage::Skipped { reason: reason.clone(), at: self.now };
        self.put_past(&execution, Some(record))
    }

    pub(super) fn hold(&mut self, id: ExecutionId, held: bool) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        execution.state = Stage::Queued { held };
        self.put_live(execution)
    }

    /// Cancels a live execution for someone who asks, and says so; asking again changes nothing.
    pub(super) fn ask_to_stop(
        &mut self,
        execution: &Execution,
        cause: CancelCause,
        record: Option<&mut StandingRecord>,
    ) -> Result<()> {
        if asked_to_stop(execution) {
            return Ok(());
        }
        let (job, execution) = (execution.job, execution.id);
        self.decide(job, Decision::CancelRequested { execution, cause });
        self.cancel(execution, cause, record)
    }

    /// Cancels a live execution: at once while it waits, by request while it runs. Says nothing about
    /// it: whoever decided it does.
    pub(super) fn cancel(
        &mut self,
        id: ExecutionId,
        cause: CancelCause,
        record: Option<&mut StandingRecord>,
    ) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        if let Stage::Running(running) = &mut execution.state {
            if running.cancel.is_none() {
                running.cancel = Some(cause);
                self.wake(Wake::Cancel);
                self.put_live(execution)?;
            }
            return Ok(());
        }
        execution.state = Stage::Cancelled { run: None, cause, at: self.now };
        self.put_past(&execution, record)
    }

    /// Lets the job's other executions go on after one is gone.
    pub(super) fn follow_up(&mut self, job: &mut Job) -> Result<()> {
        let after = follow_up(job, &self.state.index.live_of(job.spec.id), self.now);
        for id in after.release {
            self.hold(id, false)?;
        }
        if let Some(next) = after.next_slot {
            job.standing.next_slot = Some(next);
            self.wake(Wake::Job);
        }
        if after.over {
            job.standing.enabled = false;
        }
        Ok(())
    }
}

/// Whether the execution runs and someone asked for it to stop.
pub(super) fn asked_to_stop(execution: &Execution) -> bool {
    let running = execution.running();
    running.is_some_and(|running| running.cancel.is_some())
}
