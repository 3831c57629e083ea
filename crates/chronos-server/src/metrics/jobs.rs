//! Figures about the jobs that this program registered itself, one series each.

use chronos_core::Timestamp;
use chronos_engine::{JobRegistry, JobStatus};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::Level;

/// Jobs that get series of their own; further ones, by name, are in the totals alone.
pub const MAX_JOBS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    job: String,
}

#[derive(Default)]
struct Series {
    runs: Family<Of, Counter>,
    errors: Family<Of, Counter>,
    skips: Family<Of, Counter>,
    error_rate: Family<Of, Level>,
    raw_error_ratio: Family<Of, Level>,
    last_duration: Family<Of, Level>,
    since_last_run: Family<Of, Level>,
    running: Family<Of, Gauge>,
    paused: Family<Of, Gauge>,
}

/// Registers what each registered job did, as of `now`.
pub(super) fn register(registry: &mut Registry, jobs: &JobRegistry, now: Timestamp) {
    let mut statuses = jobs.get_all_status();
    statuses.sort_by(|one, other| one.job_name.cmp(&other.job_name));
    let series = Series::default();
    for status in statuses.iter().take(MAX_JOBS) {
        series.record(status, now);
    }
    series.register(registry);
}

impl Series {
    fn record(&self, status: &JobStatus, now: Timestamp) {
        let of = Of { job: status.job_name.clone() };
        self.runs.get_or_create(&of).inc_by(status.run_count);
        self.errors.get_or_create(&of).inc_by(status.error_count);
        self.skips.get_or_create(&of).inc_by(status.skipped_count);
        self.running.get_or_create(&of).set(status.is_running.into());
        self.paused.get_or_create(&of).set(status.is_paused.into());
        // What has never run has no rate, and no age either.
        if let Some(rate) = status.error_rate() {
            self.error_rate.get_or_create(&of).set(rate);
        }
        if let Some(ratio) = status.raw_error_ratio() {
            self.raw_error_ratio.get_or_create(&of).set(ratio);
        }
        if let Some(millis) = status.last_duration_ms {
            self.last_duration.get_or_create(&of).set(millis as f64 / 1_000.0);
        }
        if let Some(last) = status.last_run {
            self.since_last_run.get_or_create(&of).set(now.since(last.into()).as_secs_f64());
        }
    }

    fn register(self, registry: &mut Registry) {
        registry.register("job_runs", "Runs and skipped slots of the job", self.runs);
        registry.register("job_errors", "Runs of the job that failed", self.errors);
        registry.register("job_skips", "Slots of the job that were skipped", self.skips);
        let help = "The share of the job's executed runs that failed";
        registry.register("job_error_rate", help, self.error_rate);
        let help = "The same as a share of runs and skipped slots together, which skips dilute";
        registry.register("job_raw_error_ratio", help, self.raw_error_ratio);
        let (help, unit) = ("How long the job's last run took", Unit::Seconds);
        registry.register_with_unit("job_last_duration", help, unit, self.last_duration);
        let (help, unit) = ("How long ago the job's last run began", Unit::Seconds);
        registry.register_with_unit("job_since_last_run", help, unit, self.since_last_run);
        registry.register("job_running", "1 while the job runs", self.running);
        registry.register("job_paused", "1 while the job is paused", self.paused);
    }
}
