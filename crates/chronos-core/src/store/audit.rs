//! Reading the audit: which decisions are asked for, from where, and how far the store has looked.

use crate::audit::AuditEvent;
use crate::{JobId, Timestamp, TraceId, UserId};

/// Which decisions are asked for; those that meet all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Those about this job.
    pub job: Option<JobId>,
    /// Those of this type, or of this group of types: what stands before the full stop.
    pub kind: Option<Box<str>>,
    /// Those that this user asked for.
    pub by: Option<UserId>,
    /// Those about what is this owner's.
    pub owner: Option<Box<str>>,
    /// Those that belong to this trace.
    pub trace: Option<TraceId>,
    /// Those made at this time or later.
    pub since: Option<Timestamp>,
    /// Those made before this time.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Whether the filter asks for this decision.
    #[must_use]
    pub fn matches(&self, event: &AuditEvent) -> bool {
        self.job.is_none_or(|job| event.job == Some(job))
            && self.by.is_none_or(|by| event.by == Some(by))
            && self.owner.as_ref().is_none_or(|owner| *event.owner == **owner)
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at < until)
            && self.kind.as_ref().is_none_or(|kind| is_of(event.decision.kind(), kind))
            && self.trace.is_none_or(|trace| event.trace_id() == Some(trace))
    }

    /// Whether every decision is asked for.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether this type is the one asked for, or of the group that is asked for.
#[must_use]
pub fn is_of(kind: &str, asked: &str) -> bool {
    kind == asked || group(kind) == asked
}

/// The group of a type.
#[must_use]
pub fn group(kind: &str) -> &str {
    kind.split_once('.').map_or(kind, |(group, _)| group)
}

/// Where reading begins and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditWalk {
    /// The newest first, from before this one if it is given.
    NewestFirst(Option<u64>),
    /// The oldest first, from after this one.
    OldestFirst(u64),
}

/// Some of the decisions that a filter asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The decisions, in the order that was asked for.
    pub events: Vec<AuditEvent>,
    /// Where to go on; `None` where nothing is left to look at.
    pub next: Option<u64>,
}
