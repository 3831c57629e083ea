//! Which message events a subscription hears.

use serde::{Deserialize, Serialize};

use super::refusal;
use crate::store::EventFilter;
use crate::{Error, JobId, JobSpec, MessageEvent};

/// Which message events are heard: those that meet all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Those of these jobs; of all jobs where there are none.
    pub jobs: Box<[JobId]>,
    /// Those of jobs that had such a name when they fired.
    pub name: Option<Pattern>,
    /// Those of jobs that were filed under this when they fired.
    pub tag: Option<Box<str>>,
    /// Those of this owner's jobs.
    pub owner: Option<Box<str>>,
}

impl Filter {
    /// More jobs are refused.
    pub const MAX_JOBS: usize = 100;

    /// Refuses what no event could meet, and lists without end.
    pub fn validate(&self) -> Result<(), Error> {
        let given = self.jobs.len();
        if given > Self::MAX_JOBS {
            let problem = format!("{given} are not accepted; use at most {}", Self::MAX_JOBS);
            return Err(refusal("filter.jobs", problem));
        }
        for (field, text, most) in [
            ("filter.name", self.name.as_ref().map(Pattern::as_str), JobSpec::MAX_NAME),
            ("filter.tag", self.tag.as_deref(), JobSpec::MAX_TAG),
        ] {
            let Some(text) = text else {
                continue;
            };
            let length = text.chars().count();
            if !(1..=most).contains(&length) || text.chars().any(char::is_control) {
                let accepted = format!("1 to {most} characters, none of them control characters");
                return Err(refusal(field, format!("it is not accepted; use {accepted}")));
            }
        }
        Ok(())
    }

    /// Whether this event is heard.
    #[must_use]
    pub fn matches(&self, event: &MessageEvent) -> bool {
        let message = &event.message;
        (self.jobs.is_empty() || self.jobs.contains(&message.job))
            && self.owner.as_ref().is_none_or(|owner| message.actor == *owner)
            && self.tag.as_ref().is_none_or(|tag| message.tags.contains(tag))
            && self.name.as_ref().is_none_or(|name| name.matches(&message.job_name))
    }

    /// What a store is asked for: everything that is heard, and perhaps more.
    #[must_use]
    pub fn reading(&self) -> EventFilter {
        let job = match *self.jobs {
            [job] => Some(job),
            _ => None,
        };
        EventFilter { job, owner: self.owner.clone(), tag: self.tag.clone() }
    }
}

/// A text in which `*` stands for any text, and everything else for itself, letter by letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// The pattern that this text is.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is such a one. What stands between two stars is looked for from the left, which finds
    /// it if anything does: the work is bounded by the product of both lengths.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return *self.0 == *text;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(mut text) = text.strip_prefix(first).and_then(|text| text.strip_suffix(last))
        else {
            return false;
        };
        for part in middle.split('*') {
            let Some(place) = text.find(part) else {
                return false;
            };
            text = &text[place + part.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_nothing_else_does() {
        for (pattern, text, matches) in [
            ("report", "report", true),
            ("report", "reports", false),
            ("report", "Report", false),
            ("*", "", true),
            ("*", "anything", true),
            ("nightly-*", "nightly-backup", true),
            ("nightly-*", "nightly-", true),
            ("nightly-*", "my nightly-backup", false),
            ("*-backup", "nightly-backup", true),
            ("*-backup", "nightly-backup-2", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "abbbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("**", "x", true),
            ("a.c", "abc", false),
            ("*ä*", "für später", true),
            ("[a]*", "a", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn what_no_event_could_meet_is_refused() {
        let jobs = (0..=100).map(|n| JobId::from_bytes([n; 16])).collect();
        for (filter, field) in [
            (Filter { jobs, ..Filter::default() }, "filter.jobs"),
            (Filter { name: Some(Pattern::new("")), ..Filter::default() }, "filter.name"),
            (Filter { tag: Some("a\nb".into()), ..Filter::default() }, "filter.tag"),
            (Filter { tag: Some("".into()), ..Filter::default() }, "filter.tag"),
        ] {
            let refused = filter.validate().unwrap_err();
            assert!(matches!(refused, Error::Subscription { field: found, .. } if found == field));
        }
        assert_eq!(Filter::default().validate(), Ok(()));
    }
}
