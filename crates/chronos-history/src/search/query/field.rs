//! Fields of the query language: their names, and what they may be.

use std::fmt;

/// What a part of a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The job: its id, or words of its name.
    Job,
    /// How an execution ended.
    Status,
    /// Whose the job is.
    Owner,
    /// The type of what was decided.
    Type,
    /// The node that ran it, or that it is about.
    Node,
    /// Why something was skipped or cancelled.
    Reason,
    /// What sort of thing it is.
    Kind,
    /// Not before then.
    After,
    /// Before then.
    Before,
}

impl Field {
    /// Every field there is.
    pub const ALL: [Self; 9] = [
        Self::Job,
        Self::Status,
        Self::Owner,
        Self::Type,
        Self::Node,
        Self::Reason,
        Self::Kind,
        Self::After,
        Self::Before,
    ];

    /// How executions end, as queries say it.
    pub const STATUSES: [&'static str; 6] =
        ["success", "failed", "timed_out", "stuck", "cancelled", "skipped"];

    /// The field of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }

    /// The field's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Status => "status",
            Self::Owner => "owner",
            Self::Type => "type",
            Self::Node => "node",
            Self::Reason => "reason",
            Self::Kind => "kind",
            Self::After => "after",
            Self::Before => "before",
        }
    }

    pub(super) fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Job => "invoice-sync",
            Self::Status => "failed",
            Self::Owner => "ann",
            Self::Type => "schedule.paused",
            Self::Node => "node-1",
            Self::Reason => "overlap",
            Self::Kind => "execution",
            Self::After | Self::Before => "2026-11-01",
        }
    }

    pub(super) fn accepts(self) -> String {
        match self {
            Self::Job => "the id of a job, or words of its name".into(),
            Self::Status => format!("one of {}", Self::STATUSES.join(", ")),
            Self::Owner => "who jobs were created by, as they tell it".into(),
            Self::Type => {
                "the type of an audit event such as schedule.paused, message, toc.day and the \
                           like, or the part before the dot"
                    .into()
            }
            Self::Node => "words of the name of a node".into(),
            Self::Reason => "a word such as overlap, paused or missed".into(),
            Self::Kind => "one of execution, audit, message, toc".into(),
            Self::After | Self::Before => {
                "a day such as 2026-11-01, a time on it such as 2026-11-01T09:30, \
                 or an instant such as 2026-11-01T09:30:00Z"
                    .into()
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
