//! The closures of this program, found by the names of their jobs.

use std::collections::hash_map;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use chronos_core::JobId;
use chronos_core::job::Target;
use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::handler::Handler;
#[cfg(feature = "http")]
use crate::http::{Caller, Keyring, Limits};
use crate::run::Handlers;
use crate::service::SchedulerConfig;

/// The closures of this program, by the names of their jobs, and what serves jobs without one.
pub(super) struct Closures {
    jobs: RwLock<Jobs>,
    #[cfg(feature = "http")]
    caller: Arc<Caller>,
}

type Jobs = FxHashMap<Arc<str>, Closure>;

/// A closure, or what stands in for one, and the job that calls it.
#[derive(Clone)]
pub(super) struct Closure {
    pub(super) job: JobId,
    pub(super) handler: Arc<dyn Handler>,
}

impl Closures {
    #[cfg_attr(
        not(feature = "http"),
        expect(unused_variables, reason = "only requests need to know the time and where to go")
    )]
    pub(super) fn new(clock: &Arc<dyn Clock>, config: &SchedulerConfig) -> Self {
        #[cfg(feature = "http")]
        let limits =
            Limits { per_host: config.max_calls_per_host, per_owner: config.max_calls_per_owner };
        Self {
            jobs: RwLock::default(),
            #[cfg(feature = "http")]
            caller: Arc::new(Caller::with_limits(clock.clone(), config.reach.clone(), limits)),
        }
    }

    /// The handler of every http target.
    #[cfg(feature = "http")]
    pub(super) fn caller(&self) -> Arc<dyn Handler> {
        self.caller.clone()
    }

    /// The same, for what is sent beside jobs.
    #[cfg(feature = "http")]
    pub(super) fn pusher(&self) -> Caller {
        Caller::clone(&self.caller)
    }

    /// What opens the secrets of http targets, once it is set.
    #[cfg(feature = "http")]
    pub(super) fn keyring(&self) -> Option<&Arc<dyn Keyring>> {
        self.caller.keyring()
    }

    #[cfg(feature = "http")]
    pub(super) fn set_keyring(&self, keyring: Arc<dyn Keyring>) {
        // A caller and its clones share one keyring.
        let _ = Caller::clone(&self.caller).with_keyring(keyring);
    }

    fn write(&self) -> RwLockWriteGuard<'_, Jobs> {
        self.jobs.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &str) -> Option<Closure> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).cloned()
    }

    /// The job of this name.
    pub(super) fn job(&self, name: &str) -> Option<JobId> {
        self.get(name).map(|closure| closure.job)
    }

    /// Whether it is one of these jobs.
    pub(super) fn has(&self, job: JobId) -> bool {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        jobs.values().any(|closure| closure.job == job)
    }

    /// Every name, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = jobs.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Adds a closure under a free name; of several that ask at once, one gets it.
    pub(super) fn add(&self, name: &Arc<str>, closure: Closure) -> bool {
        match self.write().entry(name.clone()) {
            hash_map::Entry::Occupied(_) => false,
            hash_map::Entry::Vacant(free) => {
                free.insert(closure);
                true
            }
        }
    }

    /// Puts a closure in the place of the one that had the name, which it gives back. The job stays
    /// the one that was known.
    pub(super) fn replace(&self, name: &Arc<str>, mut closure: Closure) -> Option<Closure> {
        let mut jobs = self.write();
        let before = jobs.get(name).cloned();
        closure.job = before.as_ref().map_or(closure.job, |before| before.job);
        jobs.insert(name.clone(), closure);
        before
    }

    /// Puts back what had the name before.
    pub(super) fn restore(&self, name: &Arc<str>, before: Option<Closure>) {
        match before {
            Some(before) => self.write().insert(name.clone(), before),
            None => self.write().remove(name),
        };
    }

    /// Says which job of the store it is that has the name.
    pub(super) fn settle(&self, name: &str, job: JobId) {
        if let Some(closure) = self.write().get_mut(name) {
            closure.job = job;
        }
    }

    pub(super) fn remove(&self, name: &str) {
        self.write().remove(name);
    }
}

impl Handlers for Closures {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        match target {
            Target::Handler { name } => self.get(name).map(|closure| closure.handler),
            #[cfg(feature = "http")]
            Target::Http(_) => Some(self.caller()),
            #[cfg(not(feature = "http"))]
            Target::Http(_) => None,
            Target::Message(_) => None,
        }
    }
}
