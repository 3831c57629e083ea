//! Letters: events as endpoints are sent them, in the structured mode of `CloudEvents` 1.0 over HTTP, and
//! the notice that a subscription is paused.

use chronos_core::execution::Failure;
use chronos_core::subscription::State;
use chronos_core::{Http, JobId, MessageEvent, Subscription};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Office;
use crate::http::{Part, Push};

/// What the body of an event is.
const CLOUD_EVENT: &str = "application/cloudevents+json";
/// What all events of message jobs are.
const TYPE: &str = "chronos.message";

/// An event in its envelope.
#[derive(Serialize)]
struct Envelope<'a> {
    specversion: &'static str,
    id: String,
    source: String,
    #[serde(rename = "type")]
    kind: &'static str,
    subject: &'a str,
    time: String,
    datacontenttype: &'static str,
    data: &'a RawValue,
}

/// An event that is ready to be sent.
pub(super) struct Letter {
    http: Http,
    id: String,
    about: Vec<(&'static str, String)>,
}

impl Letter {
    /// The event as this subscription's endpoint is sent it.
    pub(super) fn of(
        subscription: &Subscription,
        event: &MessageEvent,
        write: fn(&MessageEvent) -> String,
    ) -> Result<Self, Failure> {
        let unsendable = |error: &dyn std::fmt::Display| {
            Failure::permanent(&format!("the event cannot be sent: {error}"))
        };
        let message = &event.message;
        let data = RawValue::from_string(write(event)).map_err(|error| unsendable(&error))?;
        let id = message.id.to_string();
        let envelope = Envelope {
            specversion: "1.0",
            id: id.clone(),
            source: format!("/jobs/{}", message.job),
            kind: TYPE,
            subject: &message.job_name,
            time: message.occurred_at.to_string(),
            datacontenttype: "application/json",
            data: &data,
        };
        let body = serde_json::to_vec(&envelope).map_err(|error| unsendable(&error))?;
        let http = subscription.endpoint.clone().with_body(body);
        let failures = subscription.delivery.failing().filter(|it| it.event == event.sequence);
        let attempt = failures.map_or(0, |failing| failing.failures) + 1;
        let about = vec![
            ("chronos-subscription", subscription.id.to_string()),
            ("chronos-job", message.job.to_string()),
            ("chronos-attempt", attempt.to_string()),
            ("chronos-fence", subscription.delivery.token.0.to_string()),
            ("traceparent", trace(subscription, event, attempt)),
        ];
        Ok(Self { http: http.map_err(|error| unsendable(&error))?, id, about })
    }

    pub(super) fn push<'a>(&'a self, subscription: &'a Subscription) -> Push<'a> {
        Push {
            http: &self.http,
            kind: CLOUD_EVENT,
            part: Part::Subscription,
            holder: holder(subscription),
            name: &subscription.name,
            owner: &subscription.owner,
            id: self.id.clone(),
            about: self.about.clone(),
        }
    }
}

/// What a subscription's secrets are sealed for: its id stands in the place of a job's.
fn holder(subscription: &Subscription) -> JobId {
    JobId::from_bytes(*subscription.id.as_bytes())
}

/// The event's trace, and a span for each attempt at telling it to this endpoint.
fn trace(subscription: &Subscription, event: &MessageEvent, attempt: u32) -> String {
    let id = subscription.id.as_bytes().last_chunk().map_or(0, |last| u64::from_be_bytes(*last));
    let span = id ^ event.sequence.rotate_left(16) ^ u64::from(attempt);
    // A span of zeros is none.
    format!("00-{}-{:016x}-01", event.message.trace, span.max(1))
}

/// Tells that the subscription is paused because its endpoint fails, where notices go that belong to no job
/// with a webhook of its own.
pub(super) async fn tell(office: &Office, subscription: &Subscription) -> Result<(), Failure> {
    let delivery = &subscription.delivery;
    let (State::Paused { since, .. }, Some(failing)) = (&delivery.state, delivery.failing()) else {
        return Ok(());
    };
    // Another node may have one.
    let nobody = || Failure::transient("no webhook for notices is configured on this node");
    let webhook = office.config.webhook.as_deref().ok_or_else(nobody)?;
    let id = format!("{}-{}", subscription.id, since.as_micros());
    let body = json!({
        "id": id,
        "kind": "subscription_paused",
        "at": since.to_string(),
        "subscription": {
            "id": subscription.id.to_string(),
            "name": subscription.name,
            "owner": subscription.owner,
        },
        "error": failing.error,
        "event_sequence": failing.event,
        "failing_since": failing.since.to_string(),
        "consecutive_failures": failing.failures,
    });
    let unsendable = |error: chronos_core::Error| Failure::permanent(&error.to_string());
    let http = webhook.clone().with_body(body.to_string()).map_err(unsendable)?;
    let push = Push {
        http: &http,
        kind: "application/json",
        part: Part::Notice,
        holder: holder(subscription),
        name: &subscription.name,
        owner: "",
        id,
        about: vec![("chronos-subscription", subscription.id.to_string())],
    };
    office.caller.push(&push).await.map_err(|unsent| unsent.failure)
}
