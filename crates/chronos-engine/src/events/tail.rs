//! The tail: the newest message events, read from the store once for everyone who waits for them.
//!
//! It is a cache and nothing more. Whoever is further back reads the log by itself, and whoever waits where
//! the log ends gets what one task reads for all. That task is there for as long as somebody waits.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use chronos_core::MessageEvent;
use chronos_core::store::{EventFilter, Store};
use tokio::sync::watch;

/// The log is looked at this often without news: those of other nodes may be lost.
const LOOK: Duration = Duration::from_secs(2);
/// Events that are kept at most.
const EVENTS: usize = 4_096;
/// Bytes of events that are kept at most.
const BYTES: usize = 8 << 20;
/// Events that are read at once.
const PAGE: usize = 512;
/// What it takes to tell one reader. Before it is told again, there is time to tell all of them: what comes
/// meanwhile is told together, and a crowd of readers does not cost a crowd of small writes an event.
const TELLING: Duration = Duration::from_micros(25);
/// No reader is kept waiting longer for the sake of the others.
const LONGEST_TELLING: Duration = Duration::from_millis(25);

/// A message event that many readers hold at once.
pub struct SharedEvent {
    event: MessageEvent,
    written: OnceLock<Box<str>>,
}

impl SharedEvent {
    /// The event as `write` has it, which is asked once for all readers; so all of them must write alike.
    pub fn written(&self, write: impl FnOnce(&MessageEvent) -> Box<str>) -> &str {
        self.written.get_or_init(|| write(&self.event))
    }

    /// The event for somebody who wants it alone.
    pub(super) fn into_owned(self: Arc<Self>) -> MessageEvent {
        Arc::try_unwrap(self).map_or_else(|shared| shared.event.clone(), |only| only.event)
    }
}

impl From<MessageEvent> for SharedEvent {
    fn from(event: MessageEvent) -> Self {
        Self { event, written: OnceLock::new() }
    }
}

impl Deref for SharedEvent {
    type Target = MessageEvent;

    fn deref(&self) -> &MessageEvent {
        &self.event
    }
}

impl fmt::Debug for SharedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.event, f)
    }
}

/// A stretch of the log whose events are shared, as far as a filter asks for it.
#[derive(Clone, Debug, Default)]
pub struct SharedPage {
    /// The events, in order.
    pub events: Vec<Arc<SharedEvent>>,
    /// Nothing that is asked for is left out up to here: the cursor to go on from.
    pub cursor: u64,
    /// Whether the log goes on beyond it already.
    pub more: bool,
}

/// The newest events of a store, for as long as somebody waits for the next.
pub(super) struct Tail {
    store: Arc<dyn Store>,
    news: watch::Receiver<()>,
    kept: Mutex<Option<Kept>>,
    /// Rings for everyone who waits.
    bell: watch::Sender<()>,
}

/// Every event of the log after one sequence and up to another.
struct Kept {
    after: u64,
    until: u64,
    events: VecDeque<Arc<SharedEvent>>,
    bytes: usize,
}

impl Tail {
    pub(super) fn new(store: Arc<dyn Store>, news: watch::Receiver<()>) -> Arc<Self> {
        Arc::new(Self { store, news, kept: Mutex::new(None), bell: watch::Sender::new(()) })
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What comes after a cursor, if it is kept: `None` where only the log can tell.
    pub(super) fn after(
        &self,
        filter: &EventFilter,
        cursor: u64,
        limit: usize,
    ) -> Option<SharedPage> {
        let kept = self.kept();
        let kept = kept.as_ref().filter(|kept| kept.after <= cursor)?;
        let mut page = SharedPage { events: Vec::new(), cursor, more: false };
        if cursor >= kept.until {
            return Some(page);
        }
        let first = kept.events.partition_point(|event| event.sequence <= cursor);
        page.cursor = kept.until;
        for event in kept.events.range(first..) {
            if filter.matches(event) {
                page.events.push(event.clone());
                if page.events.len() >= limit {
                    page.cursor = event.sequence;
                    break;
                }
            }
        }
        page.more = page.cursor < kept.until;
        Some(page)
    }

    /// Joins those who wait, having read the log up to a cursor; what rings from here on is told of.
    pub(super) fn join(self: &Arc<Self>, cursor: u64) -> watch::Receiver<()> {
        let mut kept = self.kept();
        // Subscribed under the lock, so that the task which reads for all does not leave meanwhile.
        let bell = self.bell.subscribe();
        let first = kept.is_none();
        // Whoever is ahead of the log, such as one who read another, does not keep those behind it waiting.
        if kept.as_ref().is_none_or(|kept| kept.after > cursor && kept.events.is_empty()) {
            *kept = Some(Kept::from(cursor));
        }
        drop(kept);
        if first {
            // A runtime that ends drops it at once, which takes the lock.
            let reading = Reading { tail: self.clone(), over: false };
            tokio::spawn(async move { reading.run().await });
        }
        bell
    }
}

impl Kept {
    fn from(cursor: u64) -> Self {
        Self { after: cursor, until: cursor, events: VecDeque::new(), bytes: 0 }
    }

    /// Adds what follows, and forgets what there is no room for.
    fn add(&mut self, events: Vec<MessageEvent>, until: u64) {
        for event in events {
            self.bytes += event.message.size();
            self.events.push_back(Arc::new(event.into()));
        }
        self.until = until;
        while self.events.len() > EVENTS || self.bytes > BYTES {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= oldest.message.size();
            self.after = oldest.sequence;
        }
    }
}

/// Reads for everyone who waits. Whatever cuts it short, those who still wait are told, and look by themselves.
struct Reading {
    tail: Arc<Tail>,
    /// Nobody waited any more. Somebody else may read by now.
    over: bool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !self.over {
            *self.tail.kept() = None;
            self.tail.bell.send_replace(());
        }
    }
}

impl Reading {
    async fn run(mut self) {
        let tail = self.tail.clone();
        let mut news = tail.news.clone();
        let everything = EventFilter::default();
        while let Some(until) = self.goes_on() {
            // Whatever is told of from here on is looked for again.
            news.mark_unchanged();
            // A store that does not answer tells so to whoever asks it.
            let Ok(page) = tail.store.message_events(&everything, until, PAGE).await else {
                return;
            };
            let more = page.more;
            if page.cursor > until {
                // Somebody may have joined meanwhile who is further back.
                match tail.kept().as_mut() {
                    Some(kept) if kept.until == until => kept.add(page.events, page.cursor),
                    _ => continue,
                }
                let readers = u32::try_from(tail.bell.receiver_count()).unwrap_or(u32::MAX);
                tail.bell.send_replace(());
                let telling = TELLING.saturating_mul(readers).min(LONGEST_TELLING);
                if telling >= Duration::from_millis(1) {
                    tokio::time::sleep(telling).await;
                }
            }
            if !more {
                tokio::time::timeout(LOOK, news.changed()).await.ok();
            }
        }
    }

    /// Where to read on; nowhere once nobody waits.
    fn goes_on(&mut self) -> Option<u64> {
        let mut kept = self.tail.kept();
        if self.tail.bell.receiver_count() == 0 {
            *kept = None;
            self.over = true;
        }
        kept.as_ref().map(|kept| kept.until)
    }
}
