//! Following message events: read from the log from after a cursor, and waited for where it ends.
//!
//! Nothing is kept for whoever follows: who is slow reads later what the store has anyway, and who comes
//! back goes on from its cursor.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::store::{self, EventFilter, EventPage, Store, Wake};
use tokio::sync::watch;

/// Whoever waits for events looks by itself this often: news of other nodes may be lost.
const LOOK: Duration = Duration::from_secs(2);

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
    news: watch::Receiver<()>,
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
        Self { store: store.clone(), news }
    }

    /// Those that a filter asks for, from after a cursor: zero for all that are kept.
    #[must_use]
    pub fn follow(&self, filter: EventFilter, after: u64) -> Follower {
        Follower { events: self.clone(), filter, cursor: after }
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
        loop {
            // Whatever is told of from here on is looked for again.
            self.events.news.mark_unchanged();
            let page = self.look(limit.max(1)).await?;
            if !page.events.is_empty() {
                return Ok(page);
            }
            if !page.more {
                let news = tokio::time::timeout(LOOK, self.events.news.changed());
                news.await.ok();
            }
        }
    }

    /// What comes next within a time; a page without events says how far the log was looked at.
    pub async fn next_within(
        &mut self,
        limit: usize,
        patience: Duration,
    ) -> store::Result<EventPage> {
        match tokio::time::timeout(patience, self.next(limit)).await {
            Ok(page) => page,
            Err(_) => Ok(EventPage { cursor: self.cursor, ..EventPage::default() }),
        }
    }
}
