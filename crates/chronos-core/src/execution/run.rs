//! Runs that are over: who made them, how long they took, and what they leave behind.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Running, Token};
use crate::{Timestamp, WorkerId};

/// A run that is over: who, from when to when, and what it leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Who ran it.
    pub worker: WorkerId,
    /// The token it ran under.
    pub token: Token,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was over.
    pub finished_at: Timestamp,
    /// How long it took; the two instants above may lie otherwise, where a clock was set meanwhile.
    pub took: Duration,
    /// What the job logged, up to a bound.
    pub log: Option<Arc<str>>,
    /// What its target answered.
    pub response: Option<Arc<Response>>,
}

impl Run {
    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.took
    }
}

/// What a target answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The time from the request to the end of the answer, or of the part of it that was read.
    pub took: Duration,
    /// The body as it came, up to [`Self::MAX_BODY`] bytes.
    pub body: Box<[u8]>,
    /// Whether the body went on.
    pub truncated: bool,
}

impl Response {
    /// Bytes of a body that are kept.
    pub const MAX_BODY: usize = 64 * 1024;
}

/// What is known of a run at its end, beside how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When it ended.
    pub at: Timestamp,
    /// How long it took by a clock that nobody sets; `None` when nobody measured it.
    pub took: Option<Duration>,
    /// What the job logged.
    pub log: Option<Arc<str>>,
    /// What its target answered.
    pub response: Option<Arc<Response>>,
}

impl Report {
    /// The end of a run of which nothing else is known.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self { at, took: None, log: None, response: None }
    }
}

impl Running {
    /// The run that this hold was.
    #[must_use]
    pub fn end(&self, report: Report) -> Run {
        // Clocks may step back; a run never ends before it began.
        let finished_at = report.at.max(self.started_at);
        Run {
            worker: self.lease.worker.clone(),
            token: self.lease.token,
            started_at: self.started_at,
            finished_at,
            took: report.took.unwrap_or_else(|| finished_at.since(self.started_at)),
            log: report.log,
            response: report.response,
        }
    }
}
