//! How an execution is told, wherever it is: its status, when it was over, and why.

use super::{CancelCause, Execution, State};
use crate::Timestamp;

/// What is said of a run that took longer than it may.
pub(crate) const TIMED_OUT: &str = "timed out";
/// What is said of a run whose worker died, froze or was cut off.
pub(crate) const LOST: &str = "lost with its worker";

impl Execution {
    /// The state's public name.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.state {
            State::Queued { .. } => "QUEUED",
            State::Running(_) => "RUNNING",
            State::Success(_) => "SUCCESS",
            State::Failed(..) => "FAILED",
            State::TimedOut(_) => "TIMED_OUT",
            State::Stuck(_) => "STUCK",
            State::Cancelled { .. } => "CANCELLED",
            State::Skipped { .. } => "SKIPPED",
        }
    }

    /// When it was over, if it is.
    #[must_use]
    pub fn finished_at(&self) -> Option<Timestamp> {
        match &self.state {
            State::Queued { .. } | State::Running(_) => None,
            State::Success(run)
            | State::Failed(run, _)
            | State::TimedOut(run)
            | State::Stuck(run) => Some(run.finished_at),
            State::Cancelled { at, .. } | State::Skipped { at, .. } => Some(*at),
        }
    }

    /// Why it was skipped, cancelled or asked to stop.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.state {
            State::Running(running) => running.cancel.map(CancelCause::as_str),
            State::Cancelled { cause, .. } => Some(cause.as_str()),
            State::Skipped { reason, .. } => Some(reason.as_str()),
            State::Queued { .. }
            | State::Success(_)
            | State::Failed(..)
            | State::TimedOut(_)
            | State::Stuck(_) => None,
        }
    }

    /// What was written about the pause that it was skipped in.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        match &self.state {
            State::Skipped { reason, .. } => reason.note(),
            State::Queued { .. }
            | State::Running(_)
            | State::Success(_)
            | State::Failed(..)
            | State::TimedOut(_)
            | State::Stuck(_)
            | State::Cancelled { .. } => None,
        }
    }

    /// What went wrong with it.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match &self.state {
            State::Failed(_, failure) => Some(&failure.message),
            State::TimedOut(_) => Some(TIMED_OUT),
            State::Stuck(_) => Some(LOST),
            State::Queued { .. }
            | State::Running(_)
            | State::Success(_)
            | State::Cancelled { .. }
            | State::Skipped { .. } => None,
        }
    }
}
