//! The roster: what this engine runs now, and until when each run may go on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use chronos_core::ExecutionId;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Hold, Openings};
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::places::Places;
use crate::handler::JobContext;

/// A run on this engine. Times are monotonic: a wall clock that jumps must not end anyone.
pub(crate) struct Entry {
    pub(crate) context: JobContext,
    /// Whether someone asked this run, and not the whole engine, to stop.
    pub(crate) stop_asked: bool,
    /// When the run began.
    pub(crate) began: Duration,
    renewed: Duration,
    end: Option<(Duration, Ending)>,
}

impl Entry {
    pub(crate) fn new(context: JobContext, renewed: Duration, began: Duration) -> Self {
        Self { context, stop_asked: false, began, renewed, end: None }
    }

    /// The place that it has on the roster.
    fn place(&self) -> Openings {
        Openings { any: 1, crowd: usize::from(self.context.rank().is_crowd()) }
    }

    /// Cancels its token and drops its future at the next point where it waits.
    pub(crate) fn abort(&self) {
        self.context.token().cancel();
        self.context.task().abort();
    }
}

/// The task of a run, from when it has one until it must have none.
#[derive(Debug, Default)]
pub(crate) struct Task {
    handle: OnceLock<AbortHandle>,
    withdrawn: AtomicBool,
}

impl Task {
    /// Begins the task, unless the run was given up meanwhile: then it must not begin any more.
    pub(crate) fn begin(&self, begin: impl FnOnce() -> AbortHandle) {
        if !self.withdrawn.load(Ordering::SeqCst) {
            let handle = self.handle.get_or_init(begin);
            // Whoever gave the run up between the two looks found no task to abort.
            if self.withdrawn.load(Ordering::SeqCst) {
                handle.abort();
            }
        }
    }

    fn abort(&self) {
        self.withdrawn.store(true, Ordering::SeqCst);
        if let Some(handle) = self.handle.get() {
            handle.abort();
        }
    }
}

/// Parts of a roster. Runs begin on one thread while others end on another, each for a moment at a
/// time: with parts they seldom wait for each other.
const PARTS: usize = 16;

#[derive(Default)]
pub(crate) struct Roster {
    parts: [Mutex<Part>; PARTS],
    /// Runs on the roster.
    runs: AtomicUsize,
    /// Those, and the room that someone holds and has not filled yet.
    places: Places,
    /// Whether nothing may be added any more.
    closed: AtomicBool,
    emptied: Notify,
}

#[derive(Default)]
struct Part {
    entries: FxHashMap<ExecutionId, Entry>,
    ends: BTreeSet<(Duration, ExecutionId)>,
}

/// Room on a roster for runs that may be claimed: held by one loop, so that two never fill it twice.
/// What is left of it when it is dropped is anyone's again.
pub(crate) struct Room {
    roster: Arc<Roster>,
    left: Openings,
    /// Rung when there is room again for whoever found none.
    bell: Arc<Notify>,
}

impl Room {
    /// How many runs still fit.
    pub(crate) fn left(&self) -> Openings {
        self.left
    }

    /// Adds runs, each with the time at which it times out; gives back what is to be launched.
    pub(crate) fn fill(
        &mut self,
        runs: Vec<Claim>,
        mut enter: impl FnMut(Claim) -> (Entry, Option<Duration>),
    ) -> Vec<JobContext> {
        let crowd = runs.iter().filter(|run| run.execution.rank.is_crowd()).count();
        let (mut wanted, roster) = (Openings { any: runs.len(), crowd }, &self.roster);
        let held =
            Openings { any: self.left.any.min(wanted.any), crowd: self.left.crowd.min(crowd) };
        self.left = less(self.left, held);
        roster.places.add(less(wanted, held));
        roster.runs.fetch_add(wanted.any, Ordering::SeqCst);
        let mut launches = Vec::with_capacity(wanted.any);
        for run in runs {
            let (entry, deadline) = enter(run);
            let id = entry.context.hold().execution;
            let mut part = roster.part(id);
            if roster.closed.load(Ordering::SeqCst) {
                drop(part);
                roster.leave(wanted);
                return Vec::new();
            }
            wanted = less(wanted, entry.place());
            launches.push(entry.context.clone());
            part.entries.insert(id, entry);
            if let Some(deadline) = deadline {
                part.set_end(id, deadline, Ending::TimedOut);
            }
        }
        launches
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.roster.places.leave(self.left);
        if self.roster.places.were_wanted(self.left) {
            self.bell.notify_one();
        }
    }
}

impl Part {
    fn set_end(&mut self, id: ExecutionId, at: Duration, ending: Ending) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if let Some((before, _)) = &entry.end {
            if *before <= at {
                return;
            }
            self.ends.remove(&(*before, id));
        }
        entry.end = Some((at, ending));
        self.ends.insert((at, id));
    }

    fn take(&mut self, id: ExecutionId) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        if let Some((at, _)) = &entry.end {
            self.ends.remove(&(*at, id));
        }
        Some(entry)
    }
}

/// The places of all these runs.
fn places<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Openings {
    let add = |all: Openings, one: Openings| Openings {
        any: all.any + one.any,
        crowd: all.crowd + one.crowd,
    };
    entries.into_iter().map(Entry::place).fold(Openings::NONE, add)
}

fn less(places: Openings, others: Openings) -> Openings {
    Openings { any: places.any - others.any, crowd: places.crowd - others.crowd }
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Roster {
    fn part(&self, id: ExecutionId) -> MutexGuard<'_, Part> {
        // Of the id's last bytes, which tell jobs apart.
        let number = id.as_bytes().last().map_or(0, |last| usize::from(*last) % PARTS);
        lock(&self.parts[number])
    }

    fn parts(&self) -> impl Iterator<Item = MutexGuard<'_, Part>> {
        self.parts.iter().map(lock)
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Room for up to `wanted` runs, of which `most` may be under way at once.
    pub(crate) fn room(self: &Arc<Self>, wanted: usize, most: usize, bell: &Arc<Notify>) -> Room {
        Room { roster: self.clone(), left: self.places.take(wanted, most), bell: bell.clone() }
    }

    /// Takes a run off, if it is still on under this hold; whoever gets it decides its end. Passes it
    /// on before anyone may find the roster empty and stop what it is passed to. Says whether someone
    /// has waited for its room.
    pub(crate) fn take(&self, hold: Hold, pass_on: impl FnOnce(&Entry)) -> bool {
        let mut part = self.part(hold.execution);
        let known = part.entries.get(&hold.execution);
        if known.is_none_or(|entry| entry.context.hold() != hold) {
            return false;
        }
        let taken = part.take(hold.execution);
        drop(part);
        taken.is_some_and(|entry| {
            pass_on(&entry);
            self.leave(entry.place());
            self.places.were_wanted(entry.place())
        })
    }

    /// Takes off every run whose time is up, with the ending that this means. Says whether someone has waited
    /// for their room.
    pub(crate) fn take_overdue(
        &self,
        now: Duration,
        mut pass_on: impl FnMut(&Entry, Ending),
    ) -> bool {
        let mut overdue = Vec::new();
        for mut part in self.parts() {
            while let Some((at, id)) = part.ends.first().copied().filter(|(at, _)| *at <= now) {
                let Some(entry) = part.take(id) else { break };
                overdue.push((at, id, entry));
            }
        }
        overdue.sort_unstable_by_key(|(at, id, _)| (*at, *id));
        for (_, _, entry) in &overdue {
            let ending = entry.end.as_ref().map_or(Ending::TimedOut, |(_, ending)| ending.clone());
            pass_on(entry, ending);
        }
        let left = places(overdue.iter().map(|(_, _, entry)| entry));
        self.leave(left);
        self.places.were_wanted(left)
    }

    /// Takes off every run whose lease was last renewed longer ago than `age`.
    pub(crate) fn take_stale(&self, now: Duration, age: Duration) -> Vec<Entry> {
        let is_stale = |entry: &Entry| now.saturating_sub(entry.renewed) >= age;
        let mut stale = Vec::new();
        for mut part in self.parts() {
            let ids: Vec<ExecutionId> =
                part.entries.iter().filter(|(_, run)| is_stale(run)).map(|(id, _)| *id).collect();
            stale.extend(ids.into_iter().filter_map(|id| part.take(id)));
        }
        stale.sort_unstable_by_key(|entry| entry.context.hold().execution);
        self.leave(places(&stale));
        stale
    }

    pub(crate) fn take_all(&self) -> Vec<Entry> {
        self.take_stale(Duration::MAX, Duration::ZERO)
    }

    /// Every run's hold, in the order of their ids.
    pub(crate) fn holds(&self) -> Vec<Hold> {
        let mut holds = Vec::with_capacity(self.len());
        for part in self.parts() {
            holds.extend(part.entries.values().map(|entry| entry.context.hold()));
        }
        holds.sort_unstable_by_key(|hold| hold.execution);
        holds
    }

    pub(crate) fn renewed(&self, id: ExecutionId, at: Duration) {
        if let Some(entry) = self.part(id).entries.get_mut(&id) {
            entry.renewed = at;
        }
    }

    /// Asks a run to stop; it is dropped if it has not by `kill_at`.
    pub(crate) fn ask_to_stop(&self, id: ExecutionId, kill_at: Duration) {
        let mut part = self.part(id);
        if let Some(entry) = part.entries.get_mut(&id)
            && !entry.stop_asked
        {
            entry.stop_asked = true;
            entry.context.token().cancel();
            part.set_end(id, kill_at, Ending::Cancelled);
        }
    }

    /// When the next run's time is up.
    pub(crate) fn next_end(&self) -> Option<Duration> {
        self.parts().filter_map(|part| part.ends.first().map(|(at, _)| *at)).min()
    }

    /// When the run was renewed that was renewed longest ago.
    pub(crate) fn oldest_renewal(&self) -> Option<Duration> {
        let oldest =
            |part: MutexGuard<'_, Part>| part.entries.values().map(|run| run.renewed).min();
        self.parts().filter_map(oldest).min()
    }

    /// Waits until nothing runs.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.len() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Aborts every run, also those that are about to be added.
    pub(crate) fn abort_all(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for entry in self.take_all() {
            entry.abort();
        }
    }

    /// Runs that were taken off have been passed on.
    fn leave(&self, left: Openings) {
        self.places.leave(left);
        if left.any > 0 && self.runs.fetch_sub(left.any, Ordering::SeqCst) == left.any {
            self.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_that_was_given_up_does_not_begin() {
        let task = Task::default();
        task.abort();
        task.begin(|| unreachable!("it began"));
    }

    #[tokio::test]
    async fn a_run_that_is_given_up_while_it_begins_is_aborted() {
        let task = Task::default();
        let mut begun = None;
        task.begin(|| {
            let running = tokio::spawn(std::future::pending::<()>());
            let handle = running.abort_handle();
            begun = Some(running);
            task.withdrawn.store(true, Ordering::SeqCst);
            handle
        });
        let ended = begun.expect("it began").await;
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }

    #[test]
    fn room_that_was_refused_is_offered_again_once_there_is_some() {
        let (roster, bell) = (Arc::new(Roster::default()), Arc::new(Notify::new()));
        let first = roster.room(3, 4, &bell);
        let second = roster.room(3, 4, &bell);
        let third = roster.room(3, 4, &bell);
        assert_eq!([first.left().any, second.left().any, third.left().any], [3, 1, 0]);
        drop(first);
        assert!(futures::FutureExt::now_or_never(bell.notified()).is_some());
        assert_eq!(roster.room(9, 4, &bell).left().any, 3);
    }
}
