//! Metrics: what the scheduler does, as figures that Prometheus and its like can read.
//!
//! Totals cover every job. Series of single jobs exist only for those in the [`JobRegistry`], which
//! are the ones this program registered itself, and only up to [`MAX_JOBS`]: what users create must
//! not make the number of series grow.

mod jobs;
mod notices;
mod runs;
mod spans;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chronos_core::store::{self, Claim, Planned, Stats, Store};
use chronos_core::{Execution, JobSpec, Timestamp};
use chronos_engine::JobRegistry;
use chronos_engine::run::Observer;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

pub use jobs::MAX_JOBS;
use notices::Notices;
pub use runs::Figures;
use runs::Runs;
pub use spans::Spans;

/// What [`Metrics::render`] writes, as HTTP names it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PREFIX: &str = "chronos";

/// Counts what an engine does; attach it as an [`Observer`], and render it when someone asks.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    created: Counter,
    braked: Gauge,
    /// By how many microseconds this machine's clock is ahead of the one that nodes share.
    skew: OnceLock<Arc<AtomicI64>>,
    runs: Runs,
    notices: Notices,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Figures that begin at nothing.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let build = Info::new([
            ("version", env!("CARGO_PKG_VERSION")),
            ("tz_database", chrono_tz::IANA_TZDB_VERSION),
        ]);
        registry.register("build", "What this program was built from", build);
        let created = Counter::default();
        registry.register("jobs_created", "Jobs created since the start", created.clone());
        let braked = Gauge::default();
        let help = "Whether this node takes on no work, because its clock is wrong";
        registry.register("braked", help, braked.clone());
        let runs = Runs::register(&mut registry);
        let notices = Notices::register(&mut registry);
        Self { registry, created, braked, skew: OnceLock::new(), runs, notices }
    }

    /// Counts a job that somebody created.
    pub fn job_created(&self) {
        self.created.inc();
    }

    /// What was counted so far, for those who do not read Prometheus.
    #[must_use]
    pub fn figures(&self) -> Figures {
        Figures { created: self.created.get(), ..self.runs.figures() }
    }

    /// Says whether the node takes on no work.
    pub fn set_braked(&self, braked: bool) {
        self.braked.set(braked.into());
    }

    /// Shows from now on how far this machine's clock is off the one that nodes share.
    pub fn watch_clock(&self, skew: Arc<AtomicI64>) {
        // A process has one clock, so whoever came first told of the same.
        let _ = self.skew.set(skew);
    }

    /// By how many milliseconds this machine's clock is ahead of the one that nodes share, if there is one.
    #[must_use]
    pub fn skew_ms(&self) -> Option<f64> {
        self.skew.get().map(|skew| skew.load(Ordering::SeqCst) as f64 / 1e3)
    }

    fn register_skew(&self, registry: &mut Registry) {
        if let Some(skew) = self.skew_ms() {
            let seconds = skew / 1e3;
            let help = "By how much this machine's clock is ahead of the one that nodes share";
            let gauge = ConstGauge::new(seconds);
            registry.register_with_unit("clock_skew", help, Unit::Seconds, gauge);
        }
    }

    /// Everything, as text of the type [`CONTENT_TYPE`], at `now`.
    pub async fn render(
        &self,
        store: &dyn Store,
        jobs: &JobRegistry,
        now: Timestamp,
    ) -> store::Result<String> {
        let stats = store.stats().await?;
        // What only holds at this moment lives in a registry of this moment.
        let mut scrape = Registry::with_prefix(PREFIX);
        register_stats(&mut scrape, &stats);
        self.runs.register_ratios(&mut scrape);
        self.register_skew(&mut scrape);
        jobs::register(&mut scrape, jobs, now);
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode_registry(&mut page, &self.registry);
        let _ = text::encode_registry(&mut page, &scrape);
        let _ = text::encode_eof(&mut page);
        Ok(page)
    }
}

fn register_stats(registry: &mut Registry, stats: &Stats) {
    let gauge = |value: u64| ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register("jobs", "Jobs in the store", gauge(stats.jobs));
    registry.register("jobs_paused", "Jobs that are paused", gauge(stats.paused));
    registry.register("executions_pending", "Executions that wait", gauge(stats.queued));
    registry.register("executions_running", "Executions that run", gauge(stats.running));
    let bytes = gauge(stats.bytes);
    registry.register_with_unit("store", "Space that the store holds", Unit::Bytes, bytes);
}

impl Observer for Metrics {
    fn planned(&self, planned: &[Planned]) {
        self.runs.planned(planned);
    }

    fn started(&self, claims: &[Claim]) {
        self.runs.started(claims);
    }

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.runs.ended(ended);
    }

    fn told(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.notices.told(ended);
    }

    fn lost(&self, spec: &JobSpec) {
        self.runs.lost(spec);
    }

    fn reaped(&self, ended: &[Execution]) {
        self.runs.reaped(ended);
    }

    fn scanned(&self, took: Duration) {
        self.runs.scanned(took);
    }
}

/// A gauge of a fraction or of seconds.
type Level = Gauge<f64, std::sync::atomic::AtomicU64>;
