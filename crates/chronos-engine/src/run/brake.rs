//! The brake: keeps an engine from taking on work, and says why.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps an engine from planning and claiming while it is pulled; what runs goes on.
#[derive(Debug, Default)]
pub struct Brake {
    reason: Mutex<Option<Arc<str>>>,
}

impl Brake {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pulls the brake, for this reason; says whether it was released before.
    pub fn pull(&self, reason: &str) -> bool {
        self.lock().replace(reason.into()).is_none()
    }

    /// Releases the brake; says whether it was pulled.
    pub fn release(&self) -> bool {
        self.lock().take().is_some()
    }

    /// Why it is pulled, if it is.
    #[must_use]
    pub fn reason(&self) -> Option<Arc<str>> {
        self.lock().clone()
    }
}
