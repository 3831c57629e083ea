//! The syncer: one sync for every step that was committed while the last one was under way.
//!
//! A step is committed under the store's lock, which takes microseconds, and acknowledged once it is
//! synced, which takes as long as the disk does. Meanwhile others commit, and share the next sync.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use chronos_core::store::{Error, Result};
use tokio::sync::oneshot;

use super::outlet::Outlet;
use super::state::engine;
use crate::kv::{self, Kv};

/// Syncs an engine from a thread of its own.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The number of a commit; a sync that begins later makes it durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

struct Shared {
    kv: Arc<dyn Kv>,
    outlet: Arc<Outlet>,
    committed: AtomicU64,
    queue: Mutex<Queue>,
    bell: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(Ticket, oneshot::Sender<kv::Result<()>>)>,
    /// Whether nobody waits for anything else just now either.
    quiet: bool,
    stop: bool,
}

/// What the thread does next.
enum Work {
    Sync,
    Tidy,
}

impl Syncer {
    /// A syncer for this engine; `None` for one that keeps nothing anyway.
    pub(super) fn start(kv: &Arc<dyn Kv>, outlet: &Arc<Outlet>) -> Result<Option<Self>> {
        if !kv.is_durable() {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            kv: kv.clone(),
            outlet: outlet.clone(),
            committed: AtomicU64::new(0),
            queue: Mutex::default(),
            bell: Condvar::new(),
        });
        let on_thread = shared.clone();
        let thread = Builder::new().name("chronos-sync".into()).spawn(move || on_thread.run());
        let thread = thread
            .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(Some(Self { shared, thread: Some(thread) }))
    }

    /// Notes that a step was committed. Called under the store's lock, so that tickets are in order.
    pub(super) fn committed(&self) -> Ticket {
        Ticket(self.shared.committed.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// The ticket of the newest commit.
    pub(super) fn newest(&self) -> Ticket {
        Ticket(self.shared.committed.load(Ordering::SeqCst))
    }

    /// Has the engine do in this moment what it would have to do soon.
    pub(super) fn tidy(&self) {
        self.shared.queue().quiet = true;
        self.shared.bell.notify_one();
    }

    /// Waits until the commit is durable.
    pub(super) async fn synced(&self, ticket: Ticket) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.shared.queue().waiting.push((ticket, sender));
        self.shared.bell.notify_one();
        match receiver.await {
            Ok(synced) => engine(synced),
            Err(_) => Err(Error::Unavailable("the store is closing".into())),
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.queue().stop = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some(work) = self.wait() {
            match work {
                Work::Sync => {
                    // Whatever is committed by now is covered, also for those who have not asked yet.
                    let covered = Ticket(self.committed.load(Ordering::SeqCst));
                    let newest = self.outlet.committed();
                    let synced = self.kv.sync();
                    if synced.is_ok() {
                        self.outlet.let_out(newest);
                    }
                    self.answer(covered, &synced);
                }
                Work::Tidy => self.kv.tidy(),
            }
        }
    }

    /// Waits for someone who waits, or for a quiet moment; gives nothing when nothing is left to do.
    fn wait(&self) -> Option<Work> {
        let mut queue = self.queue();
        while queue.waiting.is_empty() && !queue.stop && !queue.quiet {
            queue = self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let quiet = std::mem::take(&mut queue.quiet);
        match queue.waiting.is_empty() {
            false => Some(Work::Sync),
            true if quiet && !queue.stop => Some(Work::Tidy),
            true => None,
        }
    }

    fn answer(&self, covered: Ticket, synced: &kv::Result<()>) {
        let mut queue = self.queue();
        let (answered, waiting) = std::mem::take(&mut queue.waiting)
            .into_iter()
            .partition(|(ticket, _)| *ticket <= covered);
        queue.waiting = waiting;
        drop(queue);
        let answered: Vec<_> = answered;
        for (_, sender) in answered {
            // Whoever no longer waits has no use for the answer.
            let _ = sender.send(synced.clone());
        }
    }
}
