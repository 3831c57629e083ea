//! A desk: what is known of one job in memory, its records open and its live executions upon it.

use std::cell::Cell;
use std::collections::VecDeque;

use chronos_core::{Execution, ExecutionId, Job, JobId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::record::Place;
use super::roll::Mark;

/// What is known of a job that fires, or whose executions live.
#[derive(Debug)]
pub(super) struct Desk {
    job: JobId,
    /// The job's records, decoded, once somebody opened them.
    pub(super) file: Option<File>,
    /// Whether the step under way has changed the file or the lodger.
    pub(super) changed: bool,
    /// Whether the job was deleted; its executions may still run.
    pub(super) gone: bool,
    live: SmallVec<[(Execution, Home); 1]>,
}

/// Every desk. A step comes back to the same one many times before it turns to the next, so that one
/// is found without looking.
#[derive(Debug, Default)]
pub(super) struct Desks {
    seats: FxHashMap<JobId, usize>,
    /// At which desk each live execution is.
    live: FxHashMap<ExecutionId, usize>,
    room: Vec<Option<Box<Desk>>>,
    free: Vec<usize>,
    /// In the order in which they came.
    order: VecDeque<JobId>,
    last: Cell<Option<(JobId, usize)>>,
}

impl Desks {
    fn seat(&self, job: JobId) -> Option<usize> {
        match self.last.get() {
            Some((last, seat)) if last == job => Some(seat),
            _ => {
                let seat = *self.seats.get(&job)?;
                self.last.set(Some((job, seat)));
                Some(seat)
            }
        }
    }

    pub(super) fn get(&self, job: JobId) -> Option<&Desk> {
        self.room.get(self.seat(job)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, job: JobId) -> Option<&mut Desk> {
        let seat = self.seat(job)?;
        self.room.get_mut(seat)?.as_deref_mut()
    }

    /// The desk of a job, empty if there was none.
    pub(super) fn of(&mut self, job: JobId) -> &mut Desk {
        let seat = self.seat(job).unwrap_or_else(|| {
            let seat = self.free.pop().unwrap_or_else(|| {
                self.room.push(None);
                self.room.len() - 1
            });
            self.seats.insert(job, seat);
            self.order.push_back(job);
            self.last.set(Some((job, seat)));
            seat
        });
        self.room[seat].get_or_insert_with(|| Box::new(Desk::of(job)))
    }

    /// The desk at which an execution lives.
    pub(super) fn with(&self, execution: ExecutionId) -> Option<&Desk> {
        let seat = *self.live.get(&execution)?;
        let desk = self.room.get(seat)?.as_deref()?;
        self.last.set(Some((desk.job, seat)));
        Some(desk)
    }

    /// Adds a live execution, or replaces it; gives back what it was, and what it is now.
    pub(super) fn put(
        &mut self,
        execution: Execution,
        home: Home,
    ) -> (Option<Execution>, Option<&Execution>) {
        let (id, job) = (execution.id, execution.job);
        let before = self.of(job).put(execution, home);
        if before.is_none()
            && let Some(seat) = self.seat(job)
        {
            self.live.insert(id, seat);
        }
        (before, self.get(job).and_then(|desk| desk.live(id)))
    }

    /// Removes a live execution.
    pub(super) fn take(&mut self, id: ExecutionId) -> Option<(Execution, Home)> {
        let seat = self.live.remove(&id)?;
        self.room.get_mut(seat)?.as_deref_mut()?.take(id)
    }

    /// Every desk with a live execution, once for each, in no order.
    pub(super) fn with_live(&self) -> impl Iterator<Item = (ExecutionId, &Desk)> {
        let live = self.live.iter();
        live.filter_map(|(id, seat)| Some((*id, self.room.get(*seat)?.as_deref()?)))
    }

    /// How many executions live.
    pub(super) fn living(&self) -> usize {
        self.live.len()
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Clears the desk that has been there longest, unless something lives there or its file is to be
    /// kept; gives back the file that lay upon it.
    pub(super) fn clear_oldest(&mut self, keep: impl Fn(&File) -> bool) -> Option<File> {
        let job = self.order.pop_front()?;
        let seat = *self.seats.get(&job)?;
        let desk = self.room.get(seat)?.as_deref()?;
        if desk.is_busy() || desk.file.as_ref().is_some_and(keep) {
            self.order.push_back(job);
            return None;
        }
        self.last.set(None);
        self.seats.remove(&job);
        self.free.push(seat);
        self.room.get_mut(seat)?.take()?.file
    }
}

/// A job's records, decoded.
#[derive(Debug)]
pub(super) struct File {
    pub(super) job: Job,
    pub(super) place: Place,
    /// How the roll has the job down.
    pub(super) mark: Mark,
}

impl File {
    /// The file of a job that is on the roll.
    pub(super) fn new(job: Job, place: Place) -> Self {
        let mark = Mark::of(&job, place.due);
        Self { job, place, mark }
    }
}

/// Which record a live execution is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Its job's.
    Job,
    /// One of its own.
    Own,
}

impl Desk {
    fn of(job: JobId) -> Self {
        Self { job, file: None, changed: false, gone: false, live: SmallVec::new() }
    }

    /// Whose desk it is.
    pub(super) fn job(&self) -> JobId {
        self.job
    }

    /// Whether there is more here than a copy of what is on record.
    pub(super) fn is_busy(&self) -> bool {
        !self.live.is_empty()
    }

    /// Adds a live execution, or replaces it and gives back what it was.
    fn put(&mut self, execution: Execution, home: Home) -> Option<Execution> {
        let known = self.live.iter_mut().find(|(known, _)| known.id == execution.id);
        let Some(known) = known else {
            self.live.push((execution, home));
            return None;
        };
        Some(std::mem::replace(known, (execution, home)).0)
    }

    /// Removes a live execution.
    fn take(&mut self, id: ExecutionId) -> Option<(Execution, Home)> {
        let position = self.live.iter().position(|(live, _)| live.id == id)?;
        Some(self.live.remove(position))
    }

    /// The live execution of this id.
    pub(super) fn live(&self, id: ExecutionId) -> Option<&Execution> {
        self.all_live().find(|live| live.id == id)
    }

    /// Every live execution, in the order they came.
    pub(super) fn all_live(&self) -> impl Iterator<Item = &Execution> {
        self.live.iter().map(|(live, _)| live)
    }

    /// Where a live execution is kept, or is to be kept if it is new.
    pub(super) fn home(&self, id: ExecutionId) -> Home {
        let known = self.live.iter().find(|(live, _)| live.id == id);
        known.map_or(if self.lodger().is_none() { Home::Job } else { Home::Own }, |(_, home)| *home)
    }

    /// The live execution that is kept with the job.
    pub(super) fn lodger(&self) -> Option<&Execution> {
        self.live.iter().find(|(_, home)| *home == Home::Job).map(|(live, _)| live)
    }
}
