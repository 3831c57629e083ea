//! Places: how many streams may be open at once, in all and for one account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::{Caller, Proof};

/// The places that there are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    per_account: usize,
    taken: Arc<Taken>,
}

/// How many places each account has; one that has none is not here.
#[derive(Debug, Default)]
struct Taken(Mutex<HashMap<Box<str>, usize>>);

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    #[expect(dead_code, reason = "it is given back when the place is")]
    permit: OwnedSemaphorePermit,
    owner: Box<str>,
    taken: Arc<Taken>,
}

impl Places {
    pub(crate) fn new(all: usize, per_account: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), per_account, taken: Arc::default() }
    }

    /// A place for the caller, if there is one. Whoever is on this machine may take all of them.
    pub(crate) fn take(&self, caller: &Caller) -> Result<Place, String> {
        let permit =
            self.all.clone().try_acquire_owned().map_err(|_| {
                "too many streams are open; close one or try again later".to_owned()
            })?;
        let mut taken = self.taken.lock();
        let count = taken.entry(caller.owner.clone()).or_default();
        if *count >= self.per_account && !matches!(caller.proof, Proof::Local) {
            let most = self.per_account;
            return Err(format!("you have {most} streams open, and may have no more; close one"));
        }
        *count += 1;
        Ok(Place { permit, owner: caller.owner.clone(), taken: self.taken.clone() })
    }
}

impl Taken {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        if let Some(count) = taken.get_mut(&self.owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.owner);
            }
        }
    }
}
