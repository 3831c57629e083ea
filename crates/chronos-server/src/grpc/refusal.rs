//! What a caller is told when something cannot be done: the field at fault, or the right status.

use chronos_core::store;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::quotas::{Excess, NotMade, Of};

/// What is wrong with one field of a request, and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    field: String,
    problem: String,
}

impl Refusal {
    pub(crate) fn of(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// A refusal of a field that was left out.
    pub(crate) fn missing(field: &str, accepted: &str) -> Self {
        Self::of(field, format!("nothing is given; use {accepted}"))
    }

    /// The same, seen from the message that the field is in.
    pub(crate) fn within(self, parent: &str) -> Self {
        let field =
            if self.field.is_empty() { parent.into() } else { format!("{parent}.{}", self.field) };
        Self { field, ..self }
    }
}

impl From<Refusal> for Status {
    fn from(Refusal { field, problem }: Refusal) -> Self {
        let message = format!("{field}: {problem}");
        let details = ErrorDetails::with_bad_request_violation(field, problem);
        Self::with_error_details(Code::InvalidArgument, message, details)
    }
}

/// The status that tells a caller which quota stands in the way.
impl From<Excess> for Status {
    fn from(excess: Excess) -> Self {
        let Excess { quota, of, problem, .. } = excess;
        let field = match of {
            Of::Cron => "spec.schedule.cron.expression",
            Of::Interval => "spec.schedule.interval.seconds",
            Of::Payload => "spec.target.http.body",
            Of::Concurrent => "spec.overlap_policy.concurrent.max_concurrent",
            Of::Queued => "spec.overlap_policy.queue.max_queued",
            Of::AtOnce => "rate.at_once",
            Of::Jobs | Of::Subscriptions | Of::Requests(_) => {
                let details = ErrorDetails::with_quota_failure_violation(quota, &problem);
                return Self::with_error_details(Code::ResourceExhausted, problem, details);
            }
        };
        Refusal::of(field, problem).into()
    }
}

impl From<NotMade> for Status {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Excess(excess) => excess.into(),
            NotMade::Store(error) => status(error),
        }
    }
}

/// The status that tells a caller what to do about a store's error.
pub(crate) fn status(error: store::Error) -> Status {
    use store::Error;
    let code = match error {
        Error::Invalid(invalid) => {
            return Refusal::of(field_of(&invalid), invalid.to_string()).into();
        }
        Error::NoSuchPolicy(_) => {
            return Refusal::of("spec.quiet_hours_policy_id", error.to_string()).into();
        }
        Error::NameTaken(_) | Error::PolicyNameTaken(_) => Code::AlreadyExists,
        Error::NoSuchJob(_) | Error::NoSuchExecution(_) | Error::NoSuchBackfill(_) => {
            Code::NotFound
        }
        Error::PolicyInUse(_)
        | Error::Overlap(_)
        | Error::BackfillIsOver(_)
        | Error::RequestReused
        | Error::NotDeadLetter(_) => Code::FailedPrecondition,
        Error::TooManyJobs(_) | Error::TooManyPolicies(_) | Error::TooManyBackfills(_) => {
            Code::ResourceExhausted
        }
        Error::LeaseLost(_)
        | Error::VersionConflict { .. }
        | Error::PolicyConflict { .. }
        | Error::ScheduleChanged(_) => Code::Aborted,
        Error::Unavailable(_) => Code::Unavailable,
        Error::Corrupt(_) => Code::DataLoss,
    };
    Status::new(code, error.to_string())
}

/// The field of a request that an error of the domain speaks of.
fn field_of(error: &chronos_core::Error) -> &'static str {
    use chronos_core::Error;
    match error {
        Error::Cron(_) => "spec.schedule.cron.expression",
        Error::Zone(_) => "spec.schedule.cron.timezone",
        Error::Interval { .. } => "spec.schedule.interval.seconds",
        Error::Name { .. } => "spec.name",
        Error::Tags { .. } | Error::Tag { .. } => "spec.tags",
        Error::MaxRuns | Error::BoundOnOneShot { bound: "max_runs" } => "spec.schedule.max_runs",
        Error::BoundOnOneShot { bound: "start_at" } => "spec.schedule.start_at",
        Error::BoundOnOneShot { .. } | Error::EndBeforeStart { .. } => "spec.schedule.end_at",
        Error::NeverFires { .. } => "spec.schedule",
        Error::CatchUpCap { .. } => "spec.catch_up_policy.run_all_capped.catch_up_max",
        Error::QuietWindow { .. } | Error::QuietHours { .. } => "spec.quiet_hours_policy_id",
        Error::ResumeAt { .. } => "resume_at",
        Error::PauseNote { .. } => "note",
        Error::Backfill { field, .. } => field,
        Error::Priority { .. } => "spec.priority",
        Error::MaxRetry { .. } => "spec.max_retry",
        Error::Http { .. } => "spec.target.http",
        Error::Message { field: "jitter_seconds", .. } => "spec.jitter_seconds",
        Error::Message { .. } => "spec.target.message",
        Error::Notify { field: "overdue_after", .. } => "spec.notify.overdue_after",
        Error::Notify { .. } => "spec.notify",
        Error::ZeroDuration { field: "max_execution_time" } => "spec.max_execution_time",
        Error::ZeroDuration { field: "catch_up_window_seconds" } => "spec.catch_up_window",
        Error::ZeroDuration { .. } => "spec.retry_base",
        // There are none over gRPC.
        Error::Subscription { .. } => "subscription",
    }
}

#[cfg(test)]
mod tests {
    use chronos_core::store::{Error, Observers};
    use chronos_core::{ExecutionId, JobId, PolicyId};

    use super::*;

    #[test]
    fn every_error_of_a_store_has_the_code_that_says_what_to_do() {
        let (job, execution) = (JobId::from_bytes([1; 16]), ExecutionId::from_bytes([2; 16]));
        let conflict = Error::VersionConflict { name: "a".into(), expected: 1, current: 2 };
        let in_use = Box::new(Observers { count: 1, first: Vec::new() });
        for (error, code) in [
            (Error::NameTaken("a".into()), Code::AlreadyExists),
            (Error::NoSuchJob(job), Code::NotFound),
            (Error::NoSuchExecution(execution), Code::NotFound),
            (Error::NoSuchPolicy(PolicyId::from_bytes([3; 16])), Code::InvalidArgument),
            (Error::PolicyInUse(in_use), Code::FailedPrecondition),
            (Error::PolicyNameTaken("a".into()), Code::AlreadyExists),
            (Error::TooManyPolicies(3), Code::ResourceExhausted),
            (Error::Overlap("a".into()), Code::FailedPrecondition),
            (Error::TooManyJobs(3), Code::ResourceExhausted),
            (Error::RequestReused, Code::FailedPrecondition),
            (Error::NotDeadLetter(execution), Code::FailedPrecondition),
            (Error::LeaseLost(execution), Code::Aborted),
            (conflict, Code::Aborted),
            (Error::Invalid(chronos_core::Error::MaxRuns), Code::InvalidArgument),
            (Error::Unavailable("disk full".into()), Code::Unavailable),
            (Error::Corrupt("a record".into()), Code::DataLoss),
        ] {
            let text = error.to_string();
            let status = status(error);
            assert_eq!(status.code(), code, "{text}");
            assert!(status.message().contains(&text), "{text}");
        }
    }
}
