//! The roster: what this engine runs now, and until when each run may go on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chronos_core::plan::Ending;
use chronos_core::store::Hold;
use chronos_core::{ExecutionId, JobSpec};
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::handler::JobContext;

/// A run on this engine. Times are monotonic: a wall clock that jumps must not end anyone.
pub(crate) struct Entry {
    pub(crate) spec: Arc<JobSpec>,
    pub(crate) hold: Hold,
    pub(crate) context: JobContext,
    /// Whether someone asked this run, and not the whole engine, to stop.
    pub(crate) stop_asked: bool,
    /// When the run began.
    pub(crate) began: Duration,
    task: Option<AbortHandle>,
    renewed: Duration,
    end: Option<(Duration, Ending)>,
}

impl Entry {
    pub(crate) fn new(
        spec: Arc<JobSpec>,
        hold: Hold,
        context: JobContext,
        renewed: Duration,
        began: Duration,
    ) -> Self {
        Self { spec, hold, context, stop_asked: false, began, task: None, renewed, end: None }
    }

    /// Cancels its token and drops its future at the next point where it waits.
    pub(crate) fn abort(&self) {
        self.context.token().cancel();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A run that is on the roster and has no task yet.
pub(crate) struct Launch {
    pub(crate) hold: Hold,
    pub(crate) context: JobContext,
}

#[derive(Default)]
pub(crate) struct Roster {
    inner: Mutex<Inner>,
    emptied: Notify,
}

#[derive(Default)]
struct Inner {
    entries: FxHashMap<ExecutionId, Entry>,
    ends: BTreeSet<(Duration, ExecutionId)>,
    /// Room that someone holds and has not filled yet.
    reserved: usize,
    /// Whether someone found no room since the last time there was some.
    refused: bool,
}

/// Room on a roster for runs that may be claimed: held by one loop, so that two never fill it twice.
/// What is left of it when it is dropped is anyone's again.
pub(crate) struct Room<'a> {
    roster: &'a Roster,
    left: usize,
    /// Rung when there is room again for whoever found none.
    bell: &'a Notify,
}

impl Room<'_> {
    /// How many runs still fit.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Adds runs, each with the time at which it times out; says what is to be launched.
    pub(crate) fn fill<T>(
        &mut self,
        runs: Vec<T>,
        mut enter: impl FnMut(T) -> (Entry, Option<Duration>),
    ) -> Vec<Launch> {
        let mut inner = self.roster.lock();
        let taken = self.left.min(runs.len());
        self.left -= taken;
        inner.reserved -= taken;
        let mut launches = Vec::with_capacity(runs.len());
        for run in runs {
            let (entry, deadline) = enter(run);
            let hold = entry.hold;
            launches.push(Launch { hold, context: entry.context.clone() });
            inner.entries.insert(hold.execution, entry);
            if let Some(deadline) = deadline {
                inner.set_end(hold.execution, deadline, Ending::TimedOut);
            }
        }
        launches
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if self.left == 0 {
            return;
        }
        let mut inner = self.roster.lock();
        inner.reserved -= self.left;
        if std::mem::take(&mut inner.refused) {
            self.bell.notify_one();
        }
    }
}

impl Inner {
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

impl Roster {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Room for up to `wanted` runs, of which `most` may be under way at once.
    pub(crate) fn room<'a>(&'a self, wanted: usize, most: usize, bell: &'a Notify) -> Room<'a> {
        let mut inner = self.lock();
        let left = wanted.min(most.saturating_sub(inner.entries.len() + inner.reserved));
        inner.reserved += left;
        inner.refused |= left == 0;
        Room { roster: self, left, bell }
    }

    /// Begins a run's task, unless the run was taken off meanwhile: then it must not begin any more.
    pub(crate) fn launch(&self, hold: Hold, begin: impl FnOnce() -> AbortHandle) {
        let mut inner = self.lock();
        let entry = inner.entries.get_mut(&hold.execution);
        if let Some(entry) = entry.filter(|entry| entry.hold == hold) {
            entry.task = Some(begin());
        }
    }

    /// Takes a run off, if it is still on under this hold; whoever gets it decides its end. Passes it
    /// on before anyone may find the roster empty and stop what it is passed to.
    pub(crate) fn take(&self, hold: Hold, pass_on: impl FnOnce(&Entry)) {
        let mut inner = self.lock();
        if inner.entries.get(&hold.execution).is_some_and(|entry| entry.hold == hold)
            && let Some(entry) = inner.take(hold.execution)
        {
            pass_on(&entry);
            self.note_if_empty(&inner);
        }
    }

    /// Takes off every run whose time is up, with the ending that this means.
    pub(crate) fn take_overdue(&self, now: Duration, mut pass_on: impl FnMut(&Entry, Ending)) {
        let mut inner = self.lock();
        while let Some((_, id)) = inner.ends.first().copied().filter(|(at, _)| *at <= now) {
            let Some(entry) = inner.take(id) else { break };
            let ending = entry.end.as_ref().map_or(Ending::TimedOut, |(_, ending)| ending.clone());
            pass_on(&entry, ending);
        }
        self.note_if_empty(&inner);
    }

    /// Takes off every run whose lease was last renewed longer ago than `age`.
    pub(crate) fn take_stale(&self, now: Duration, age: Duration) -> Vec<Entry> {
        let mut inner = self.lock();
        let mut stale: Vec<_> = inner
            .entries
            .values()
            .filter(|entry| now.saturating_sub(entry.renewed) >= age)
            .map(|entry| entry.hold.execution)
            .collect();
        stale.sort_unstable();
        let entries = stale.into_iter().filter_map(|id| inner.take(id)).collect();
        self.note_if_empty(&inner);
        entries
    }

    pub(crate) fn take_all(&self) -> Vec<Entry> {
        self.take_stale(Duration::MAX, Duration::ZERO)
    }

    /// Every run's hold, in the order of their ids.
    pub(crate) fn holds(&self) -> Vec<Hold> {
        let mut holds: Vec<_> = self.lock().entries.values().map(|entry| entry.hold).collect();
        holds.sort_unstable_by_key(|hold| hold.execution);
        holds
    }

    pub(crate) fn renewed(&self, id: ExecutionId, at: Duration) {
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.renewed = at;
        }
    }

    /// Asks a run to stop; it is dropped if it has not by `kill_at`.
    pub(crate) fn ask_to_stop(&self, id: ExecutionId, kill_at: Duration) {
        let mut inner = self.lock();
        if let Some(entry) = inner.entries.get_mut(&id)
            && !entry.stop_asked
        {
            entry.stop_asked = true;
            entry.context.token().cancel();
            inner.set_end(id, kill_at, Ending::Cancelled);
        }
    }

    /// When the next run's time is up.
    pub(crate) fn next_end(&self) -> Option<Duration> {
        self.lock().ends.first().map(|(at, _)| *at)
    }

    /// When the run was renewed that was renewed longest ago.
    pub(crate) fn oldest_renewal(&self) -> Option<Duration> {
        self.lock().entries.values().map(|entry| entry.renewed).min()
    }

    /// Waits until nothing runs.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.lock().entries.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    pub(crate) fn abort_all(&self) {
        for entry in self.take_all() {
            entry.abort();
        }
    }

    fn note_if_empty(&self, inner: &Inner) {
        if inner.entries.is_empty() {
            self.emptied.notify_waiters();
        }
    }
}
