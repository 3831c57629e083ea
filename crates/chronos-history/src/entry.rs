//! Entries of the journal, as far as the history tells of them.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_core::execution::{SkipReason, State};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp};

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the journal; each is used once, and later entries have larger ones.
    pub sequence: u64,
    /// The job.
    pub job: JobId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One of its executions came to its end.
    Ended(Ended),
    /// Slots were passed over.
    Skipped {
        /// How many.
        slots: u64,
        /// Why.
        reason: Arc<str>,
    },
}

/// An execution that came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The execution.
    pub id: ExecutionId,
    /// How it ended.
    pub ending: EndingKind,
    /// Whether an attempt at its slot had failed before.
    pub is_retry: bool,
    /// How long it took, unless it never began.
    pub took: Option<Duration>,
    /// How much later than it might have begun it did, unless it never began.
    pub lag: Option<Duration>,
    /// What its target answered.
    pub response: Option<u16>,
    /// What went wrong.
    pub error: Option<Arc<str>>,
}

impl Entry {
    /// What the end of an execution leaves in the journal at this place; nothing while it is alive, and
    /// nothing of a notice, which is no run of its job.
    #[must_use]
    pub fn of(sequence: u64, execution: &Execution) -> Option<Self> {
        let at = execution.finished_at()?;
        if execution.notice().is_some() {
            return None;
        }
        let event = match &execution.state {
            State::Queued { .. } | State::Running(_) => return None,
            State::Skipped { reason, .. } => {
                Event::Skipped { slots: 1, reason: reason_of(reason).into() }
            }
            State::Success(_) => Event::Ended(Ended::as_one(execution, EndingKind::Success)),
            State::Failed(..) => Event::Ended(Ended::as_one(execution, EndingKind::Failed)),
            State::TimedOut(_) => Event::Ended(Ended::as_one(execution, EndingKind::TimedOut)),
            State::Stuck(_) => Event::Ended(Ended::as_one(execution, EndingKind::Stuck)),
            State::Cancelled { .. } => {
                Event::Ended(Ended::as_one(execution, EndingKind::Cancelled))
            }
        };
        Some(Self { sequence, job: execution.job, at, event })
    }
}

/// Why slots were passed over, in one word of a few: jobs may give reasons of their own, without end.
#[must_use]
pub fn reason_of(reason: &SkipReason) -> &'static str {
    match reason {
        SkipReason::Overlap => "overlap",
        SkipReason::Paused(_) => "paused",
        SkipReason::QuietHours => "quiet_hours",
        SkipReason::Missed => "missed",
        SkipReason::Superseded => "superseded",
        SkipReason::ByJob(reason) if **reason == *SkipReason::BACKPRESSURE => {
            SkipReason::BACKPRESSURE
        }
        SkipReason::ByJob(_) => "by_job",
    }
}

impl Ended {
    fn as_one(execution: &Execution, ending: EndingKind) -> Self {
        let run = execution.run();
        Self {
            id: execution.id,
            ending,
            is_retry: execution.retry > 0,
            took: run.map(|run| run.took),
            lag: run.map(|run| run.started_at.since(execution.run_at)),
            response: run.and_then(|run| run.response.as_ref()).map(|response| response.status),
            error: execution.error().map(Into::into),
        }
    }

    /// The end of an execution of which nothing else is kept.
    #[must_use]
    pub fn forgotten(id: ExecutionId, ending: EndingKind) -> Self {
        let (took, lag, response, error) = (None, None, None, None);
        Self { id, ending, is_retry: false, took, lag, response, error }
    }

    /// Whether it is one that somebody should look at.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        match self.ending {
            EndingKind::Failed | EndingKind::TimedOut | EndingKind::Stuck => true,
            EndingKind::Success | EndingKind::Cancelled | EndingKind::Skipped => false,
        }
    }
}
