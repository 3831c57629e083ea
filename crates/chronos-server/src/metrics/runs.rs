//! Figures about runs: counted as they happen, over all jobs together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chronos_core::execution::State;
use chronos_core::store::{Claim, Planned};
use chronos_core::{Execution, JobId, JobSpec};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::spans::{Counted, Spans};

/// From a quick closure to a long report.
const DURATIONS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0];
/// From a scan that finds nothing to one that somebody must look into.
const LATENCIES: [f64; 12] =
    [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// How an execution ended; the eight states are all there will be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    status: &'static str,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "most names are those of the statuses")]
pub struct Figures {
    /// Jobs that somebody created.
    pub created: u64,
    pub success: u64,
    pub failed: u64,
    pub timed_out: u64,
    pub stuck: u64,
    pub cancelled: u64,
    pub skipped: u64,
    /// Attempts begun because one failed.
    pub retries: u64,
    /// Runs that this worker brought to an end.
    pub worker_runs: u64,
    /// How long runs took.
    pub durations: Spans,
    /// How long after their time runs began.
    pub lags: Spans,
    /// How long the planner took to look for due jobs.
    pub scans: Spans,
}

#[derive(Debug)]
pub(super) struct Runs {
    ended: Family<Ended, Counter>,
    worker: Counter,
    retries: Counter,
    lost: Counter,
    durations: Histogram,
    lags: Histogram,
    scans: Histogram,
    running: Gauge,
    spans: AllSpans,
    /// Runs under way by job, so that a job with two of them counts once.
    active: Mutex<HashMap<JobId, u32>>,
}

#[derive(Debug, Default)]
struct AllSpans {
    durations: Counted,
    lags: Counted,
    scans: Counted,
}

impl Runs {
    pub(super) fn figures(&self) -> Figures {
        let of = |status| self.ended.get_or_create(&Ended { status }).get();
        Figures {
            created: 0,
            success: of("success"),
            failed: of("failed"),
            timed_out: of("timed_out"),
            stuck: of("stuck"),
            cancelled: of("cancelled"),
            skipped: of("skipped"),
            retries: self.retries.get(),
            worker_runs: self.worker.get(),
            durations: self.spans.durations.spans(),
            lags: self.spans.lags.spans(),
            scans: self.spans.scans.spans(),
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let runs = Self {
            ended: Family::default(),
            worker: Counter::default(),
            retries: Counter::default(),
            lost: Counter::default(),
            durations: Histogram::new(DURATIONS),
            lags: Histogram::new(LATENCIES),
            scans: Histogram::new(LATENCIES),
            running: Gauge::default(),
            spans: AllSpans::default(),
            active: Mutex::default(),
        };
        // A series that is absent until the first failure cannot be alerted on.
        for status in ["success", "failed", "timed_out", "stuck", "cancelled", "skipped"] {
            drop(runs.ended.get_or_create(&Ended { status }));
        }
        let help = "Executions that ended since the start, by how";
        registry.register("executions", help, runs.ended.clone());
        let help = "Runs that this worker brought to an end; its rate is the throughput";
        registry.register("worker_runs", help, runs.worker.clone());
        registry.register("retries", "Attempts begun because one failed", runs.retries.clone());
        let help = "Results dropped because the lease on the execution was lost";
        registry.register("leases_lost", help, runs.lost.clone());
        let help = "How long runs took; sum over count is the average";
        let unit = || Unit::Seconds;
        registry.register_with_unit("execution_duration", help, unit(), runs.durations.clone());
        let help = "How long after its time a run began";
        registry.register_with_unit("start_lag", help, unit(), runs.lags.clone());
        let help = "How long the scheduler took to look for due jobs and fire them";
        registry.register_with_unit("scheduler_scan", help, unit(), runs.scans.clone());
        registry.register("jobs_running", "Jobs with a run under way here", runs.running.clone());
        runs
    }

    /// Shares that only make sense together with what they are shares of, so they are taken at once.
    pub(super) fn register_ratios(&self, registry: &mut Registry) {
        let of = |status| self.ended.get_or_create(&Ended { status }).get();
        let failed = of("failed") + of("timed_out") + of("stuck") + of("cancelled");
        let executed = of("success") + failed;
        let share = |whole: u64| if whole == 0 { 0.0 } else { failed as f64 / whole as f64 };
        let help = "Failed, timed out, stuck and cancelled runs as a share of the runs executed";
        registry.register("error_rate", help, ConstGauge::new(share(executed)));
        let help = "The same as a share of runs and skipped slots together, which skips dilute";
        let all = executed + of("skipped");
        registry.register("raw_error_ratio", help, ConstGauge::new(share(all)));
    }

    pub(super) fn planned(&self, planned: &[Planned]) {
        for Planned { plan, .. } in planned {
            self.count_all(&plan.executions);
        }
    }

    pub(super) fn started(&self, claims: &[Claim]) {
        let mut active = self.active();
        for Claim { spec, execution, .. } in claims {
            *active.entry(spec.id).or_default() += 1;
            if execution.retry > 0 {
                self.retries.inc();
            }
            if let Some(running) = execution.running() {
                let lag = running.started_at.since(execution.run_at);
                self.spans.lags.observe(lag);
                self.lags.observe(lag.as_secs_f64());
            }
        }
        self.set_running(&active);
    }

    pub(super) fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        let mut active = self.active();
        for (spec, execution) in ended {
            self.count(execution);
            self.worker.inc();
            if let Some(run) = execution.run() {
                self.spans.durations.observe(run.duration());
                self.durations.observe(run.duration().as_secs_f64());
            }
            leave(&mut active, spec.id);
        }
        self.set_running(&active);
    }

    pub(super) fn lost(&self, spec: &JobSpec) {
        self.lost.inc();
        let mut active = self.active();
        leave(&mut active, spec.id);
        self.set_running(&active);
    }

    pub(super) fn reaped(&self, ended: &[Execution]) {
        self.count_all(ended);
    }

    pub(super) fn scanned(&self, took: Duration) {
        self.spans.scans.observe(took);
        self.scans.observe(took.as_secs_f64());
    }

    fn count_all(&self, executions: &[Execution]) {
        for execution in executions {
            self.count(execution);
        }
    }

    fn count(&self, execution: &Execution) {
        let status = match execution.state {
            State::Queued { .. } | State::Running(_) => return,
            State::Success(_) => "success",
            State::Failed(..) => "failed",
            State::TimedOut(_) => "timed_out",
            State::Stuck(_) => "stuck",
            State::Cancelled { .. } => "cancelled",
            State::Skipped { .. } => "skipped",
        };
        self.ended.get_or_create(&Ended { status }).inc();
    }

    fn active(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_running(&self, active: &HashMap<JobId, u32>) {
        self.running.set(i64::try_from(active.len()).unwrap_or(i64::MAX));
    }
}

/// Takes one run of the job off.
fn leave(active: &mut HashMap<JobId, u32>, job: JobId) {
    if let Some(runs) = active.get_mut(&job) {
        *runs -= 1;
        if *runs == 0 {
            active.remove(&job);
        }
    }
}
