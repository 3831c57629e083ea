//! A step: the writes of one verb, gathered and committed together or not at all.

use std::ops::ControlFlow;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::execution::{CancelCause, SkipReason, State as Stage, Token};
use chronos_core::plan::{Plan, Withdrawal, follow_up};
use chronos_core::store::{Error, Result, Wake};
use chronos_core::{Execution, ExecutionId, Job, JobId, Timestamp};
use serde::Serialize;

use super::audit;
use super::index::Hot;
use super::keys::{Key, execution_in, past_of};
use super::record::{Place, StandingRecord, encode};
use super::state::{State, engine};
use crate::kv::{Batch, Order};

pub(super) struct Step<'a> {
    pub(super) state: &'a mut State,
    pub(super) now: Timestamp,
    batch: Batch,
    events: Vec<AuditEvent>,
    /// Jobs that stand elsewhere by this step, in the order it met them. Where they stand is in the
    /// index until the commit, because the engine does not see the batch before.
    changed: Vec<JobId>,
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
        self.index.cool_down();
        let before = (self.index.next_due(), self.index.next_ready());
        let sizes = self.last_sizes;
        let mut step = Step {
            state: self,
            now,
            batch: Batch { changes: Vec::with_capacity(sizes.0) },
            events: Vec::with_capacity(sizes.1),
            changed: Vec::new(),
            filed: Vec::new(),
            wakes: Wakes::default(),
        };
        let outcome = verb(&mut step);
        step.wake_for_earlier(before);
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
        !(self.batch.is_empty() && self.changed.is_empty() && self.events.is_empty())
    }

    fn commit(mut self) -> Result<Wakes> {
        self.file_standings()?;
        self.file_events()?;
        self.state.last_sizes = (self.batch.changes.len(), self.events.len());
        if !self.batch.is_empty() {
            engine(self.state.kv.commit(std::mem::take(&mut self.batch)))?;
        }
        Ok(self.wakes)
    }

    fn file_standings(&mut self) -> Result<()> {
        for job in std::mem::take(&mut self.changed) {
            let most = self.state.retention.executions_per_job;
            let kept = self.state.index.hot.get(&job).map_or(0, |hot| hot.place.kept);
            let excess = most.map_or(0, |most| kept.saturating_sub(most.get()));
            let dropped = self.drop_oldest(job, excess)?;
            // A job that this step deleted stands nowhere.
            if let Some(hot) = self.state.index.hot.get_mut(&job) {
                hot.place.kept -= dropped;
                hot.changed = false;
                let record = StandingRecord { place: hot.place, standing: &hot.job.standing };
                self.batch.put(Key::Standing(job).encode(), encode(&record)?);
            }
        }
        Ok(())
    }

    /// Wakes those who sleep until something is due, if something is due earlier than it was.
    fn wake_for_earlier(&mut self, (due, ready): (Option<Timestamp>, Option<Timestamp>)) {
        let earlier = |now: Option<Timestamp>, before: Option<Timestamp>| {
            now.is_some_and(|now| before.is_none_or(|before| now < before))
        };
        self.wakes.job = earlier(self.state.index.next_due(), due);
        self.wakes.execution = earlier(self.state.index.next_ready(), ready);
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

    pub(super) fn next_token(&mut self) -> Token {
        self.state.token = Token(self.state.token.0 + 1);
        self.state.token
    }

    /// The job and its place, as this step leaves them so far; an error when there is none.
    pub(super) fn load(&mut self, job: JobId) -> Result<(Job, Place)> {
        let loaded = self.state.load(job)?;
        self.state.index.hot.entry(job).or_insert_with(|| Hot {
            job: loaded.0.clone(),
            place: loaded.1,
            changed: false,
        });
        Ok(loaded)
    }

    /// Keeps where the job stands and moves it in the order of due jobs.
    pub(super) fn put_standing(&mut self, job: Job, place: Place) {
        let due = job.due_at();
        self.state.index.move_due(job.spec.id, place.due, due);
        self.state.index.set_paused(job.spec.id, job.standing.paused.is_some());
        let place = Place { due, ..place };
        let id = job.spec.id;
        let hot = Hot { job, place, changed: true };
        let before = self.state.index.hot.insert(id, hot);
        if before.is_none_or(|before| !before.changed) {
            self.changed.push(id);
        }
    }

    pub(super) fn put_live(&mut self, execution: Execution) -> Result<()> {
        self.put(&Key::Live(execution.id), &execution)?;
        self.state.index.put_live(execution);
        Ok(())
    }

    /// Files an execution that is over with its job's past. `place` counts what is kept, and is put
    /// afterwards; `None` when the job is gone.
    pub(super) fn put_past(
        &mut self,
        execution: &Execution,
        place: Option<&mut Place>,
    ) -> Result<()> {
        if self.state.index.take_live(execution.id).is_some() {
            self.delete(&Key::Live(execution.id));
        }
        let bounded = self.state.retention.executions_per_job.is_some();
        match place {
            // A bounded store keeps no past for jobs that nobody can ask about by name.
            None if bounded => return Ok(()),
            None => {}
            Some(place) => place.kept = place.kept.saturating_add(1),
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

    /// Makes a plan so; the caller puts where the job stands.
    pub(super) fn apply(&mut self, job: &mut Job, place: &mut Place, plan: &Plan) -> Result<()> {
        job.standing.clone_from(&plan.standing);
        for withdrawal in &plan.withdrawals {
            match withdrawal {
                Withdrawal::Skip(id, reason) => self.skip(*id, reason, place)?,
                Withdrawal::Cancel(id, cause) => self.cancel(*id, *cause, Some(&mut *place))?,
                Withdrawal::Hold(id) => self.hold(*id, true)?,
            }
        }
        for execution in &plan.executions {
            if execution.is_live() {
                self.put_live(execution.clone())?;
            } else {
                self.put_past(execution, Some(&mut *place))?;
            }
        }
        for decision in &plan.decisions {
            self.decide(job.spec.id, decision.clone());
        }
        if !plan.withdrawals.is_empty() {
            self.follow_up(job)?;
        }
        Ok(())
    }

    fn skip(&mut self, id: ExecutionId, reason: &SkipReason, place: &mut Place) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        execution.state = Stage::Skipped { reason: reason.clone(), at: self.now };
        self.put_past(&execution, Some(place))
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
        place: Option<&mut Place>,
    ) -> Result<()> {
        if asked_to_stop(execution) {
            return Ok(());
        }
        let (job, execution) = (execution.job, execution.id);
        self.decide(job, Decision::CancelRequested { execution, cause });
        self.cancel(execution, cause, place)
    }

    /// Cancels a live execution: at once while it waits, by request while it runs. Says nothing about
    /// it: whoever decided it does.
    pub(super) fn cancel(
        &mut self,
        id: ExecutionId,
        cause: CancelCause,
        place: Option<&mut Place>,
    ) -> Result<()> {
        let Some(mut execution) = self.state.index.live(id).cloned() else {
            return Ok(());
        };
        if let Stage::Running(running) = &mut execution.state {
            if running.cancel.is_none() {
                running.cancel = Some(cause);
                self.wakes.cancel = true;
                self.put_live(execution)?;
            }
            return Ok(());
        }
        execution.state = Stage::Cancelled { run: None, cause, at: self.now };
        self.put_past(&execution, place)
    }

    /// Lets the job's other executions go on after one is gone.
    pub(super) fn follow_up(&mut self, job: &mut Job) -> Result<()> {
        let after = follow_up(job, &self.state.index.live_of(job.spec.id), self.now);
        for id in after.release {
            self.hold(id, false)?;
        }
        if let Some(next) = after.next_slot {
            job.standing.next_slot = Some(next);
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
