//! The status of a job in one word, from where it stands and what of it is alive.

use super::{Job, Standing};
use crate::execution::Execution;

/// The status of a job. A recurring job returns to its cadence after each run; a one-time job keeps
/// how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It waits for its next slot, or a run of it waits.
    Pending,
    /// A run of it is under way.
    Running,
    /// A failed run of it waits to be tried again.
    RetryPending,
    /// A one-time job that is done.
    Success,
    /// A one-time job that failed for good.
    Failed,
    /// It is switched off, or its schedule is over.
    Disabled,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::RetryPending,
        Self::Success,
        Self::Failed,
        Self::Disabled,
    ];

    /// The status of a job of which this is alive.
    pub fn of<'a>(job: &Job, live: impl IntoIterator<Item = &'a Execution>) -> Self {
        Self::at_rest(job.spec.schedule.is_one_shot(), &job.standing).with(live)
    }

    /// The status of a job, of one slot or more, of which nothing is alive.
    #[must_use]
    pub fn at_rest(is_one_shot: bool, standing: &Standing) -> Self {
        if standing.enabled {
            Self::Pending
        } else if !is_one_shot || standing.tally.last_run.is_none() {
            Self::Disabled
        } else if standing.tally.last_error.is_some() {
            Self::Failed
        } else {
            Self::Success
        }
    }

    /// The status of a job that has this one at rest, and of which this is alive.
    #[must_use]
    pub fn with<'a>(self, live: impl IntoIterator<Item = &'a Execution>) -> Self {
        let mut status = self;
        for execution in live {
            if execution.notice().is_some() {
                continue;
            }
            status = match (execution.running(), status) {
                (Some(_), _) => return Self::Running,
                (None, _) if execution.is_waiting_retry() => Self::RetryPending,
                (None, Self::RetryPending) => Self::RetryPending,
                (None, _) => Self::Pending,
            };
        }
        status
    }

    /// The status of this name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        // An older word for the same.
        let name = if name.eq_ignore_ascii_case("SCHEDULED") { "PENDING" } else { name };
        Self::ALL.into_iter().find(|status| name.eq_ignore_ascii_case(status.as_str()))
    }

    /// The status as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::RetryPending => "RETRY_PENDING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Disabled => "DISABLED",
        }
    }
}
