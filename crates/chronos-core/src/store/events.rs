//! Reading message events: which are asked for, and how far the store has looked.

use crate::{JobId, MessageEvent};

/// Which message events are asked for; those that meet all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Those of this job.
    pub job: Option<JobId>,
    /// Those of this owner's jobs.
    pub owner: Option<Box<str>>,
    /// Those of jobs that were filed under this when they fired.
    pub tag: Option<Box<str>>,
}

impl EventFilter {
    /// Whether the filter asks for this event.
    #[must_use]
    pub fn matches(&self, event: &MessageEvent) -> bool {
        let message = &event.message;
        self.job.is_none_or(|job| message.job == job)
            && self.owner.as_ref().is_none_or(|owner| message.actor == *owner)
            && self.tag.as_ref().is_none_or(|tag| message.tags.contains(tag))
    }
}

/// A stretch of the log of message events, as far as a filter asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in order.
    pub events: Vec<MessageEvent>,
    /// Nothing that is asked for is left out up to here: the cursor to go on from.
    pub cursor: u64,
    /// Whether the log goes on beyond it already.
    pub more: bool,
}
