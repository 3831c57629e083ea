//! Message events in the embedded store: numbered and filed in the step that emits them.

use chronos_core::store::{EventFilter, EventPage, Result};
use chronos_core::{Message, MessageEvent};

use super::keys::{Key, Table, sequence_in};
use super::record::decode;
use super::state::{State, until, visit_entries};
use super::step::Step;
use crate::kv::{Kv, Order};

/// Events that one reading looks at, whatever it looks for.
const LOOKED_AT: usize = 1_024;
/// Bytes of events after which a reading ends.
const BYTES: usize = 4 << 20;

/// The sequence of the newest message event; zero when there is none.
pub(super) fn newest(kv: &dyn Kv) -> Result<u64> {
    let (from, to) = Table::Message.range();
    let mut newest = 0;
    visit_entries(kv, (&from, &to), Order::Descending, |key, _| {
        newest = sequence_in(key).unwrap_or(0);
        Ok(until(1, 1))
    })?;
    Ok(newest)
}

impl State {
    /// Message events after a cursor, up to the newest that can be read.
    pub(super) fn message_events(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: usize,
    ) -> Result<EventPage> {
        let last = self.outlet.readable().message;
        let mut page = EventPage { events: Vec::new(), cursor: after, more: false };
        if after >= last || limit == 0 {
            return Ok(EventPage { more: after < last, ..page });
        }
        let from = Key::Message(after.saturating_add(1)).encode();
        let to = Key::Message(last.saturating_add(1)).encode();
        let (mut looked_at, mut bytes) = (0, 0);
        visit_entries(self.kv.as_ref(), (&from, &to), Order::Ascending, |_, value| {
            let event: MessageEvent = decode(value)?;
            page.cursor = event.sequence;
            looked_at += 1;
            if filter.matches(&event) {
                bytes += event.message.size();
                page.events.push(event);
            }
            let full = page.events.len() >= limit || bytes >= BYTES;
            Ok(until(if full { LOOKED_AT } else { looked_at }, LOOKED_AT))
        })?;
        page.more = page.cursor < last;
        Ok(page)
    }
}

impl Step<'_> {
    /// Files a message behind those before it.
    pub(super) fn emit(&mut self, message: &Message) -> Result<()> {
        self.state.message += 1;
        let sequence = self.state.message;
        // Written as a `MessageEvent` is, without a copy of the message.
        self.put(&Key::Message(sequence), &(sequence, message))?;
        let most = self.state.retention.message_events;
        if let Some(oldest) = most.and_then(|most| sequence.checked_sub(most.max(1))) {
            self.delete(&Key::Message(oldest));
        }
        Ok(())
    }

    /// Deletes those of the `limit` oldest message events that were emitted before then, but never the
    /// newest.
    pub(super) fn prune_messages(&mut self, limit: usize) -> Result<usize> {
        let (from, _) = Table::Message.range();
        let to = Key::Message(self.state.message).encode();
        let (before, mut old, mut looked_at) = (self.now, Vec::new(), 0);
        if limit > 0 {
            visit_entries(self.state.kv.as_ref(), (&from, &to), Order::Ascending, |_, value| {
                let event: MessageEvent = decode(value)?;
                looked_at += 1;
                let expired = event.message.occurred_at < before;
                old.extend(expired.then_some(event.sequence));
                Ok(until(looked_at, limit))
            })?;
        }
        for sequence in &old {
            self.delete(&Key::Message(*sequence));
        }
        Ok(old.len())
    }
}
