//! Reading ahead: the records of jobs that are due next are opened while nothing is due.
//!
//! A job that was not opened lately is two reads from disk away, which is most of what firing it costs.
//! Where many share a second, the last of them would wait for the reads of all.

use std::time::Duration;

use chronos_core::Timestamp;

use super::state::State;

/// Jobs opened in one go: others may want the lock.
const AT_ONCE: usize = 64;

/// Time enough for an engine to tidy up.
const QUIET: Duration = Duration::from_millis(250);

impl State {
    /// Whether nothing comes due for a while.
    pub(super) fn is_quiet(&self, now: Timestamp) -> bool {
        let next = [self.index.next_due(), self.index.next_ready()].into_iter().flatten().min();
        next.is_none_or(|next| next >= now.after(QUIET))
    }

    /// Opens up to `most` of the jobs that are due next, if there is time for it; gives back how many
    /// are left to another call. What cannot be read is left to whoever fires it.
    pub(super) fn read_ahead(&mut self, most: usize, now: Timestamp) -> usize {
        let has_time = self.index.next_due().is_some_and(|due| due > now);
        if self.stale || !has_time {
            return 0;
        }
        let jobs = self.index.due_unopened(most.min(AT_ONCE));
        for job in &jobs {
            if let Ok(file) = self.read_file(*job) {
                self.index.desk_of(*job).file = Some(file);
            }
        }
        if jobs.len() < AT_ONCE { 0 } else { most - jobs.len() }
    }
}
