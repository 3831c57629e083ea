//! Requests: what a target asks for, with what the scheduler says about the run.

use std::fmt::Display;

use chronos_core::Http;
use chronos_core::execution::Failure;
use reqwest::header::{
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue,
    USER_AGENT,
};
use reqwest::{Client, Request};

use super::answer;
use crate::handler::JobContext;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("chronos/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The request of this target for this run.
pub(super) fn build(
    client: &Client,
    http: &Http,
    context: &JobContext,
) -> Result<Request, Failure> {
    let unsendable = |problem: &dyn Display| {
        Failure::permanent(&format!("the request cannot be sent: {problem}"))
    };
    let method = http.method().as_str().parse().map_err(|error| unsendable(&error))?;
    let mut headers = asked_for(http).map_err(|error| unsendable(&error))?;
    describe(&mut headers, context).map_err(|error| unsendable(&error))?;
    let mut request =
        client.request(method, http.url().clone()).headers(headers).timeout(http.timeout());
    if !http.body().is_empty() {
        request = request.body(http.body().to_vec());
    }
    request.build().map_err(|error| unsendable(&answer::root(&error)))
}

/// The user's headers, and the usual ones that the user left out.
fn asked_for(http: &Http) -> Result<HeaderMap, BadHeader> {
    let mut headers = HeaderMap::new();
    for header in http.headers() {
        let mut value: HeaderValue = header.value().parse()?;
        value.set_sensitive(true);
        headers.append(header.name().parse::<HeaderName>()?, value);
    }
    headers.entry(USER_AGENT).or_insert(AGENT);
    if !http.body().is_empty() {
        headers.entry(CONTENT_TYPE).or_insert(JSON);
    }
    Ok(headers)
}

/// Says which run it is.
fn describe(headers: &mut HeaderMap, context: &JobContext) -> Result<(), BadHeader> {
    let about = [
        ("idempotency-key", context.idempotency_key()),
        ("chronos-execution-id", context.execution_id().to_string()),
        ("chronos-attempt", context.attempt().to_string()),
        ("chronos-fence", context.fence().0.to_string()),
        ("chronos-job", context.job_id().to_string()),
        ("traceparent", trace(context)),
        (
            "chronos-scheduled-for",
            chronos_core::Timestamp::from(context.scheduled_for()).to_string(),
        ),
    ];
    for (name, value) in about {
        headers.insert(HeaderName::from_static(name), value.try_into()?);
    }
    Ok(())
}

/// A trace that all attempts at a slot share, and a span for each of them.
fn trace(context: &JobContext) -> String {
    let trace = context.idempotency_key().replace('-', "");
    let attempt = context.execution_id().to_string().replace('-', "");
    // The middle of the id tells attempts apart; it begins with the slot and ends with the job.
    let span = &attempt[12..28];
    format!("00-{trace}-{span}-01")
}

/// A header that the client refuses although the target accepted it.
#[derive(Debug, thiserror::Error)]
enum BadHeader {
    #[error(transparent)]
    Name(#[from] InvalidHeaderName),
    #[error(transparent)]
    Value(#[from] InvalidHeaderValue),
}
