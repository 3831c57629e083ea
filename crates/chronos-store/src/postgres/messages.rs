//! Message events: numbered and filed with the decisions of a step, and read in that order.

use std::sync::atomic::Ordering;

use chronos_core::store::{EventFilter, EventPage, Result};
use chronos_core::{Message, MessageEvent, Timestamp};
use sqlx::postgres::PgRow;

use super::fault::Outcome;
use super::shared::Shared;
use super::statements::Bound;
use super::step::Step;
use super::values::{AsUuid as _, Fields, count, hex, limit as rows_up_to, text, time};
use crate::embedded::record;

/// Rows that are read at a time: each may be long.
const AT_ONCE: usize = 128;
/// Bytes of messages after which a reading ends.
const BYTES: usize = 4 << 20;

impl Shared {
    /// The words that file the messages of a step; none where it has none.
    pub(super) fn message_words(&self, step: &Step) -> Outcome<String> {
        let list = |of: &dyn Fn(&Message) -> String| {
            step.messages.iter().map(of).collect::<Vec<_>>().join(",")
        };
        let mut encoded = Vec::with_capacity(step.messages.len());
        for message in &step.messages {
            encoded.push(hex(&record::encode(message)?));
        }
        let quoted = |word: &dyn std::fmt::Display| format!("'{word}'");
        Ok(self.sql.messages_file.with(&[
            &quoted(&step.now),
            &list(&|message| quoted(&message.id)),
            &list(&|message| hex(message.dedupe_key.as_bytes())),
            &list(&|message| quoted(&message.job)),
            &list(&|message| hex(text(&message.actor).as_bytes())),
            &list(&|message| quoted(&message.slot)),
            &encoded.join(","),
        ]))
    }

    pub(super) async fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage> {
        let mut page = EventPage { events: Vec::new(), cursor: after, more: false };
        if limit == 0 {
            return Ok(EventPage { more: self.newest_message().await? > after, ..page });
        }
        let mut bytes = 0;
        loop {
            let wanted = AT_ONCE.min(limit - page.events.len());
            let rows = self.fetch_all(self.reading(filter, page.cursor, wanted)).await?;
            let (newest, events) = stretch(&rows)?;
            let full = events.len() == wanted;
            // Where fewer came than were asked for, nothing else is there.
            let last = events.last().filter(|_| full).map(|event| event.sequence);
            page.cursor = last.unwrap_or(newest).max(page.cursor);
            page.more = page.cursor < newest;
            bytes += events.iter().map(|event| event.message.size()).sum::<usize>();
            page.events.extend(events.into_iter().filter(|event| filter.matches(event)));
            if !full || page.events.len() >= limit || bytes >= BYTES {
                break;
            }
        }
        self.make_durable(page.cursor).await?;
        Ok(page)
    }

    fn reading(&self, filter: &EventFilter, after: u64, limit: usize) -> Bound {
        let owner = filter.owner.as_deref().map(|owner| text(owner).into_owned());
        let begin = |query: Bound| query.bind(count(after)).bind(rows_up_to(limit));
        match (filter.job, owner) {
            (Some(job), owner) => {
                begin(self.sql.messages_read_job.query()).bind(job.uuid()).bind(owner)
            }
            (None, Some(owner)) => begin(self.sql.messages_read_owner.query()).bind(owner),
            (None, None) => begin(self.sql.messages_read.query()),
        }
    }

    pub(super) async fn newest_message(&self) -> Result<u64> {
        let rows = self.fetch_all(self.reading(&EventFilter::default(), 0, 0)).await?;
        let (newest, _) = stretch(&rows)?;
        self.make_durable(newest).await?;
        Ok(newest)
    }

    /// Sees to it that no power cut takes back what was read up to here: commits are visible before they
    /// are durable.
    async fn make_durable(&self, sequence: u64) -> Result<()> {
        if self.durable_messages.load(Ordering::SeqCst) < sequence {
            self.synced().await.map_err(|fault| self.noted(fault))?;
            self.durable_messages.fetch_max(sequence, Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) async fn prune_messages(&self, before: Timestamp, limit: usize) -> Result<usize> {
        let query = self.sql.messages_prune.query().bind(time(before)).bind(rows_up_to(limit));
        self.fetch_all(query).await.map(|rows| rows.len())
    }
}

/// The newest sequence there is, and the events that were found.
fn stretch(rows: &[PgRow]) -> Result<(u64, Vec<MessageEvent>)> {
    let (mut newest, mut events) = (0, Vec::with_capacity(rows.len()));
    for row in rows {
        let fields = &mut Fields::of(row);
        newest = fields.count()?;
        let sequence: Option<i64> = fields.get()?;
        let message: Option<&[u8]> = fields.get()?;
        if let (Some(sequence), Some(message)) = (sequence, message) {
            let (sequence, message) = (sequence.unsigned_abs(), record::decode(message)?);
            events.push(MessageEvent { sequence, message });
        }
    }
    Ok((newest, events))
}
