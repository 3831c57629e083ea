//! Finding jobs: which ones are asked for, and a page of them.

use crate::execution::Execution;
use crate::job::{Job, Status};
use crate::{JobId, Timestamp};

/// Which jobs are asked for: those that meet everything that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JobFilter {
    /// Whose they are.
    pub owner: Option<Box<str>>,
    /// What their names begin with, letter by letter.
    pub name_prefix: Option<Box<str>>,
    /// A tag that they have.
    pub tag: Option<Box<str>>,
    /// Their status.
    pub status: Option<Status>,
    /// Whether they are paused.
    pub paused: Option<bool>,
    /// Whether they have more than one slot.
    pub recurring: Option<bool>,
    /// Their next slot is at this instant or later.
    pub next_from: Option<Timestamp>,
    /// Their next slot is before this instant.
    pub next_before: Option<Timestamp>,
}

impl JobFilter {
    /// Whether the job, of which this is alive, is asked for.
    #[must_use]
    pub fn matches(&self, job: &Job, live: &[&Execution]) -> bool {
        let Job { spec, standing } = job;
        self.owner.as_ref().is_none_or(|owner| *owner == spec.owner)
            && self.name_prefix.as_deref().is_none_or(|prefix| spec.name.starts_with(prefix))
            && self.tag.as_ref().is_none_or(|tag| spec.tags.contains(tag))
            && self.paused.is_none_or(|paused| paused == standing.paused.is_some())
            && self.recurring.is_none_or(|recurring| recurring != spec.schedule.is_one_shot())
            && self.spans(standing.next_slot)
            && self.status.is_none_or(|status| status == Status::of(job, live.iter().copied()))
    }

    /// Whether a job with this next slot is asked for, as far as that goes.
    #[must_use]
    pub fn spans(&self, next: Option<Timestamp>) -> bool {
        self.next_from.is_none_or(|from| next.is_some_and(|next| next >= from))
            && self.next_before.is_none_or(|before| next.is_some_and(|next| next < before))
    }
}

/// How many jobs have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the statuses")]
pub struct JobCounts {
    pub pending: u64,
    pub running: u64,
    pub retry_pending: u64,
    pub success: u64,
    pub failed: u64,
    pub disabled: u64,
}

impl JobCounts {
    /// The number of jobs that have this status.
    pub fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Pending => &mut self.pending,
            Status::Running => &mut self.running,
            Status::RetryPending => &mut self.retry_pending,
            Status::Success => &mut self.success,
            Status::Failed => &mut self.failed,
            Status::Disabled => &mut self.disabled,
        }
    }
}

/// Some of the jobs that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPage {
    /// The jobs, in the order of their ids.
    pub jobs: Vec<Job>,
    /// Where to go on: every job up to it has been looked at. `None` when there are no more.
    pub next: Option<JobId>,
}
