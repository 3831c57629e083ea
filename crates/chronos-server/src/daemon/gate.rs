//! The gate: whether requests are accepted, and how many of them are under way.

use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How far the daemon has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Starting,
    Ready,
    Stopping,
}

/// Lets requests in while the daemon is ready, and knows when the last of them is answered.
#[derive(Debug)]
pub(crate) struct Gate {
    phase: AtomicU8,
    inside: TaskTracker,
    closed: CancellationToken,
}

impl Gate {
    pub(super) fn new() -> Self {
        let inside = TaskTracker::new();
        inside.close();
        let (phase, closed) = (AtomicU8::new(Phase::Starting as u8), CancellationToken::new());
        Self { phase, inside, closed }
    }

    pub(super) fn open(&self) {
        self.phase.store(Phase::Ready as u8, Ordering::SeqCst);
    }

    pub(super) fn close(&self) {
        self.phase.store(Phase::Stopping as u8, Ordering::SeqCst);
        self.closed.cancel();
    }

    /// Waits until no more requests are let in: whoever waits for something else waits no longer.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Starting,
            1 => Phase::Ready,
            _ => Phase::Stopping,
        }
    }

    /// A place inside until the request is answered; `None` unless the daemon is ready.
    pub(super) fn enter(&self) -> Option<TaskTrackerToken> {
        // Taken first: whoever closes the gate after it waits for this request.
        let inside = self.inside.token();
        (self.phase() == Phase::Ready).then_some(inside)
    }

    /// Waits until nobody is inside.
    pub(super) fn drained(&self) -> impl Future<Output = ()> + '_ {
        self.inside.wait()
    }
}
