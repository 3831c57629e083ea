//! The history over REST: the table of contents, the figures of jobs by the day, and search.

pub(in crate::rest) mod jobs;
pub(in crate::rest) mod prune;
pub(in crate::rest) mod search;
pub(in crate::rest) mod standing;
pub(in crate::rest) mod toc;
