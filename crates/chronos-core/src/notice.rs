//! Notices: what is told about a job's runs, on which occasions, and to whom.
//!
//! A notice is an execution of the job that it tells about, so it is claimed, fenced, tried again and
//! recorded like any other. It is no run of the job: nothing that runs waits for it or counts it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::execution::{Execution, Trigger};
use crate::job::{Failing, JobSpec};
use crate::policy::{Priority, Rank, retry};
use crate::{Error, ExecutionId, Http, Timestamp};

/// A notice that is not taken is tried again this often and this patiently, for about an hour and a half.
pub const RETRY: retry::Policy = retry::Policy::up_to(10);

/// A request with a notice that takes longer is given up.
pub const LIMIT: Duration = Duration::from_mins(2);

/// Bytes of an error that a notice repeats.
const MAX_ERROR: usize = 4 * 1024;

/// What a job asks for: who is told, and on which occasions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    /// Where notices go; those of a job that names no place go where the scheduler sends all such ones.
    pub webhook: Option<Http>,
    /// What is told.
    pub on: Occasions,
}

/// What is told about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occasions {
    /// A run failed for good.
    pub failure: bool,
    /// A run succeeded, after one that failed for good.
    pub recovery: bool,
    /// A slot's run had not begun this long after it was due.
    pub overdue: Option<Duration>,
}

/// What a notice tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A run failed for good.
    Failure,
    /// A run succeeded, after one that failed for good.
    Recovery,
    /// A slot's run did not begin in time.
    Overdue,
}

/// What is told, as things stood when it was decided: every attempt at telling it says the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it tells.
    pub kind: Kind,
    /// When that was decided.
    pub at: Timestamp,
    /// The execution that it tells about.
    pub about: About,
    /// Since when runs have failed for good, for a recovery until then.
    pub failing: Option<Failing>,
}

/// An execution as a notice tells about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Which it is.
    pub execution: ExecutionId,
    /// The nominal time it is for.
    pub slot: Timestamp,
    /// Which attempt at the slot it is, from 1.
    pub attempt: u32,
    /// Its status.
    pub status: Box<str>,
    /// Why it is no success, if it is over.
    pub error: Option<Arc<str>>,
    /// What its target answered.
    pub response_code: Option<u16>,
    /// When it began, if it did.
    pub started_at: Option<Timestamp>,
    /// When it was over, if it is.
    pub finished_at: Option<Timestamp>,
}

impl Notify {
    /// Refuses a webhook that nothing can be told, and a wait without beginning or end.
    pub fn validate(&self) -> Result<(), Error> {
        if let Some(webhook) = &self.webhook
            && !webhook.method().has_body()
        {
            let problem = format!("a {} tells nothing; use POST", webhook.method().as_str());
            return Err(refusal("method", problem));
        }
        self.on.validate()
    }
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Failure, Self::Recovery, Self::Overdue];

    /// The kind as it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Recovery => "recovery",
            Self::Overdue => "overdue",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Default for Occasions {
    fn default() -> Self {
        Self { failure: true, recovery: true, overdue: None }
    }
}

impl Occasions {
    /// Nothing is told.
    pub const NONE: Self = Self { failure: false, recovery: false, overdue: None };
    /// A run that has not begun for this long is overdue, unless someone says otherwise.
    pub const OVERDUE_AFTER: Duration = Duration::from_mins(5);
    /// A longer wait before a run is overdue is refused.
    pub const MAX_OVERDUE_AFTER: Duration = Duration::from_hours(24 * 366);

    /// The occasions of these kinds; a run is overdue `after` so long.
    pub fn of(kinds: &[Kind], after: Option<Duration>) -> Result<Self, Error> {
        let overdue = kinds.contains(&Kind::Overdue);
        if after.is_some() && !overdue {
            let problem =
                "nothing is told of overdue runs; use it with \"overdue\" among what is told";
            return Err(refusal("overdue_after", problem.into()));
        }
        Ok(Self {
            failure: kinds.contains(&Kind::Failure),
            recovery: kinds.contains(&Kind::Recovery),
            overdue: overdue.then(|| after.unwrap_or(Self::OVERDUE_AFTER)),
        })
    }

    /// The kinds of notices that it asks for.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| self.covers(*kind))
    }

    /// Whether notices of this kind are asked for.
    #[must_use]
    pub fn covers(&self, kind: Kind) -> bool {
        match kind {
            Kind::Failure => self.failure,
            Kind::Recovery => self.recovery,
            Kind::Overdue => self.overdue.is_some(),
        }
    }

    /// What is told about a job, where `usual` is told about those that do not say; `None` where the
    /// scheduler has nowhere to tell it.
    #[must_use]
    pub fn about(spec: &JobSpec, usual: Option<Self>) -> Self {
        match (&spec.notify, usual) {
            (Some(notify), usual) if notify.webhook.is_some() || usual.is_some() => notify.on,
            (Some(_), _) | (None, None) => Self::NONE,
            (None, Some(usual)) => usual,
        }
    }

    fn validate(&self) -> Result<(), Error> {
        let (min, max) = (Duration::from_secs(1), Self::MAX_OVERDUE_AFTER);
        match self.overdue {
            Some(after) if !(min..=max).contains(&after) => {
                let problem = format!("it is {after:?}; use 1 second to 366 days");
                Err(refusal("overdue_after", problem))
            }
            _ => Ok(()),
        }
    }
}

fn refusal(field: &'static str, problem: String) -> Error {
    Error::Notify { field, problem }
}

impl Notice {
    /// The execution that tells this about another: its first attempt, which may begin at once.
    pub(crate) fn execution(self, about: &Execution) -> Execution {
        let at = self.at;
        let trigger = Trigger::Notice(Arc::new(self));
        Execution {
            // Whoever waits for a worker is the last to be told of it, unless the notice goes first.
            rank: Rank::new(Priority::HIGHEST, about.rank.is_crowd()),
            trace: Some(about.trace_id()),
            ..Execution::queued(about.job, about.slot, trigger, at)
        }
    }
}

impl From<&Execution> for About {
    fn from(execution: &Execution) -> Self {
        let run = execution.run();
        Self {
            execution: execution.id,
            slot: execution.slot,
            attempt: execution.attempt,
            status: execution.status().into(),
            error: error_of(execution),
            response_code: run.and_then(|run| run.response.as_ref()).map(|answer| answer.status),
            started_at: run.map(|run| run.started_at),
            finished_at: execution.finished_at(),
        }
    }
}

/// Why an execution is no success, in at most so many words as a notice holds.
fn error_of(execution: &Execution) -> Option<Arc<str>> {
    let error = execution.error().or_else(|| execution.reason())?;
    Some(error[..error.floor_char_boundary(MAX_ERROR)].into())
}
