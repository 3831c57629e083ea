//! Requests: what a target asks for, with what the scheduler says about the run.

use std::fmt::Display;

use chronos_core::execution::Failure;
use chronos_core::http::{Value, signing_keys};
use chronos_core::{Http, JobId, Timestamp};
use reqwest::Request;
use reqwest::header::{
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue, USER_AGENT,
};
use tracing::warn;

use super::keyring::{KeyError, Keyring, Purpose};
use super::push::Push;
use super::signature;
use crate::handler::JobContext;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("chronos/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The request of this target for this run, whose secrets the keyring opens.
pub(super) fn build(
    http: &Http,
    context: &JobContext,
    keyring: Option<&dyn Keyring>,
    now: Timestamp,
) -> Result<Request, Failure> {
    let part = if context.is_notice() { Part::Notice } else { Part::Target };
    let secrets = Secrets { part, holder: context.job_id(), name: context.job_name(), keyring };
    let mut headers = asked_for(http, &secrets)?;
    describe(&mut headers, context).map_err(unsendable)?;
    finish(http, headers, &context.idempotency_key(), &secrets, now)
}

/// A request that no run makes: headers that say what it is about, and what every attempt at it is known by.
pub(super) fn build_push(
    push: &Push<'_>,
    keyring: Option<&dyn Keyring>,
    now: Timestamp,
) -> Result<Request, Failure> {
    let secrets = Secrets { part: push.part, holder: push.holder, name: push.name, keyring };
    let mut headers = asked_for(push.http, &secrets)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(push.kind));
    insert(&mut headers, [("idempotency-key", push.id.clone())]).map_err(unsendable)?;
    insert(&mut headers, push.about.iter().cloned()).map_err(unsendable)?;
    finish(push.http, headers, &push.id, &secrets, now)
}

/// The request with these headers, signed if it is to be.
fn finish(
    http: &Http,
    mut headers: HeaderMap,
    id: &str,
    secrets: &Secrets<'_>,
    now: Timestamp,
) -> Result<Request, Failure> {
    let method = http.method().as_str().parse().map_err(unsendable)?;
    if let Some(secret) = http.signing() {
        let secret = secrets.open(Purpose::Signing, secret)?;
        let keys = signing_keys(&secret).map_err(unsendable)?;
        sign(&mut headers, &keys, http, id, now).map_err(unsendable)?;
    }
    let mut request = Request::new(method, http.url().clone());
    *request.headers_mut() = headers;
    *request.timeout_mut() = Some(http.timeout());
    if !http.body().is_empty() {
        *request.body_mut() = Some(http.body().to_vec().into());
    }
    Ok(request)
}

fn unsendable(problem: impl Display) -> Failure {
    Failure::permanent(&format!("the request cannot be sent: {problem}"))
}

/// The way to what a request must not show.
struct Secrets<'a> {
    part: Part,
    holder: JobId,
    name: &'a str,
    keyring: Option<&'a dyn Keyring>,
}

/// Whose secrets they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Those of a job's target.
    Target,
    /// Those of the webhook for notices.
    Notice,
    /// Those of a subscription.
    Subscription,
}

impl Part {
    /// What a secret of a request is for, as this part of it.
    fn purpose(self, purpose: Purpose<'_>) -> Purpose<'_> {
        match (self, purpose) {
            (Self::Notice, Purpose::Header(name)) => Purpose::NoticeHeader(name),
            (Self::Notice, Purpose::Signing) => Purpose::NoticeSigning,
            (Self::Subscription, Purpose::Header(name)) => Purpose::PushHeader(name),
            (Self::Subscription, Purpose::Signing) => Purpose::PushSigning,
            (_, purpose) => purpose,
        }
    }
}

impl Secrets<'_> {
    /// What the value says.
    fn open(&self, purpose: Purpose<'_>, value: &Value) -> Result<String, Failure> {
        let sealed = match value {
            Value::Plain(text) => return Ok(text.to_string()),
            Value::Sealed(sealed) => sealed,
        };
        let purpose = self.part.purpose(purpose);
        let keyring = self.keyring.ok_or(KeyError::NoKey);
        let opened = keyring.and_then(|keyring| keyring.open(self.holder, purpose, sealed));
        opened.map_err(|error| {
            warn!(job = self.name, %error, "Secret not opened");
            let what = match purpose {
                Purpose::Header(name) | Purpose::NoticeHeader(name) | Purpose::PushHeader(name) => {
                    format!("the secret header {name}")
                }
                Purpose::Signing | Purpose::NoticeSigning | Purpose::PushSigning => {
                    "the signing secret".into()
                }
            };
            // The next attempt may be made by a node that has the key.
            Failure::transient(&format!("{what} cannot be opened: {error}"))
        })
    }
}

/// As many as are added to the user's headers, at most.
const OWN_HEADERS: usize = 12;

/// The user's headers, and the usual ones that the user left out.
fn asked_for(http: &Http, secrets: &Secrets<'_>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::with_capacity(http.headers().len() + OWN_HEADERS);
    for header in http.headers() {
        let value = secrets.open(Purpose::Header(header.name()), header.value())?;
        let mut value: HeaderValue = value.parse().map_err(unsendable)?;
        value.set_sensitive(true);
        headers.append(header.name().parse::<HeaderName>().map_err(unsendable)?, value);
    }
    headers.entry(USER_AGENT).or_insert(AGENT);
    if !http.body().is_empty() {
        headers.entry(CONTENT_TYPE).or_insert(JSON);
    }
    Ok(headers)
}

/// Says which run it is.
fn describe(headers: &mut HeaderMap, context: &JobContext) -> Result<(), InvalidHeaderValue> {
    let about = [
        ("idempotency-key", context.idempotency_key()),
        ("chronos-execution-id", context.execution_id().to_string()),
        ("chronos-attempt", context.attempt().to_string()),
        ("chronos-fence", context.fence().0.to_string()),
        ("chronos-job", context.job_id().to_string()),
        ("traceparent", trace(context)),
        ("chronos-scheduled-for", Timestamp::from(context.scheduled_for()).to_string()),
    ];
    insert(headers, about)
}

/// Signs the body, with each of two keys while one takes the place of the other. The id stays the same when
/// a slot is tried again, so that whoever has acted on it can tell; the time is that of the attempt.
fn sign(
    headers: &mut HeaderMap,
    keys: &[Vec<u8>],
    http: &Http,
    id: &str,
    now: Timestamp,
) -> Result<(), InvalidHeaderValue> {
    let seconds = now.as_secs();
    let signatures = keys.iter().map(|key| signature::sign(key, id, seconds, http.body()));
    let signature = signatures.collect::<Vec<_>>().join(" ");
    let about = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature),
    ];
    insert(headers, about)
}

fn insert(
    headers: &mut HeaderMap,
    about: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(), InvalidHeaderValue> {
    for (name, value) in about {
        headers.insert(HeaderName::from_static(name), value.try_into()?);
    }
    Ok(())
}

/// The run's trace, which all attempts at a slot share, and a span for each of them.
fn trace(context: &JobContext) -> String {
    let trace = context.trace_id();
    let attempt = context.execution_id().to_string().replace('-', "");
    // The middle of the id tells attempts apart; it begins with the slot and ends with the job.
    let span = &attempt[12..28];
    format!("00-{trace}-{span}-01")
}
