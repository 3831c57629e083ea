//! The index: what is due, waiting and running, held in memory beside the engine's records.
//!
//! Scanning the head of a queue over an LSM tree's tombstones is slow, so the embedded store never
//! does. The records are the truth; the index is rebuilt from them at start and after a failed write.

use std::collections::BTreeMap;

use chronos_core::policy::QuietHours;
use chronos_core::{
    Backfill, Execution, ExecutionId, JobId, PolicyId, Subscription, SubscriptionId, Timestamp,
};
use smallvec::SmallVec;

use super::desk::{Desk, Desks, File, Home};
use super::due::{Due, Turn};
use super::ready::{Crowd, Overdue, Ready};
use super::roll::{Card, Mark, Roll};

/// Desks kept for jobs that are at rest; past this many the oldest are cleared, between two steps.
const AT_REST: usize = 65_536;
/// Desks cleared between two steps: more than a step opens.
const CLEARED: usize = 512;
/// Jobs due next whose desks are opened before, and not cleared.
const AHEAD: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Index {
    due: Due,
    ready: Ready,
    overdue: Overdue,
    desks: Desks,
    pub(super) policies: BTreeMap<PolicyId, QuietHours>,
    pub(super) subscriptions: BTreeMap<SubscriptionId, Subscription>,
    /// Backfills that are not over, by their jobs and numbers.
    pub(super) backfills: BTreeMap<(JobId, u64), Backfill>,
    pub(super) jobs: u64,
    pub(super) roll: Roll,
    running: u64,
}

impl Index {
    /// The job that is due first of those whose time has come, of the crowd or of the others.
    pub(super) fn first_due(&self, now: Timestamp, crowd_first: bool) -> Option<Turn> {
        self.due.first(now, crowd_first)
    }

    /// When a job is due first.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.next()
    }

    /// Up to `most` jobs without a desk among those that are due next. None while every job can keep the
    /// desk that it once had.
    pub(super) fn due_unopened(&self, most: usize) -> Vec<JobId> {
        if self.jobs <= AT_REST as u64 {
            return Vec::new();
        }
        let unopened =
            |job: &JobId| self.desk(*job).is_none_or(|desk| desk.file.is_none() && !desk.gone);
        self.due_next().filter(unopened).take(most).collect()
    }

    fn due_next(&self) -> impl Iterator<Item = JobId> {
        self.due.from(Timestamp::MIN).take(AHEAD).map(|(_, job)| job)
    }

    /// Puts jobs in the order in which they are due, at once: much faster than one by one.
    pub(super) fn set_due(&mut self, due: &[Turn]) {
        self.due = Due::new(due);
    }

    /// Moves a job in the order of due jobs from where it was to where it is now.
    pub(super) fn move_due(&mut self, from: Option<Turn>, to: Option<Turn>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.due.remove(from);
        }
        if let Some(to) = to {
            self.due.insert(to);
        }
    }

    pub(super) fn paused(&self) -> u64 {
        self.roll.paused().len() as u64
    }

    /// Follows on the roll a job whose records are open; its next slot is noted when they are closed.
    pub(super) fn enroll(&mut self, job: JobId) {
        let Some(file) = self.desks.get_mut(job).and_then(|desk| desk.file.as_mut()) else {
            return;
        };
        let mark = Mark::of(&file.job, file.place.due);
        if mark != file.mark {
            self.roll.mark(job, mark);
            file.mark = mark;
        }
    }

    /// The next slot of a job that is on the roll.
    pub(super) fn next_slot(&self, job: JobId, card: &Card) -> Option<Timestamp> {
        let file = self.desk(job).and_then(|desk| desk.file.as_ref());
        file.map_or(card.next(), |file| file.job.standing.next_slot)
    }

    /// The jobs that are due from an instant on, up to another.
    pub(super) fn due_between(
        &self,
        from: Timestamp,
        before: Option<Timestamp>,
    ) -> impl Iterator<Item = JobId> {
        let due = self.due.from(from);
        due.take_while(move |(at, _)| before.is_none_or(|before| *at < before)).map(|(_, job)| job)
    }

    /// The job of every live execution, in no order.
    pub(super) fn live_jobs(&self) -> impl Iterator<Item = JobId> {
        self.desks.with_live().map(|(_, desk)| desk.job())
    }

    /// The execution that is to be claimed first of those whose time has come.
    pub(super) fn first_ready(&self, now: Timestamp, crowd: Crowd) -> Option<&Execution> {
        self.live(self.ready.first(now, crowd)?)
    }

    /// When an execution of such a rank may be claimed first.
    pub(super) fn next_ready_of(&self, crowd: Crowd) -> Option<Timestamp> {
        self.ready.next(crowd)
    }

    /// Offers a waiting execution to nobody until the next start.
    pub(super) fn set_aside(&mut self, execution: &Execution) {
        self.ready.settle(Some(execution), None);
    }

    /// When an execution may be claimed first.
    pub(super) fn next_ready(&self) -> Option<Timestamp> {
        self.ready.next(Crowd::Last)
    }

    /// Up to `limit` executions that have not begun in time, those that are longest overdue first.
    pub(super) fn overdue(&self, now: Timestamp, limit: usize) -> Vec<ExecutionId> {
        self.overdue.until(now, limit)
    }

    /// Has nobody told of an execution until the next start.
    pub(super) fn leave_overdue(&mut self, execution: &Execution) {
        self.overdue.settle(Some(execution), None);
    }

    /// When an execution is overdue first.
    pub(super) fn next_overdue(&self) -> Option<Timestamp> {
        self.overdue.next()
    }

    /// What is known of a job.
    pub(super) fn desk(&self, job: JobId) -> Option<&Desk> {
        self.desks.get(job)
    }

    pub(super) fn desk_mut(&mut self, job: JobId) -> Option<&mut Desk> {
        self.desks.get_mut(job)
    }

    /// The desk of a job, empty if there was none.
    pub(super) fn desk_of(&mut self, job: JobId) -> &mut Desk {
        self.desks.of(job)
    }

    /// Adds a live execution or replaces it in its new state.
    pub(super) fn put_live(&mut self, execution: Execution, home: Home) {
        self.running += u64::from(execution.running().is_some());
        let (before, after) = self.desks.put(execution, home);
        self.ready.settle(before.as_ref(), after);
        self.overdue.settle(before.as_ref(), after);
        self.running -= u64::from(before.is_some_and(|before| before.running().is_some()));
    }

    /// Removes a live execution; says where it was kept.
    pub(super) fn take_live(&mut self, id: ExecutionId) -> Option<Home> {
        let (execution, home) = self.desks.take(id)?;
        self.ready.settle(Some(&execution), None);
        self.overdue.settle(Some(&execution), None);
        self.running -= u64::from(execution.running().is_some());
        Some(home)
    }

    pub(super) fn live(&self, id: ExecutionId) -> Option<&Execution> {
        self.desks.with(id)?.live(id)
    }

    /// The live executions of a job.
    pub(super) fn live_of(&self, job: JobId) -> SmallVec<[&Execution; 4]> {
        self.desk(job).map(|desk| desk.all_live().collect()).unwrap_or_default()
    }

    /// Every execution that runs, in no order.
    pub(super) fn running(&self) -> impl Iterator<Item = &Execution> {
        let live = self.desks.with_live().filter_map(|(id, desk)| desk.live(id));
        live.filter(|execution| execution.running().is_some())
    }

    pub(super) fn queued_and_running(&self) -> (u64, u64) {
        (self.desks.living() as u64 - self.running, self.running)
    }

    /// Clears some desks of jobs at rest when there are many; only between steps, because a step's
    /// changes lie there first.
    pub(super) fn clear_desks(&mut self) {
        let most = AT_REST + self.desks.living();
        if self.desks.len() < most {
            return;
        }
        let soon = self.due.from(Timestamp::MIN).nth(AHEAD).map(|(at, _)| at);
        let is_soon =
            |file: &File| file.place.due.is_some_and(|due| soon.is_none_or(|at| due < at));
        for _ in 0..CLEARED {
            if let Some(file) = self.desks.clear_oldest(is_soon) {
                self.roll.note_next(&file.job);
            }
            if self.desks.len() < most {
                break;
            }
        }
    }
}
