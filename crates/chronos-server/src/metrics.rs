//! Figures for Prometheus.

use std::fmt::Write;
use std::sync::Arc;

use chronos_engine::SchedulerService;

/// The text format of Prometheus.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    service: Arc<SchedulerService>,
}

impl Metrics {
    pub(crate) fn new(service: Arc<SchedulerService>) -> Self {
        Self { service }
    }

    /// The figures of now; those of a store that does not answer are left out.
    pub(crate) async fn render(&self) -> String {
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: u64| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        };
        let running = u64::from(self.service.is_running());
        gauge("chronos_scheduler_running", "Whether the scheduler runs.", running);
        if let Ok(stats) = self.service.store().stats().await {
            gauge("chronos_jobs", "Jobs that are stored.", stats.jobs);
            gauge("chronos_executions_queued", "Executions that wait.", stats.queued);
            gauge("chronos_executions_running", "Executions that run.", stats.running);
            gauge("chronos_store_bytes", "Bytes that the store holds.", stats.bytes);
        }
        text
    }
}
