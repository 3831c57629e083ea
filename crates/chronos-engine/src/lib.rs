//! Chronos as a library: cron, interval and one-time jobs inside a Rust program.
//!
//! [`SchedulerService`] registers closures and runs them on time, keeping count in a [`JobRegistry`].
//! Slots follow wall clocks through every change of daylight saving time; overlap, missed slots,
//! retries, jitter and quiet hours are policies of each job, and every slot that does not run leaves a
//! record that says why. Below it, [`run`] is the engine itself, for those who bring their own store.
//!
//! A promise, stated honestly: each slot is dispatched once, and execution is at least once. A run
//! that its worker loses is run again; [`JobContext::idempotency_key`] stays the same over all
//! attempts at a slot.

pub mod clock;
pub mod handler;
pub mod run;
pub mod service;

pub use chronos_core::execution::Trigger;
pub use chronos_core::plan::{PreviewRun, Reason};
pub use chronos_core::policy::quiet_hours::{Mode as QuietMode, WeekdaySet, Window as QuietWindow};
pub use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, QuietHours};
pub use clock::{Clock, SystemClock, VirtualClock};
pub use handler::{Handler, IntoHandler, JobContext, JobError, JobResult, JobReturn};
pub use service::{
    JitterConfig, JobRegistry, JobStatus, NewJob, OverlapGuard, RunGuard, SchedulerConfig,
    SchedulerError, SchedulerService, shutdown_signal, with_jitter,
};
pub use tokio_util::sync::CancellationToken;
