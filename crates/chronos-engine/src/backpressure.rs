//! Backpressure: what can wait waits while the store or the node has too much to do.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use chronos_core::execution::SkipReason;
use chronos_core::store::{Claim, Planned, Store};
use chronos_core::{Execution, JobSpec, Timestamp};
use tracing::info;

use crate::clock::Clock;
use crate::handler::{JobContext, JobResult};
use crate::run::Observer;

/// A run that began this much later than it might have says that the node has too much to do.
const LATE: Duration = Duration::from_secs(2);
/// So long after one such run the node is still taken to be busy.
const WINDOW: Duration = Duration::from_secs(10);
/// So many such runs within that time.
const MANY: usize = 3;
/// How often whoever waits looks again.
const LOOK: Duration = Duration::from_secs(1);

/// Says why what can wait should wait, if it should. Must return at once.
pub trait LoadProbe: Send + Sync + 'static {
    /// What there is too much of, in a few words.
    fn pressure(&self) -> Option<String>;
}

impl<F: Fn() -> Option<String> + Send + Sync + 'static> LoadProbe for F {
    fn pressure(&self) -> Option<String> {
        self()
    }
}

/// What a scheduler's built-in jobs ask before they begin.
pub struct Backpressure {
    probes: RwLock<Vec<Arc<dyn LoadProbe>>>,
    patience: Duration,
}

impl fmt::Debug for Backpressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backpressure").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Backpressure {
    /// How long a run usually waits before it is skipped.
    pub const PATIENCE: Duration = Duration::from_secs(30);

    pub(crate) fn new(store: &Arc<dyn Store>, patience: Duration) -> Self {
        let store = Arc::downgrade(store);
        let probe = move || Weak::upgrade(&store)?.pressure();
        Self { probes: RwLock::new(vec![Arc::new(probe)]), patience }
    }

    /// Heeds another probe from now on.
    pub fn heed(&self, probe: Arc<dyn LoadProbe>) {
        self.probes.write().unwrap_or_else(PoisonError::into_inner).push(probe);
    }

    /// Waits while there is too much to do, for as long as its patience lasts. What it gives back then is how
    /// the run ends: skipped, for the reason "backpressure".
    pub async fn wait(&self, context: &JobContext) -> Option<JobResult> {
        let mut left = self.patience;
        let mut why = self.pressure()?;
        context.log(format!("deferred: {why}"));
        info!(job = context.job_name(), why, "Deferred");
        while !left.is_zero() && !context.is_cancelled() {
            let pause = LOOK.min(left);
            left -= pause;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = context.token().cancelled() => {}
            }
            why = self.pressure()?;
        }
        context.log(format!("skipped: {why}"));
        Some(JobResult::Skipped(SkipReason::BACKPRESSURE.into()))
    }
}

impl LoadProbe for Backpressure {
    fn pressure(&self) -> Option<String> {
        let probes = self.probes.read().unwrap_or_else(PoisonError::into_inner);
        probes.iter().find_map(|probe| probe.pressure())
    }
}

/// Sees how late runs begin.
pub(crate) struct Lateness {
    clock: Arc<dyn Clock>,
    /// When the last runs began that were late.
    late: Mutex<VecDeque<Timestamp>>,
}

impl Lateness {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, late: Mutex::default() }
    }
}

impl LoadProbe for Lateness {
    fn pressure(&self) -> Option<String> {
        let since = self.clock.now().before(WINDOW);
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = late.iter().filter(|at| **at >= since).count();
        (recent >= MANY).then(|| format!("runs begin more than {} s late", LATE.as_secs()))
    }
}

impl Observer for Lateness {
    fn planned(&self, _: &[Planned]) {}

    fn started(&self, claims: &[Claim]) {
        let is_late = |claim: &&Claim| {
            let run = &claim.execution;
            run.running().is_some_and(|running| running.started_at.since(run.run_at) > LATE)
        };
        let count = claims.iter().filter(is_late).take(MANY).count();
        if count > 0 {
            let now = self.clock.now();
            let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.extend(std::iter::repeat_n(now, count));
            while late.len() > MANY {
                late.pop_front();
            }
        }
    }

    fn ended(&self, _: &[(Arc<JobSpec>, Execution)]) {}

    fn lost(&self, _: &JobSpec) {}
}
