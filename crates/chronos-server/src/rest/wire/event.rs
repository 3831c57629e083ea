//! Message events: what message jobs said.

use chronos_core::{Message, Timestamp, message};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// What a message job said.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageEvent {
    /// The execution that said it.
    #[schema(format = "uuid")]
    event_id: String,
    /// The version of this shape.
    #[schema(example = 1)]
    schema_version: u32,
    #[schema(value_type = String, format = DateTime)]
    occurred_at: Timestamp,
    source: Source,
    /// Whose job it was; empty for the program's own.
    actor: String,
    content: Content,
    context: Context,
    correlation: Correlation,
    /// The nominal time that it is for.
    #[schema(value_type = String, format = DateTime)]
    slot: Timestamp,
    /// Its place in the log, and the cursor to go on from.
    sequence: u64,
}

/// Where an event comes from.
#[derive(Debug, Serialize, ToSchema)]
struct Source {
    #[schema(example = "scheduler")]
    channel: &'static str,
    /// The job's id.
    #[schema(format = "uuid")]
    connector_id: String,
}

/// What is said.
#[derive(Debug, Serialize, ToSchema)]
struct Content {
    /// For people.
    text: Option<String>,
    /// For programs.
    #[schema(value_type = Option<serde_json::Value>)]
    structured: Option<Box<RawValue>>,
}

/// What surrounds an event.
#[derive(Debug, Serialize, ToSchema)]
struct Context {
    /// The zone of the job's schedule.
    #[schema(example = "Europe/Berlin")]
    timezone: String,
}

/// What an event belongs to.
#[derive(Debug, Serialize, ToSchema)]
struct Correlation {
    trace_id: String,
    /// SHA-256 of `scheduler`, the job's id and the slot: the same for every copy of the event.
    dedupe_key: String,
}

impl From<&message::MessageEvent> for MessageEvent {
    fn from(event: &message::MessageEvent) -> Self {
        let message = &event.message;
        let structured = message.structured.as_deref();
        Self {
            event_id: message.id.to_string(),
            schema_version: Message::SCHEMA_VERSION,
            occurred_at: message.occurred_at,
            source: Source { channel: Message::CHANNEL, connector_id: message.job.to_string() },
            actor: message.actor.to_string(),
            content: Content {
                text: message.text.as_deref().map(Into::into),
                structured: structured.and_then(|json| serde_json::from_str(json).ok()),
            },
            context: Context { timezone: message.timezone.to_string() },
            correlation: Correlation {
                trace_id: message.trace.to_string(),
                dedupe_key: message.dedupe_key.to_string(),
            },
            slot: message.slot,
            sequence: event.sequence,
        }
    }
}
