//! The tasks of a store: one tells other nodes, one listens to them, one looks by itself, one writes digests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::store::{Result, Wake};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::task::AbortHandle;
use tracing::{debug, warn};

use super::shared::Shared;
use super::values::Fields;
use super::wake::{BETWEEN, News};

/// A look at the heads of the queues that takes longer than this has too much to walk over.
const QUICK: Duration = Duration::from_millis(50);
/// Then it is made this many times more seldom.
const SELDOM: u32 = 30;
/// The longest wait before the listener tries again.
const LONGEST: Duration = Duration::from_secs(5);

/// Ends the tasks with the store.
pub(super) struct Tasks(Vec<AbortHandle>);

impl Tasks {
    pub(super) fn start(shared: &Arc<Shared>) -> Self {
        let digesting = shared.clone();
        let mut tasks = vec![
            tokio::spawn(poll(shared.clone())).abort_handle(),
            tokio::spawn(async move { digesting.keep_digesting().await }).abort_handle(),
        ];
        if shared.config.listen && !shared.config.pooler {
            tasks.push(tokio::spawn(listen(shared.clone())).abort_handle());
        }
        if shared.config.listen {
            tasks.push(tokio::spawn(notify(shared.clone())).abort_handle());
        }
        Self(tasks)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Tells other nodes what this one made due: at once, then no oftener than every few milliseconds.
async fn notify(shared: Arc<Shared>) {
    loop {
        shared.wakes.bell.notified().await;
        if let Some(news) = shared.wakes.take_news() {
            let query = shared.sql.notify.query().bind(&shared.wakes.channel).bind(news);
            if let Err(error) = shared.fetch_all(query).await {
                // They look by themselves in a moment.
                debug!(%error, "Other nodes were not told");
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Hears what other nodes made due, for as long as there is a connection, and then on a new one.
async fn listen(shared: Arc<Shared>) {
    let mut wait = BETWEEN;
    loop {
        let heard = hear(&shared, &mut wait).await;
        if let Err(error) = heard {
            warn!(%error, "Notifications are not heard; this node polls");
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
    }
}

async fn hear(shared: &Shared, wait: &mut Duration) -> std::result::Result<(), sqlx::Error> {
    let options = PgPoolOptions::new().max_connections(1);
    let options = options.acquire_timeout(shared.config.acquire_timeout);
    let pool = options.connect_with(shared.options.clone()).await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(&shared.wakes.channel).await?;
    *wait = BETWEEN;
    // What was told while nobody listened is looked for.
    shared.look_at_heads().await.ok();
    let _hearing = Hearing::begin(&shared.wakes.hearing);
    while let Some(notification) = listener.try_recv().await? {
        if let Some(news) = shared.wakes.understand(notification.payload()) {
            shared.hear(news);
        }
    }
    Ok(())
}

/// Says that notifications are heard, until it is dropped.
struct Hearing<'a>(&'a AtomicBool);

impl<'a> Hearing<'a> {
    fn begin(hearing: &'a AtomicBool) -> Self {
        hearing.store(true, Ordering::Relaxed);
        Self(hearing)
    }
}

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Looks by itself for what other nodes made due. That is what it takes when nobody is heard, and a quarter
/// as often a net below those who are.
async fn poll(shared: Arc<Shared>) {
    loop {
        let hears = shared.wakes.hearing.load(Ordering::Relaxed);
        tokio::time::sleep(shared.config.poll * if hears { 4 } else { 1 }).await;
        let looked = shared.look_at_heads();
        tokio::pin!(looked);
        if tokio::time::timeout(QUICK, &mut looked).await.is_err() {
            if let Err(error) = looked.await {
                debug!(%error, "The queues were not looked at");
            }
            tokio::time::sleep(shared.config.poll.saturating_mul(SELDOM)).await;
        }
    }
}

impl Shared {
    /// Another node made something due.
    fn hear(&self, news: News) {
        if let Some(due) = news.due {
            self.horizons.lower_due(due);
            self.wakes.hear_due(due);
        }
        if let Some(ready) = news.ready {
            self.horizons.lower_ready(ready);
            self.wakes.hear_ready(ready);
        }
        if news.cancel {
            self.wakes.call(Wake::Cancel);
        }
        if news.messages {
            self.wakes.call(Wake::Message);
        }
        if news.backfills {
            self.wakes.call(Wake::Backfill);
        }
    }

    /// Finds what is due first of each kind, below whatever horizon.
    async fn look_at_heads(&self) -> Result<()> {
        let Some(row) = self.fetch_optional(self.sql.heads_read.query()).await? else {
            return Ok(());
        };
        let fields = &mut Fields::of(&row);
        let (due, ready) = (fields.maybe_time()?, fields.maybe_time()?);
        self.hear(News { due, ready, ..News::default() });
        Ok(())
    }
}
