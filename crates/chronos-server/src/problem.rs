//! Problems: what a caller is told when something cannot be done, as RFC 9457 has it.

use std::fmt::Display;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::{account, store, subscription};
use serde::Serialize;
use utoipa::ToSchema;

use crate::quotas::{Excess, NotMade, Of};

/// What every problem's type begins with.
const TYPES: &str = "urn:chronos:problem:";
/// When to try again what cannot be done for the moment.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a request was not done, as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// What kind of problem it is.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "urn:chronos:problem:validation")]
    kind: Box<str>,
    /// The kind in a few words.
    #[schema(example = "Unprocessable Entity")]
    title: &'static str,
    /// The status of the answer.
    #[schema(example = 422)]
    status: u16,
    /// What is wrong here.
    #[schema(example = "schedule.seconds: interval of 0ns is not accepted")]
    detail: String,
    /// What is wrong with each field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// The quota that is used up or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Box<Quota>>,
    /// The jobs that stand in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_use: Option<Box<InUse>>,
    #[serde(skip)]
    retry_after: Option<Duration>,
}

/// The jobs that refer to what was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct InUse {
    /// How many there are.
    #[schema(example = 2)]
    pub(crate) count: u64,
    /// The first of them that are there for whoever asks; at most 100.
    pub(crate) jobs: Vec<JobName>,
}

/// A job by its id and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct JobName {
    #[schema(format = "uuid")]
    pub(crate) id: String,
    #[schema(example = "weekday report")]
    pub(crate) name: String,
}

/// How much of something an account may take up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Quota {
    /// The key of the configuration that sets it.
    #[schema(example = "user_max_jobs")]
    name: &'static str,
    #[schema(example = 10000)]
    value: u64,
}

/// What is wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// The field, or the parameter, as it was sent.
    #[schema(example = "schedule.seconds")]
    pub(crate) field: String,
    /// What is wrong with it.
    #[schema(example = "interval of 0ns is not accepted")]
    pub(crate) detail: String,
    /// What is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "whole seconds, from 1 second to 100 years")]
    pub(crate) accepted: Option<String>,
}

impl FieldError {
    /// A field and what is wrong with it; what follows "; use" is what is accepted.
    pub(crate) fn new(field: impl Into<String>, problem: impl Display) -> Self {
        let problem = problem.to_string();
        let (detail, accepted) = match problem.split_once("; use ") {
            Some((detail, accepted)) => (detail.to_owned(), Some(accepted.to_owned())),
            None => (problem, None),
        };
        Self { field: field.into(), detail, accepted }
    }

    /// A field that was left out.
    pub(crate) fn missing(field: impl Into<String>, accepted: impl Into<String>) -> Self {
        let detail = "nothing is given".to_owned();
        Self { field: field.into(), detail, accepted: Some(accepted.into()) }
    }

    /// The same, seen from the object that the field is in.
    pub(crate) fn within(mut self, parent: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => parent.into(),
            field if field.starts_with('[') => format!("{parent}{field}"),
            field => format!("{parent}.{field}"),
        };
        self
    }
}

impl Problem {
    /// A problem of this status.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let retry_after = match status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Some(RETRY_AFTER),
            _ => None,
        };
        Self {
            kind: format!("{TYPES}{}", slug(status)).into(),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            quota: None,
            in_use: None,
            retry_after,
        }
    }

    /// What is wrong with the fields of a body that could be read.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        Self::about(StatusCode::UNPROCESSABLE_ENTITY, errors)
    }

    /// What is wrong with the parameters of a request.
    pub(crate) fn bad_parameters(errors: Vec<FieldError>) -> Self {
        Self::about(StatusCode::BAD_REQUEST, errors)
    }

    /// What is wrong with one parameter.
    pub(crate) fn bad_parameter(field: &str, problem: impl Display) -> Self {
        Self::bad_parameters(vec![FieldError::new(field, problem)])
    }

    fn about(status: StatusCode, errors: Vec<FieldError>) -> Self {
        let texts: Vec<String> =
            errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect();
        Self { errors, ..Self::new(status, texts.join("; ")) }
    }

    /// Too much was asked for; it may be asked for again after this long.
    pub(crate) fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        // Whole seconds, and never too few.
        let retry_after = Some(Duration::from_secs(wait.as_secs() + 1));
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }

    /// Runs ask for runs without end. Not worth trying again, unlike 508 for whoever retries 5xx.
    pub(crate) fn looping(detail: impl Into<String>) -> Self {
        Self { kind: format!("{TYPES}loop").into(), ..Self::new(StatusCode::CONFLICT, detail) }
    }

    /// Something cannot be removed, because these jobs refer to it.
    pub(crate) fn in_use(detail: impl Into<String>, by: InUse) -> Self {
        let kind = format!("{TYPES}in-use").into();
        let in_use = Some(Box::new(by));
        Self { kind, in_use, ..Self::new(StatusCode::CONFLICT, detail) }
    }

    /// What is wrong, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn not_found(what: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, what.to_string())
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The last part of a problem's type.
fn slug(status: StatusCode) -> String {
    match status {
        StatusCode::UNPROCESSABLE_ENTITY => "validation".into(),
        StatusCode::PRECONDITION_FAILED => "version-mismatch".into(),
        status => {
            let reason = status.canonical_reason().unwrap_or("unknown");
            reason.to_ascii_lowercase().replace(' ', "-")
        }
    }
}

/// The problem that tells a caller which quota stands in the way.
impl From<Excess> for Problem {
    fn from(excess: Excess) -> Self {
        let Excess { quota, value, of, problem } = excess;
        let field = |field: &str| Self::invalid(vec![FieldError::new(field, &problem)]);
        let refused = match of {
            Of::Cron => field("schedule.expression"),
            Of::Interval => field("schedule.seconds"),
            Of::Payload => field("payload"),
            Of::Concurrent => field("max_concurrent"),
            Of::Queued => field("max_queued"),
            Of::AtOnce => field("rate.at_once"),
            Of::Jobs | Of::Subscriptions => {
                // Nobody knows when there will be room.
                let full = Self::new(StatusCode::TOO_MANY_REQUESTS, problem);
                Self { kind: format!("{TYPES}quota-used-up").into(), retry_after: None, ..full }
            }
            Of::Requests(wait) => Self::too_many(problem, wait),
        };
        Self { quota: Some(Box::new(Quota { name: quota, value })), ..refused }
    }
}

impl From<NotMade> for Problem {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Excess(excess) => excess.into(),
            NotMade::Store(error) => error.into(),
        }
    }
}

/// The problem that tells a caller what to do about a store's error.
impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        use store::Error;
        let text = error.to_string();
        let status = match error {
            Error::Invalid(invalid) => return crate::rest::invalid(&invalid),
            Error::NoSuchPolicy(_) => {
                return Self::invalid(vec![FieldError::new("quiet_hours_policy_id", text)]);
            }
            Error::RequestReused => {
                let problem = format!("{text}; use a key of its own for each request");
                return Self::invalid(vec![FieldError::new("Idempotency-Key", problem)]);
            }
            Error::NoSuchJob(_) | Error::NoSuchExecution(_) | Error::NoSuchBackfill(_) => {
                StatusCode::NOT_FOUND
            }
            Error::NameTaken(_)
            | Error::PolicyNameTaken(_)
            | Error::PolicyInUse(_)
            | Error::TooManyPolicies(_)
            | Error::TooManyBackfills(_)
            | Error::BackfillIsOver(_)
            | Error::ScheduleChanged(_)
            | Error::Overlap(_)
            | Error::NotDeadLetter(_)
            | Error::LeaseLost(_) => StatusCode::CONFLICT,
            Error::TooManyJobs(_) => StatusCode::TOO_MANY_REQUESTS,
            Error::VersionConflict { .. } | Error::PolicyConflict { .. } => {
                StatusCode::PRECONDITION_FAILED
            }
            Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Corrupt(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, text)
    }
}

/// The problem that tells a caller what to do about an error of the subscriptions.
impl From<subscription::Error> for Problem {
    fn from(error: subscription::Error) -> Self {
        use subscription::Error;
        let text = error.to_string();
        let status = match error {
            Error::Store(error) => return error.into(),
            Error::NoSuchSubscription(_) => StatusCode::NOT_FOUND,
            Error::NameTaken(_) | Error::TooMany | Error::LeaseLost(_) => StatusCode::CONFLICT,
            Error::TooManyOfOwner(_) => StatusCode::TOO_MANY_REQUESTS,
            Error::Conflict { .. } => StatusCode::PRECONDITION_FAILED,
        };
        Self::new(status, text)
    }
}

/// The problem that tells a caller what to do about an error of the accounts.
impl From<account::Error> for Problem {
    fn from(error: account::Error) -> Self {
        use account::Error;
        let text = error.to_string();
        let status = match error {
            Error::Store(error) => return error.into(),
            Error::NoSuchUser(_) | Error::NoSuchKey(_) => StatusCode::NOT_FOUND,
            Error::NameTaken(_) | Error::LastAdmin | Error::TooManyKeys => StatusCode::CONFLICT,
            Error::NotFirst => StatusCode::FORBIDDEN,
            Error::NoSuchSession | Error::SessionReused => StatusCode::UNAUTHORIZED,
        };
        Self::new(status, text)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status(), [(header::CONTENT_TYPE, kind)], body).into_response();
        if self.status() == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_told_apart_from_what_is_wrong() {
        let error = FieldError::new("limit", "0 is not accepted; use 1 to 1,000").within("page");
        assert_eq!(error.field, "page.limit");
        assert_eq!(error.detail, "0 is not accepted");
        assert_eq!(error.accepted.as_deref(), Some("1 to 1,000"));
    }

    #[test]
    fn every_problem_says_what_kind_it_is() {
        for (status, kind) in [
            (StatusCode::NOT_FOUND, "urn:chronos:problem:not-found"),
            (StatusCode::UNPROCESSABLE_ENTITY, "urn:chronos:problem:validation"),
            (StatusCode::PRECONDITION_FAILED, "urn:chronos:problem:version-mismatch"),
        ] {
            assert_eq!(&*Problem::new(status, "x").kind, kind);
        }
    }
}
