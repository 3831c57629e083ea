//! The registry: what each registered job did last and does next, for anyone who looks.

mod entry;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use chronos_core::job::Standing;
use chronos_core::store::Planned;
use chronos_core::{Job, JobSpec, Timestamp};
use rustc_hash::FxHashMap;

use crate::clock::{Clock, SystemClock};
use crate::handler::JobResult;
use entry::Entry;
pub(super) use entry::{RunEnd, Wait};

/// Figures about every registered job; many may read at once.
///
/// [`SchedulerService::registry`](crate::SchedulerService::registry) keeps one up to date. It also
/// serves programs that run their work by other means:
///
/// ```
/// # use chronos_engine::{JobRegistry, JobResult};
/// let registry = JobRegistry::new();
/// registry.register("sweep", "0 */5 * * * *");
/// registry.record_start("sweep");
/// assert!(registry.is_running("sweep"));
/// registry.record_complete("sweep", JobResult::Failed("disk full".into()), 1_200);
/// registry.record_skip("sweep", "paused");
///
/// let sweep = registry.get_status("sweep").expect("it was registered");
/// assert_eq!((sweep.run_count, sweep.error_count, sweep.skipped_count), (2, 1, 1));
/// assert_eq!(sweep.error_rate(), Some(1.0)); // of the one run; the skip was none
/// assert_eq!(sweep.last_duration_ms, Some(1_200));
/// ```
#[derive(Debug)]
pub struct JobRegistry {
    jobs: RwLock<FxHashMap<Arc<str>, Entry>>,
    clock: Arc<dyn Clock>,
}

/// What a job did last and does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// The job's name.
    pub job_name: String,
    /// Its cron expression, or its schedule in words when it has none.
    pub cron_expr: String,
    /// When its newest run began.
    pub last_run: Option<DateTime<Utc>>,
    /// When its newest run was over.
    pub last_finished: Option<DateTime<Utc>>,
    /// How long that run took, without jitter and waiting.
    pub last_duration_ms: Option<u64>,
    /// How far jitter moved its start. Of runs in this process only, like the next one.
    pub last_jitter_ms: Option<u64>,
    /// How long it waited beyond its time until a worker took it.
    pub last_queue_delay_ms: Option<u64>,
    /// How that run ended.
    pub last_result: Option<JobResult>,
    /// Its next slot; while it is paused, the slot that would be next.
    pub next_run: Option<DateTime<Utc>>,
    /// Runs and skips in all.
    pub run_count: u64,
    /// Runs that succeeded.
    pub success_count: u64,
    /// Runs that failed.
    pub error_count: u64,
    /// Slots that were skipped.
    pub skipped_count: u64,
    /// The newest slot that was skipped, and the reason.
    pub last_skip: Option<(DateTime<Utc>, String)>,
    /// Runs under way.
    pub active_runs: u32,
    /// Whether any run is under way.
    pub is_running: bool,
    /// Whether it is paused.
    pub is_paused: bool,
}

impl JobStatus {
    /// The share of runs that failed; skips do not count. `None` before the first run.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        share(self.error_count, self.run_count - self.skipped_count)
    }

    /// `error_count` over `run_count`, which skips dilute; prefer [`error_rate`](Self::error_rate).
    #[must_use]
    pub fn raw_error_ratio(&self) -> Option<f64> {
        share(self.error_count, self.run_count)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Default for JobRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl JobRegistry {
    /// An empty registry on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// An empty registry on this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { jobs: RwLock::default(), clock }
    }

    fn read(&self) -> RwLockReadGuard<'_, FxHashMap<Arc<str>, Entry>> {
        self.jobs.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, FxHashMap<Arc<str>, Entry>> {
        self.jobs.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that has done nothing yet, or starts one anew.
    pub fn register(&self, name: &str, cron_expr: &str) {
        let entry = Entry::of(None, cron_expr.into(), &Standing::default());
        self.write().insert(name.into(), entry);
    }

    /// Adds a job with what its store remembers of it, or notes a change to one that is here.
    pub(super) fn adopt(&self, name: &Arc<str>, schedule: Arc<str>, job: &Job) {
        let mut jobs = self.write();
        match jobs.get_mut(name) {
            Some(entry) if entry.job == Some(job.spec.id) => {
                entry.schedule = schedule;
                entry.plan(&job.standing);
                entry.is_paused = job.standing.paused.is_some();
            }
            _ => {
                let entry = Entry::of(Some(job.spec.id), schedule, &job.standing);
                jobs.insert(name.clone(), entry);
            }
        }
    }

    /// Removes a job.
    pub(super) fn forget(&self, name: &str) {
        self.write().remove(name);
    }

    /// A run begins. Unknown names are ignored, here and below.
    pub fn record_start(&self, name: &str) {
        self.change(name, |entry| entry.active_runs += 1);
    }

    /// A run ended. A [`JobResult::Skipped`] counts as a skip, never as a run.
    pub fn record_complete(&self, name: &str, result: JobResult, duration_ms: u64) {
        let (finished_at, took) = (self.clock.now(), Duration::from_millis(duration_ms));
        let started_at = finished_at.before(took);
        let end = RunEnd { result, started_at, finished_at, took, next_run: None, wait: None };
        self.change(name, |entry| entry.end(end));
    }

    /// A slot was skipped; what runs meanwhile and what ran last stay as they are.
    pub fn record_skip(&self, name: &str, reason: &str) {
        let now = self.clock.now();
        self.change(name, |entry| entry.skip(now, reason));
    }

    /// Sets when the job runs next.
    pub fn set_next_run(&self, name: &str, next_run: impl Into<Option<DateTime<Utc>>>) {
        let next_run: Option<DateTime<Utc>> = next_run.into();
        self.change(name, |entry| entry.next_run = next_run.map(Timestamp::from));
    }

    /// Sets whether the job is paused.
    pub fn set_paused(&self, name: &str, paused: bool) {
        self.change(name, |entry| entry.is_paused = paused);
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.write().get_mut(name) {
            change(entry);
        }
    }

    /// A job was changed; slots that were due are settled by that.
    pub(super) fn amended(&self, job: &Job) {
        if let Some(entry) = of_job(&mut self.write(), &job.spec) {
            entry.schedule = job.spec.schedule.expression().into();
            entry.plan(&job.standing);
            entry.is_paused = job.standing.paused.is_some();
        }
    }

    /// A run is given up: whoever has it now reports its end.
    pub(super) fn record_lost(&self, spec: &JobSpec) {
        if let Some(entry) = of_job(&mut self.write(), spec) {
            entry.active_runs = entry.active_runs.saturating_sub(1);
        }
    }

    /// Records skips and next slots of many jobs under one lock.
    pub(super) fn record_plans(&self, planned: &[Planned]) {
        let mut jobs = self.write();
        for Planned { spec, plan } in planned {
            if let Some(entry) = of_job(&mut jobs, spec) {
                entry.plan(&plan.standing);
                entry.is_paused &= !plan.resumes();
            }
        }
    }

    /// Records the beginnings of many runs under one lock.
    pub(super) fn record_starts<'a>(&self, specs: impl Iterator<Item = &'a JobSpec>) {
        let mut jobs = self.write();
        for spec in specs {
            if let Some(entry) = of_job(&mut jobs, spec) {
                entry.active_runs += 1;
            }
        }
    }

    /// Records the ends of many runs under one lock.
    pub(super) fn record_ends<'a>(&self, ends: impl Iterator<Item = (&'a JobSpec, RunEnd)>) {
        let mut jobs = self.write();
        for (spec, end) in ends {
            if let Some(entry) = of_job(&mut jobs, spec) {
                entry.end(end);
            }
        }
    }

    /// What a job did last and does next.
    #[must_use]
    pub fn get_status(&self, name: &str) -> Option<JobStatus> {
        self.read().get_key_value(name).map(|(name, entry)| entry.status(name))
    }

    /// The same of every job, in the order of their names.
    #[must_use]
    pub fn get_all_status(&self) -> Vec<JobStatus> {
        let mut all: Vec<_> = self.read().iter().map(|(name, entry)| entry.status(name)).collect();
        all.sort_by(|one, other| one.job_name.cmp(&other.job_name));
        all
    }

    /// Whether a run of the job is under way.
    #[must_use]
    pub fn is_running(&self, name: &str) -> bool {
        self.read().get(name).is_some_and(|entry| entry.active_runs > 0)
    }

    /// Whether there is a job of this name.
    #[must_use]
    pub fn is_registered(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// Whether the job is paused.
    #[must_use]
    pub fn is_paused(&self, name: &str) -> bool {
        self.read().get(name).is_some_and(|entry| entry.is_paused)
    }

    /// How many jobs there are.
    #[must_use]
    pub fn job_count(&self) -> usize {
        self.read().len()
    }
}

/// The job's entry, unless another job has its name by now.
fn of_job<'a>(jobs: &'a mut FxHashMap<Arc<str>, Entry>, spec: &JobSpec) -> Option<&'a mut Entry> {
    jobs.get_mut(&*spec.name).filter(|entry| entry.job == Some(spec.id))
}
