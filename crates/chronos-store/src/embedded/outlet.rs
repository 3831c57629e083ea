//! The outlet: message events can be read once they are durable, and whoever waits for them is told then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use chronos_core::store::{Wake, WakeHook};

#[derive(Default)]
pub(super) struct Outlet {
    /// The newest message event that was committed.
    committed: AtomicU64,
    /// The newest one that can be read: everything up to it is durable.
    readable: AtomicU64,
    hooks: RwLock<Vec<WakeHook>>,
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

    /// Notes the newest message event that is committed. Called under the store's lock.
    pub(super) fn commit(&self, newest: u64) {
        self.committed.store(newest, Ordering::SeqCst);
    }

    /// The newest message event that is committed; a sync that begins later makes it durable.
    pub(super) fn committed(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    pub(super) fn readable(&self) -> u64 {
        self.readable.load(Ordering::SeqCst)
    }

    /// Lets message events be read up to this one, which is durable.
    pub(super) fn let_out(&self, newest: u64) {
        if self.readable.fetch_max(newest, Ordering::SeqCst) < newest {
            self.call(Wake::Message);
        }
    }
}
