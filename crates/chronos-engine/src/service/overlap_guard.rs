//! A lock-free guard against overlapping runs, for work outside the scheduler.
//!
//! The scheduler itself decides overlap from the store, where all nodes see it; this guard offers the
//! same two policies to code that starts its own runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chronos_core::policy::OverlapPolicy;

/// Lets one run in at a time under [`OverlapPolicy::Skip`], any number under
/// [`OverlapPolicy::Concurrent`].
///
/// ```
/// # use chronos_engine::{OverlapGuard, OverlapPolicy};
/// let guard = OverlapGuard::new(OverlapPolicy::Skip);
/// let run = guard.try_acquire().expect("nothing runs yet");
/// assert!(guard.try_acquire().is_none());
/// drop(run);
/// assert!(guard.try_acquire().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct OverlapGuard {
    is_running: Arc<AtomicBool>,
    policy: OverlapPolicy,
}

impl OverlapGuard {
    /// A guard with nothing running. Every policy but `Concurrent` lets one run in at a time: the
    /// others need to know which runs are alive, which only the store does.
    #[must_use]
    pub fn new(policy: OverlapPolicy) -> Self {
        Self { is_running: Arc::default(), policy }
    }

    /// The right to run, unless a run that it must not overlap holds it.
    #[must_use]
    pub fn try_acquire(&self) -> Option<RunGuard> {
        if self.policy == OverlapPolicy::Concurrent {
            return Some(RunGuard { is_running: Arc::new(AtomicBool::new(true)) });
        }
        self.is_running
            .compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst)
            .ok()
            .map(|_| RunGuard { is_running: self.is_running.clone() })
    }

    /// Whether a run holds the right.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }
}

/// The right to run; dropping it, also by a panic, gives it back.
#[derive(Debug)]
pub struct RunGuard {
    is_running: Arc<AtomicBool>,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.is_running.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_the_right_back() {
        let guard = OverlapGuard::new(OverlapPolicy::Skip);
        let inner = guard.clone();
        let panicked = std::thread::spawn(move || {
            let _run = inner.try_acquire();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!guard.is_running());
        assert!(guard.try_acquire().is_some());
    }

    #[test]
    fn of_many_threads_exactly_one_gets_in() {
        let guard = OverlapGuard::new(OverlapPolicy::Skip);
        let held: Vec<_> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..16).map(|_| scope.spawn(|| guard.try_acquire())).collect();
            tries.into_iter().filter_map(|tried| tried.join().unwrap()).collect()
        });
        assert_eq!(held.len(), 1);
    }

    #[test]
    fn concurrent_runs_all_get_in() {
        let guard = OverlapGuard::new(OverlapPolicy::Concurrent);
        let (first, second) = (guard.try_acquire(), guard.try_acquire());
        assert!(first.is_some() && second.is_some());
        assert!(!guard.is_running());
    }
}
