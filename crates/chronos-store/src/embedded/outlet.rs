//! The outlet: message events and decisions can be read on from a cursor once they are durable, and whoever
//! waits for messages is told then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use chronos_core::store::{Wake, WakeHook};

#[derive(Default)]
pub(super) struct Outlet {
    /// The newest that was committed.
    committed: Newest,
    /// The newest that can be read: everything up to it is durable.
    readable: Newest,
    hooks: RwLock<Vec<WakeHook>>,
}

#[derive(Default)]
struct Newest {
    message: AtomicU64,
    decision: AtomicU64,
}

/// The sequences of the newest message event and of the newest decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) message: u64,
    pub(super) decision: u64,
}

impl Newest {
    fn reach(&self) -> Reach {
        Reach {
            message: self.message.load(Ordering::SeqCst),
            decision: self.decision.load(Ordering::SeqCst),
        }
    }
}

impl Outlet {
    pub(super) fn watch(&self, hook: WakeHook) {
        self.hooks.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    pub(super) fn call(&self, wake: Wake) {
        for hook in self.hooks.read().unwrap_or_else(PoisonError::into_inner).iter() {
            hook(wake);
        }
    }

    /// Notes the newest that is committed. Called under the store's lock.
    pub(super) fn commit(&self, newest: Reach) {
        self.committed.message.store(newest.message, Ordering::SeqCst);
        self.committed.decision.store(newest.decision, Ordering::SeqCst);
    }

    /// The newest that is committed; a sync that begins later makes it durable.
    pub(super) fn committed(&self) -> Reach {
        self.committed.reach()
    }

    pub(super) fn readable(&self) -> Reach {
        self.readable.reach()
    }

    /// Lets everything be read up to the newest that is durable.
    pub(super) fn let_out(&self, newest: Reach) {
        self.readable.decision.fetch_max(newest.decision, Ordering::SeqCst);
        if self.readable.message.fetch_max(newest.message, Ordering::SeqCst) < newest.message {
            self.call(Wake::Message);
        }
    }
}
