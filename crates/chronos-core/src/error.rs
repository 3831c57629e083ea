//! What can be wrong with what a user asks for, each said so that the user can mend it.

use std::time::Duration;

use crate::policy::{Priority, catch_up, retry};
use crate::schedule::{CronError, UnknownZone};
use crate::{JobSpec, Timestamp};

/// A job, schedule or policy that cannot be accepted, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The cron expression does not parse or never matches.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// The time zone is not in the IANA database.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// The interval is zero, fractional or longer than a century.
    #[error("interval of {given:?} is not accepted; use whole seconds, from 1 second to 100 years")]
    Interval {
        /// The interval asked for.
        given: Duration,
    },
    /// The name is empty, too long or has control characters.
    #[error(
        "job name {given:?} is not accepted; use 1 to 200 characters, none of them control characters"
    )]
    Name {
        /// The name asked for.
        given: String,
    },
    /// There are more tags than a job may have.
    #[error("{given} tags are not accepted; use at most {max}", max = JobSpec::MAX_TAGS)]
    Tags {
        /// How many there are.
        given: usize,
    },
    /// A tag is empty, too long or has control characters.
    #[error(
        "tag {given:?} is not accepted; use 1 to {max} characters, none of them control characters",
        max = JobSpec::MAX_TAG
    )]
    Tag {
        /// The tag asked for.
        given: String,
    },
    /// Zero is not a bound.
    #[error("max_runs of 0 is not accepted; use 1 or more, or leave it out for no limit")]
    MaxRuns,
    /// A one-time job has one slot, so the bounds of recurring ones say nothing about it.
    #[error("{bound} is for recurring schedules; a one-time job runs once, at its own time")]
    BoundOnOneShot {
        /// The field that was given.
        bound: &'static str,
    },
    /// The schedule would end before it begins.
    #[error("end_at {end} is before start_at {start}")]
    EndBeforeStart {
        /// The start asked for.
        start: Timestamp,
        /// The end asked for.
        end: Timestamp,
    },
    /// The schedule has no slot left.
    #[error("the schedule \"{schedule}\" has no run after {after}")]
    NeverFires {
        /// The schedule in words.
        schedule: String,
        /// The instant it was asked at.
        after: Timestamp,
    },
    /// The catch-up cap must let something run and stay bounded.
    #[error(
        "catch_up_max of {given} is not accepted; use 1 to {max}",
        max = catch_up::CatchUpPolicy::MAX_CAP
    )]
    CatchUpCap {
        /// The cap asked for.
        given: u32,
    },
    /// A quiet window makes no sense.
    #[error("quiet window {window} is not accepted: {reason}")]
    QuietWindow {
        /// The window as given.
        window: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A field of a quiet-hours policy cannot be accepted.
    #[error("{field} of the quiet hours: {problem}")]
    QuietHours {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted.
        problem: String,
    },
    /// A pause would be over before it begins.
    #[error(
        "resume_at {given} is not accepted: it is past; use an instant to come, or leave it out"
    )]
    ResumeAt {
        /// The instant asked for.
        given: Timestamp,
    },
    /// What is written about a pause is too long.
    #[error(
        "{given} characters of a note are not accepted; use at most {max}",
        max = crate::job::Pause::MAX_NOTE
    )]
    PauseNote {
        /// How long it is.
        given: usize,
    },
    /// More retries than a slot may have.
    #[error("max_retry of {given} is not accepted; use 0 to {max}", max = retry::Policy::MAX_RETRY)]
    MaxRetry {
        /// The number asked for.
        given: u32,
    },
    /// A priority that there is not.
    #[error("priority of {given} is not accepted; use 0 to {max}", max = Priority::HIGHEST.level())]
    Priority {
        /// The number asked for.
        given: u32,
    },
    /// A duration that must be positive is zero.
    #[error("{field} of zero is not accepted; use a positive duration")]
    ZeroDuration {
        /// The field that was given.
        field: &'static str,
    },
    /// What is to be told of a job cannot be accepted.
    #[error("notify.{field} is not accepted: {problem}")]
    Notify {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted.
        problem: String,
    },
    /// A field of a subscription cannot be accepted.
    #[error("{field} of the subscription: {problem}")]
    Subscription {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted.
        problem: String,
    },
    /// What is asked of a backfill cannot be accepted.
    #[error("{field} of the backfill: {problem}")]
    Backfill {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted.
        problem: String,
    },
    /// A field of a message target cannot be accepted.
    #[error("{field} is not accepted: {problem}")]
    Message {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted.
        problem: String,
    },
    /// A field of an http target cannot be accepted.
    #[error("{field} is not accepted: {problem}")]
    Http {
        /// The field that was given.
        field: &'static str,
        /// What is wrong with it and what is accepted; never the value of a header or a URL.
        problem: String,
    },
}
