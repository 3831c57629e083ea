//! Subscriptions as JSON: where events go, which of them, and how far that has come.

use std::collections::BTreeMap;

use chronos_core::http::Reach;
use chronos_core::subscription::{self, Cause, Pattern, State};
use chronos_core::{Error, Http, JobId, SubscriptionId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Errors;
use crate::problem::FieldError;
use crate::reach;
use crate::seconds::Seconds;
use crate::secrets::{self, HeaderValue, MASK, Safe, SecretText};

/// A subscription to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "billing",
    "url": "https://example.com/events",
    "signing_secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "filter": {"tag": "billing", "name": "nightly-*"}
}))]
pub(in crate::rest) struct NewSubscription {
    /// What people call it, unlike any other one of yours.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// Where events go, each as the body of a POST.
    #[schema(example = "https://example.com/events", max_length = 4096)]
    url: String,
    /// Sent as they are; those that the connection or the scheduler sets are refused.
    headers: Option<BTreeMap<String, HeaderValue>>,
    /// Signs each event as Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64. Stored encrypted
    /// and told as `********`, which keeps the one that there is.
    #[schema(value_type = Option<String>)]
    signing_secret: Option<SecretText>,
    /// How long a request may take in all; 30 if left out.
    #[schema(value_type = Option<f64>, minimum = 0.001, maximum = 3600)]
    timeout_seconds: Option<Seconds>,
    /// Which events are sent; all that are yours, or all if you are an admin, if left out.
    filter: Option<Filter>,
    /// How often an event that is not taken is tried again before the subscription is paused; 15 if left out.
    #[schema(maximum = 1000)]
    max_retry: Option<u32>,
    /// The wait before the first of them, which doubles with each; 5 if left out.
    #[schema(value_type = Option<f64>)]
    retry_base_seconds: Option<Seconds>,
    /// The wait never grows past this; 3600 if left out.
    #[schema(value_type = Option<f64>)]
    retry_max_seconds: Option<Seconds>,
    /// Begins after the event of this sequence, 0 for all that are kept; with what comes next if left out.
    /// Said once, when the subscription is made.
    #[schema(example = 1042)]
    pub(in crate::rest) after: Option<u64>,
}

/// Which events are sent: those that meet all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SubscriptionFilter)]
pub(in crate::rest) struct Filter {
    /// Those of these jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    jobs: Option<Vec<String>>,
    /// Those of jobs that had such a name when they fired; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "nightly-*", max_length = 200)]
    name: Option<String>,
    /// Those of jobs that were filed under this when they fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    tag: Option<String>,
    /// Those of this user's jobs; yours, unless you are an admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

/// A subscription to message events.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct Subscription {
    #[schema(format = "uuid")]
    id: String,
    /// Grows with every edit; the `ETag` of the subscription.
    version: u64,
    #[serde(flatten)]
    said: Said,
    /// Whose it is.
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// `active`; `failing` while the next event is tried again; `paused` until somebody resumes it.
    #[schema(example = "active")]
    status: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    paused_at: Option<Timestamp>,
    /// What paused it: `person`, or `failure` of the endpoint.
    pause_cause: Option<&'static str>,
    /// Everything that it asks for was taken, up to the event of this sequence.
    cursor: u64,
    /// How many events were taken.
    delivered: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_delivered_at: Option<Timestamp>,
    /// Why the next event was not taken, the last time.
    last_error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    consecutive_failures: u32,
    /// When the event that was not taken is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    /// What waits to be delivered; told of a single subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<Lag>,
    /// Secrets that the subscription no longer has, because its events go elsewhere now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped_secrets: Vec<String>,
}

/// What waits to be delivered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubscriptionLag)]
pub(in crate::rest) struct Lag {
    /// How many events, counted up to 1,000.
    pub(in crate::rest) events: usize,
    /// How long the oldest of them has waited.
    #[schema(value_type = f64)]
    pub(in crate::rest) seconds: Seconds,
}

/// What a subscription says: the fields of a new one, with everything that was left out.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SubscriptionSaid)]
pub(in crate::rest) struct Said {
    name: String,
    url: String,
    headers: BTreeMap<String, HeaderValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    signing_secret: Option<SecretText>,
    #[schema(value_type = f64)]
    timeout_seconds: Seconds,
    filter: Filter,
    max_retry: u32,
    #[schema(value_type = f64)]
    retry_base_seconds: Seconds,
    #[schema(value_type = f64)]
    retry_max_seconds: Seconds,
}

impl From<&subscription::Filter> for Filter {
    fn from(filter: &subscription::Filter) -> Self {
        let jobs: Vec<String> = filter.jobs.iter().map(ToString::to_string).collect();
        Self {
            jobs: Some(jobs).filter(|jobs| !jobs.is_empty()),
            name: filter.name.as_ref().map(|name| name.as_str().into()),
            tag: filter.tag.as_deref().map(Into::into),
            owner: filter.owner.as_deref().map(Into::into),
        }
    }
}

impl From<&subscription::Subscription> for Said {
    fn from(subscription: &subscription::Subscription) -> Self {
        let endpoint = &subscription.endpoint;
        Self {
            name: subscription.name.to_string(),
            url: endpoint.url().as_str().into(),
            headers: secrets::told(endpoint),
            signing_secret: endpoint.signing().map(|_| SecretText(MASK.into())),
            timeout_seconds: endpoint.timeout().into(),
            filter: (&subscription.filter).into(),
            max_retry: subscription.retry.max_retry,
            retry_base_seconds: subscription.retry.base.into(),
            retry_max_seconds: subscription.retry.max_delay.into(),
        }
    }
}

impl From<&subscription::Subscription> for Subscription {
    fn from(subscription: &subscription::Subscription) -> Self {
        let delivery = &subscription.delivery;
        let (status, paused_at, pause_cause) = match &delivery.state {
            State::Active => ("active", None, None),
            State::Failing(_) => ("failing", None, None),
            State::Paused { since, cause: Cause::Person } => {
                ("paused", Some(*since), Some("person"))
            }
            State::Paused { since, cause: Cause::Failure { .. } } => {
                ("paused", Some(*since), Some("failure"))
            }
        };
        let failing = delivery.failing();
        let waits = failing.filter(|_| paused_at.is_none());
        Self {
            id: subscription.id.to_string(),
            version: subscription.version,
            said: subscription.into(),
            created_by: subscription.owner.to_string(),
            created_at: subscription.created_at,
            updated_at: subscription.updated_at,
            status,
            paused_at,
            pause_cause,
            cursor: delivery.cursor,
            delivered: delivery.delivered,
            last_delivered_at: delivery.delivered_at,
            last_error: failing.map(|failing| failing.error.to_string()),
            failing_since: failing.map(|failing| failing.since),
            consecutive_failures: failing.map_or(0, |failing| failing.failures),
            next_attempt_at: waits.map(|failing| failing.next_attempt),
            lag: None,
            dropped_secrets: Vec::new(),
        }
    }
}

impl Subscription {
    /// The same, without what the query of its URL holds.
    pub(in crate::rest) fn without_query(mut self) -> Self {
        self.said.url = secrets::without_query(&self.said.url);
        self
    }

    /// The same, with what waits to be delivered.
    pub(in crate::rest) fn with_lag(self, lag: Lag) -> Self {
        Self { lag: Some(lag), ..self }
    }

    /// The same, which lost these secrets.
    pub(in crate::rest) fn without(self, dropped_secrets: Vec<String>) -> Self {
        Self { dropped_secrets, ..self }
    }
}

/// Who asks, and for which subscription.
pub(in crate::rest) struct Asker<'a> {
    pub(in crate::rest) id: SubscriptionId,
    /// Whose it is, or will be.
    pub(in crate::rest) owner: &'a str,
    /// Whether events of everyone may be heard.
    pub(in crate::rest) hears_all: bool,
    pub(in crate::rest) reach: &'a Reach,
    pub(in crate::rest) safe: Safe<'a>,
}

impl NewSubscription {
    /// The subscription that is asked for, made at `now`, which begins after a cursor.
    pub(in crate::rest) fn read(
        self,
        asker: &Asker<'_>,
        cursor: u64,
        now: Timestamp,
    ) -> Result<subscription::Subscription, Vec<FieldError>> {
        let mut errors = Errors::default();
        let endpoint = errors.note(self.endpoint(asker));
        let filter = errors.note(self.filter.unwrap_or_default().read(asker));
        let usual = subscription::Subscription::RETRY;
        let read = endpoint.zip(filter).map(|(endpoint, filter)| {
            let (id, owner) = (asker.id, asker.owner.into());
            let new = subscription::Subscription::new(id, &self.name, endpoint, cursor, now);
            let mut retry = usual;
            retry.max_retry = self.max_retry.unwrap_or(usual.max_retry);
            retry.base = self.retry_base_seconds.map_or(usual.base, |Seconds(base)| base);
            retry.max_delay = self.retry_max_seconds.map_or(usual.max_delay, |Seconds(max)| max);
            subscription::Subscription { owner, filter, retry, ..new }
        });
        if let Some(subscription) = &read {
            errors.note(subscription.validate().map_err(|error| super::spec::field_error(&error)));
        }
        errors.unless_any(read)
    }

    fn endpoint(&self, asker: &Asker<'_>) -> Result<Http, FieldError> {
        let mut http = Http::new(&self.url).map_err(refused)?;
        let checked = reach::check(asker.reach, &http);
        checked.map_err(|problem| FieldError::new("url", problem))?;
        for (name, value) in self.headers.iter().flatten() {
            http = asker.safe.header(http, name, value).map_err(refused)?;
        }
        if let Some(SecretText(secret)) = &self.signing_secret {
            http = asker.safe.signed(http, secret).map_err(refused)?;
        }
        if let Some(Seconds(timeout)) = self.timeout_seconds {
            http = http.with_timeout(timeout).map_err(refused)?;
        }
        Ok(http)
    }
}

impl Filter {
    fn read(self, asker: &Asker<'_>) -> Result<subscription::Filter, FieldError> {
        let mut jobs = Vec::new();
        for (place, job) in self.jobs.into_iter().flatten().enumerate() {
            let id = job.parse::<JobId>().ok().filter(|_| job.len() == 36);
            jobs.push(id.ok_or_else(|| {
                let shown: String = job.chars().take(60).collect();
                let problem = format!("{shown:?} is not accepted; use the id of a job");
                FieldError::new(format!("filter.jobs[{place}]"), problem)
            })?);
        }
        let owner: Option<Box<str>> = match self.owner {
            owner if asker.hears_all => owner.map(Into::into),
            Some(owner) if owner != asker.owner => {
                let problem = "events of others are for admins; leave it out";
                return Err(FieldError::new("filter.owner", problem));
            }
            _ => Some(asker.owner.into()),
        };
        Ok(subscription::Filter {
            jobs: jobs.into(),
            name: self.name.as_deref().map(Pattern::new),
            tag: self.tag.map(Into::into),
            owner,
        })
    }
}

/// What is wrong with where events go, by the name that it has here.
fn refused(error: Error) -> FieldError {
    match error {
        Error::Http { field: "timeout", problem } => FieldError::new("timeout_seconds", problem),
        Error::Http { field, problem } => FieldError::new(field, problem),
        other => FieldError::new("url", other),
    }
}
