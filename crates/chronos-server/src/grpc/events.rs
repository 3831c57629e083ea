//! Message events as the contract tells them: a stream that is read from the log.

use std::sync::Arc;

use chronos_core::store::EventFilter;
use chronos_core::{JobId, Message};
use chronos_engine::Follower;
use futures::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::Scheduler;
use super::convert::time::timestamp;
use super::refusal::{Refusal, status};
use crate::auth::Caller;
use crate::places::Place;
use crate::proto;
use crate::proto::message_event::{Content, Context, Correlation, Source};
use crate::proto::stream_events_request::From;

/// Events that a stream holds at once.
const AT_ONCE: usize = 64;

type Told = Result<proto::MessageEvent, Status>;

impl Scheduler {
    /// A reader of what is asked for, of what there is for the caller.
    pub(super) async fn follower(
        &self,
        caller: &Caller,
        request: proto::StreamEventsRequest,
    ) -> Result<Follower, Status> {
        let job = match request.job.parse::<JobId>() {
            // Events outlive their jobs.
            Ok(id) => Some(id),
            Err(_) if request.job.is_empty() => None,
            Err(_) => Some(self.find(caller, "job", &request.job).await?.spec.id),
        };
        let owner = (!caller.sees_all()).then(|| caller.owner.clone());
        let filter = EventFilter { job, owner, tag: None };
        let events = self.service.events();
        match request.from {
            Some(From::After(after)) => {
                let newest = self.service.store().newest_message().await.map_err(status)?;
                if after > newest {
                    let problem = format!("{after} is beyond the newest event, which is {newest}");
                    return Err(Refusal::of("after", problem).into());
                }
                Ok(events.follow(filter, after))
            }
            Some(From::Latest(true)) => events.follow_new(filter).await.map_err(status),
            Some(From::Latest(false)) | None => {
                Err(Refusal::missing("from", "after or latest").into())
            }
        }
    }
}

/// The events of a reader, a page at a time, each once the one before was taken.
pub(super) fn stream(
    reader: Follower,
    place: Place,
    closing: CancellationToken,
) -> impl Stream<Item = Told> + Send {
    let state = Some((reader, Arc::new(place), closing));
    let pages = futures::stream::unfold(state, async |state| {
        let (mut reader, place, closing) = state?;
        let page = tokio::select! {
            biased;
            () = closing.cancelled() => Err(Status::unavailable("the server is shutting down")),
            page = reader.next(AT_ONCE) => page.map_err(status),
        };
        Some(match page {
            Ok(page) => {
                let told: Vec<Told> = page.events.iter().map(|event| Ok(event.into())).collect();
                (told, Some((reader, place, closing)))
            }
            // Told once; after it the stream is over.
            Err(status) => (vec![Err(status)], None),
        })
    });
    pages.flat_map(futures::stream::iter)
}

impl std::convert::From<&chronos_core::MessageEvent> for proto::MessageEvent {
    fn from(event: &chronos_core::MessageEvent) -> Self {
        let message = &event.message;
        let text = |text: &Option<Box<str>>| text.as_deref().unwrap_or_default().to_owned();
        Self {
            event_id: message.id.to_string(),
            schema_version: Message::SCHEMA_VERSION,
            occurred_at: Some(timestamp(message.occurred_at)),
            source: Some(Source {
                channel: Message::CHANNEL.into(),
                connector_id: message.job.to_string(),
            }),
            actor: message.actor.to_string(),
            content: Some(Content {
                text: text(&message.text),
                structured: text(&message.structured),
            }),
            context: Some(Context { timezone: message.timezone.to_string() }),
            correlation: Some(Correlation {
                trace_id: message.trace.to_string(),
                dedupe_key: message.dedupe_key.to_string(),
            }),
            slot: Some(timestamp(message.slot)),
            sequence: event.sequence,
        }
    }
}
