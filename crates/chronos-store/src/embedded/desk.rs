//! A desk: what is known of one job in memory, its records open and its live executions upon it.

use std::cell::Cell;

use chronos_core::{Execution, ExecutionId, Job, JobId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::record::Place;

/// What is known of a job that fires, or whose executions live.
#[derive(Debug, Default)]
pub(super) struct Desk {
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
    room: Vec<Option<Box<Desk>>>,
    free: Vec<usize>,
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
            seat
        });
        self.room[seat].get_or_insert_default()
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Clears every desk that is not to be kept.
    pub(super) fn keep_only(&mut self, keep: impl Fn(JobId, &Desk) -> bool) {
        self.last.set(None);
        let Self { seats, room, free, .. } = self;
        seats.retain(|job, seat| {
            let kept = room[*seat].as_ref().is_some_and(|desk| keep(*job, desk));
            if !kept {
                room[*seat] = None;
                free.push(*seat);
            }
            kept
        });
    }
}

/// A job's records, decoded.
#[derive(Debug)]
pub(super) struct File {
    pub(super) job: Job,
    pub(super) place: Place,
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
    /// Whether there is more here than a copy of what is on record.
    pub(super) fn is_busy(&self) -> bool {
        !self.live.is_empty()
    }

    /// Adds a live execution, or replaces it and gives back what it was.
    pub(super) fn put(&mut self, execution: Execution, home: Home) -> Option<Execution> {
        let known = self.live.iter_mut().find(|(known, _)| known.id == execution.id);
        let Some(known) = known else {
            self.live.push((execution, home));
            return None;
        };
        Some(std::mem::replace(known, (execution, home)).0)
    }

    /// Removes a live execution.
    pub(super) fn take(&mut self, id: ExecutionId) -> Option<(Execution, Home)> {
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
