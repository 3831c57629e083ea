//! Following message events: read from the log from after a cursor, and waited for where it ends.
//!
//! Nothing is kept for whoever follows: who is slow reads later what the store has anyway, and who comes
//! back goes on from its cursor. What is newest is read once for all who wait for it.

mod tail;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::store::{self, EventFilter, EventPage, Store, Wake};
use tokio::sync::watch;

use tail::Tail;
pub use tail::{SharedEvent, SharedPage};

/// The message events of a store, to be followed by any number of readers.
///
/// ```
/// # use chronos_engine::chronos_core::{message::Template, store::EventFilter};
/// # use chronos_engine::{NewJob, SchedulerConfig, SchedulerService};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let scheduler = SchedulerService::new(SchedulerConfig::default())?;
/// let template = Template::new(Some("{{job_name}} for {{slot}}"), None)?;
/// let tick = NewJob::named("tick").every(Duration::from_secs(60)).message(template);
/// scheduler.schedule(tick).await?;
///
/// let mut events = scheduler.events().follow(EventFilter::default(), 0);
/// scheduler.run_job("tick").await?;
/// for event in events.next(100).await?.events {
///     println!("{}: {:?}", event.sequence, event.message.text);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Events {
    store: Arc<dyn Store>,
    tail: Arc<Tail>,
}

impl Events {
    /// The message events of this store. To be made once and cloned: the store tells it of news for good.
    #[must_use]
    pub fn of(store: &Arc<dyn Store>) -> Self {
        let (sender, news) = watch::channel(());
        store.watch(Arc::new(move |wake| {
            if wake == Wake::Message {
                sender.send_replace(());
            }
        }));
        Self { store: store.clone(), tail: Tail::new(store.clone(), news) }
    }

    /// Those that a filter asks for, from after a cursor: zero for all that are kept.
    #[must_use]
    pub fn follow(&self, filter: EventFilter, after: u64) -> Follower {
        Follower { events: self.clone(), filter, cursor: after, bell: None }
    }

    /// Those that a filter asks for and that come from now on.
    pub async fn follow_new(&self, filter: EventFilter) -> store::Result<Follower> {
        let newest = self.store.newest_message().await?;
        Ok(self.follow(filter, newest))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// One reader of message events.
#[derive(Clone, Debug)]
pub struct Follower {
    events: Events,
    filter: EventFilter,
    cursor: u64,
    /// Rings when there may be more; there is one once the follower has waited.
    bell: Option<watch::Receiver<()>>,
}

impl Follower {
    /// Everything that is asked for was given up to here.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// What comes next, as far as it is there already. A page without events may still say that there is
    /// more to look at.
    pub async fn look(&mut self, limit: usize) -> store::Result<EventPage> {
        let page = self.events.store.message_events(&self.filter, self.cursor, limit).await?;
        self.cursor = page.cursor;
        Ok(page)
    }

    /// What comes next: one event or more, at most `limit`; waits for as long as there is none. Given up
    /// on the way, it has lost nothing.
    pub async fn next(&mut self, limit: usize) -> store::Result<EventPage> {
        self.next_shared(limit).await.map(owned)
    }

    /// What comes next within a time; a page without events says how far the log was looked at.
    pub async fn next_within(
        &mut self,
        limit: usize,
        patience: Duration,
    ) -> store::Result<EventPage> {
        self.next_shared_within(limit, patience).await.map(owned)
    }

    /// The same as [`next`](Self::next), of events that other readers may hold as well.
    pub async fn next_shared(&mut self, limit: usize) -> store::Result<SharedPage> {
        let limit = limit.max(1);
        loop {
            // Whatever rings from here on is looked for again.
            if let Some(bell) = &mut self.bell {
                bell.mark_unchanged();
            }
            let kept = self.events.tail.after(&self.filter, self.cursor, limit);
            let is_kept = kept.is_some();
            let page = match kept {
                Some(page) => page,
                None => shared(self.look(limit).await?),
            };
            self.cursor = page.cursor;
            if !page.events.is_empty() {
                return Ok(page);
            }
            if page.more {
                continue;
            }
            match &mut self.bell {
                Some(bell) if is_kept => bell.changed().await.unwrap_or(()),
                // What is added from here on is either kept or told of.
                _ => self.bell = Some(self.events.tail.join(self.cursor)),
            }
        }
    }

    /// The same as [`next_within`](Self::next_within), of events that other readers may hold as well.
    pub async fn next_shared_within(
        &mut self,
        limit: usize,
        patience: Duration,
    ) -> store::Result<SharedPage> {
        match tokio::time::timeout(patience, self.next_shared(limit)).await {
            Ok(page) => page,
            Err(_) => Ok(SharedPage { cursor: self.cursor, ..SharedPage::default() }),
        }
    }
}

fn shared(page: EventPage) -> SharedPage {
    let EventPage { events, cursor, more } = page;
    let events = events.into_iter().map(|event| Arc::new(event.into())).collect();
    SharedPage { events, cursor, more }
}

/// The page for somebody who wants it alone: what nobody else holds is not copied.
fn owned(page: SharedPage) -> EventPage {
    let SharedPage { events, cursor, more } = page;
    let events = events.into_iter().map(SharedEvent::into_owned).collect();
    EventPage { events, cursor, more }
}
