//! A step: the writes of one verb, gathered and committed together or not at all.

use std::sync::Arc;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::execution::Token;
use chronos_core::store::{Error, Result, Wake};
use chronos_core::{Backfill, Execution, ExecutionId, JobId, Timestamp, TraceId, UserId};
use serde::Serialize;

use super::apply::Taking;
use super::audit;
use super::desk::{File, Home};
use super::keys::Key;
use super::record::{StandingRecord, encode};
use super::retention::GATHERED_EVENTS;
use super::state::{State, engine};
use super::volumes::Volume;
use crate::audit::{SIZE, chapter_of};
use crate::kv::Batch;

pub(super) struct Step<'a> {
    pub(super) state: &'a mut State,
    pub(super) now: Timestamp,
    /// The user who asked for it.
    by: Option<UserId>,
    batch: Batch,
    events: Vec<AuditEvent>,
    /// Whose the job is that was decided about last.
    owner: Option<(JobId, Arc<str>)>,
    /// Jobs whose desks this step has changed, in the order it met them. The desks hold the changes
    /// until the commit, because the engine does not see the batch before.
    changed: Vec<JobId>,
    /// What a bounded store files with its jobs' past by this step.
    pub(super) filed: Vec<(JobId, ExecutionId)>,
    /// Runs of backfills that are over by this step.
    pub(super) filled_in: Vec<Execution>,
    /// Backfills that this step leaves over.
    pub(super) over: Vec<Backfill>,
    /// Volumes of the past that this step changes.
    pub(super) volumes: Vec<Volume>,
    wakes: Wakes,
    /// Who takes what this step fires, and what it took.
    pub(super) taking: Option<Taking>,
    /// The newest token before this step.
    token: Token,
}

/// What became of a verb.
pub(super) struct Stepped<T> {
    pub(super) value: T,
    pub(super) wakes: Wakes,
    /// Whether there is something to make durable.
    pub(super) wrote: bool,
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
#[expect(clippy::struct_excessive_bools, reason = "each loop is woken or is not")]
pub(super) struct Wakes {
    job: bool,
    execution: bool,
    cancel: bool,
    backfill: bool,
}

impl Wakes {
    pub(super) fn iter(self) -> impl Iterator<Item = Wake> {
        let wakes = [
            (self.job, Wake::Job),
            (self.execution, Wake::Execution),
            (self.cancel, Wake::Cancel),
            (self.backfill, Wake::Backfill),
        ];
        wakes.into_iter().filter(|(set, _)| *set).map(|(_, wake)| wake)
    }
}

impl State {
    /// Runs a verb as one step. When it fails midway nothing of it is committed, and the index is
    /// rebuilt before the next one.
    pub(super) fn step<T>(
        &mut self,
        (now, by): (Timestamp, Option<UserId>),
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<Stepped<T>> {
        self.refresh()?;
        self.index.clear_desks();
        let before = (self.index.next_due(), self.index.next_ready());
        let sizes = self.last_sizes;
        let token = self.token;
        let mut step = Step {
            state: self,
            now,
            by,
            batch: Batch { changes: Vec::with_capacity(sizes.0) },
            events: Vec::with_capacity(sizes.1),
            owner: None,
            changed: Vec::new(),
            filed: Vec::new(),
            filled_in: Vec::new(),
            over: Vec::new(),
            volumes: Vec::new(),
            wakes: Wakes::default(),
            taking: None,
            token,
        };
        let outcome = verb(&mut step);
        step.wake_for_earlier(before);
        let changed = step.changes_something();
        let outcome = outcome.and_then(|value| {
            let (wakes, wrote) = step.commit()?;
            Ok(Stepped { value, wakes, wrote })
        });
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

    /// Commits what was gathered; says what may have come due, and whether anything was written.
    fn commit(mut self) -> Result<(Wakes, bool)> {
        self.count_filled_in()?;
        self.file_standings()?;
        self.file_volumes()?;
        self.file_events()?;
        if self.state.token != self.token {
            let token = self.state.token.0;
            self.put(&Key::Token, &token)?;
        }
        self.state.last_sizes = (self.batch.changes.len(), self.events.len());
        let wrote = !self.batch.is_empty();
        if wrote {
            engine(self.state.kv.commit(std::mem::take(&mut self.batch)))?;
        }
        Ok((self.wakes, wrote))
    }

    fn file_standings(&mut self) -> Result<()> {
        for job in std::mem::take(&mut self.changed) {
            let file = self.state.index.desk(job).and_then(|desk| desk.file.as_ref());
            if let Some(place) = file.map(|file| file.place) {
                let place = self.keep_to_bound(job, place)?;
                self.open(job)?.place = place;
            }
            let Some(desk) = self.state.index.desk_mut(job) else {
                continue;
            };
            desk.changed = false;
            // A job that this step deleted stands nowhere.
            if let Some(file) = &desk.file {
                let (place, standing) = (file.place, &file.job.standing);
                let record = StandingRecord { place, standing, live: desk.lodger() };
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
        self.batch.put(Key::Audit(first.sequence).encode(), crate::audit::encode(&self.events)?);
        for event in &self.events {
            self.state.digest.add(event);
            if event.sequence % SIZE == 0 {
                let digest = std::mem::take(&mut self.state.digest).to_bytes();
                self.batch.put(Key::Digest(chapter_of(event.sequence)).encode(), digest);
            }
        }
        let (first, newest) = (first.sequence, self.state.sequence);
        if let Some(expired) = self.state.retention.expired_events(first, newest) {
            for key in audit::expired(self.state.kv.as_ref(), expired)? {
                self.batch.delete(key);
            }
            // A chapter of which nothing is left needs no digest. It may have ended a few steps ago, in
            // which it was not worth a look.
            let before = expired.saturating_sub(newest - first + 1 + GATHERED_EVENTS);
            for chapter in before / SIZE..expired / SIZE {
                self.delete(&Key::Digest(chapter));
            }
        }
        Ok(())
    }

    pub(super) fn put<T: Serialize>(&mut self, key: &Key<'_>, value: &T) -> Result<()> {
        self.batch.put(key.encode(), encode(value)?);
        Ok(())
    }

    /// Removes what is filed under a key as it was read.
    pub(super) fn delete_raw(&mut self, key: crate::kv::Key) {
        self.batch.delete(key);
    }

    /// Files a key that says all by itself.
    pub(super) fn mark(&mut self, key: &Key<'_>) {
        self.batch.put(key.encode(), Vec::new());
    }

    pub(super) fn delete(&mut self, key: &Key<'_>) {
        self.batch.delete(key.encode());
    }

    /// Takes back what was put and deleted so far.
    pub(super) fn write_nothing(&mut self) {
        self.batch.changes.clear();
    }

    /// Has it known that a run was asked to stop.
    pub(super) fn tell_of_cancel(&mut self) {
        self.wakes.cancel = true;
    }

    /// Has it known that a backfill may go on.
    pub(super) fn tell_of_backfill(&mut self) {
        self.wakes.backfill = true;
    }

    /// Files a decision about a job, as a part of this trace if somebody else began it.
    pub(super) fn decide(
        &mut self,
        job: JobId,
        trace: Option<TraceId>,
        decision: Decision,
    ) -> Result<()> {
        let owner = self.owner_of(job)?;
        self.note(owner, Some(job), trace, decision);
        Ok(())
    }

    /// Files a decision about what is this owner's.
    pub(super) fn note(
        &mut self,
        owner: Arc<str>,
        job: Option<JobId>,
        trace: Option<TraceId>,
        decision: Decision,
    ) {
        self.state.sequence += 1;
        let (sequence, at) = (self.state.sequence, self.now);
        let by = self.by.filter(|_| decision.is_asked_for());
        self.events.push(AuditEvent { sequence, at, by, owner, job, trace, decision });
    }

    /// Says whose the job is, for as long as the step decides about it.
    pub(super) fn belongs_to(&mut self, job: JobId, owner: &str) -> Arc<str> {
        let last = self.owner.take().map(|(_, last)| last).filter(|last| **last == *owner);
        let owner = last.unwrap_or_else(|| owner.into());
        self.owner = Some((job, owner.clone()));
        owner
    }

    /// Whose the job is; nobody's if it is gone or cannot be read.
    fn owner_of(&mut self, job: JobId) -> Result<Arc<str>> {
        if let Some((_, owner)) = self.owner.as_ref().filter(|(last, _)| *last == job) {
            return Ok(owner.clone());
        }
        let spec = readable(self.open(job).map(|file| file.job.spec.clone()))?;
        Ok(self.belongs_to(job, spec.as_ref().map_or("", |spec| &spec.owner)))
    }

    pub(super) fn next_token(&mut self) -> Token {
        self.state.token = Token(self.state.token.0 + 1);
        self.state.token
    }

    /// The job's records, as this step leaves them so far; an error when there are none.
    pub(super) fn open(&mut self, job: JobId) -> Result<&mut File> {
        let desk = self.state.index.desk(job);
        if desk.is_some_and(|desk| desk.gone) {
            return Err(Error::NoSuchJob(job));
        }
        if desk.is_none_or(|desk| desk.file.is_none()) {
            let file = self.state.read_file(job)?;
            self.state.index.desk_of(job).file = Some(file);
        }
        let desk = self.state.index.desk_mut(job);
        desk.and_then(|desk| desk.file.as_mut()).ok_or(Error::NoSuchJob(job))
    }

    /// Moves the job to where it stands now in the order of due jobs, and has its record written.
    pub(super) fn settle(&mut self, job: JobId) -> Result<()> {
        let file = self.open(job)?;
        let before = file.place.turn(job);
        file.place.due = file.job.due_at();
        let after = file.place.turn(job);
        self.state.index.move_due(before, after);
        self.state.index.enroll(job);
        self.touch(job)?;
        Ok(())
    }

    /// Sees to it that the job's record is written by this step; says whether there is one.
    pub(super) fn touch(&mut self, job: JobId) -> Result<bool> {
        if readable(self.open(job).map(drop))?.is_err() {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.state.index.desk_of(job).changed, true) {
            self.changed.push(job);
        }
        Ok(true)
    }

    /// Keeps a live execution in its new state: with its job, unless one is kept there already.
    pub(super) fn put_live(&mut self, execution: Execution) -> Result<()> {
        let desk = self.state.index.desk(execution.job);
        let home = desk.map_or(Home::Job, |desk| desk.home(execution.id));
        if home == Home::Job && self.touch(execution.job)? {
            self.state.index.put_live(execution, Home::Job);
            return Ok(());
        }
        self.move_out(execution)
    }

    /// Keeps a live execution in a record of its own.
    pub(super) fn move_out(&mut self, execution: Execution) -> Result<()> {
        self.put(&Key::Live(execution.id), &execution)?;
        self.state.index.put_live(execution, Home::Own);
        Ok(())
    }
}
