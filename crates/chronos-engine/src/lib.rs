//! Chronos as a library: cron, interval and one-time jobs inside a Rust program.
//!
//! [`SchedulerService`] registers closures and runs them on time, keeping count in a [`JobRegistry`].
//! Every slot that does not run leaves a record that says why. Below it, [`run`] is the engine itself,
//! for those who bring their own store.
//!
//! # A start
//!
//! ```
//! use chronos_engine::{JobContext, NewJob, SchedulerConfig, SchedulerService};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scheduler = SchedulerService::new(SchedulerConfig::default())?;
//!
//! let report = NewJob::named("report")
//!     .cron("0 9 * * 1-5")
//!     .timezone("Europe/Berlin")
//!     .retries(3);
//! scheduler
//!     .register(report, |context: JobContext| async move {
//!         context.log("counted everything");
//!         Ok::<(), String>(())
//!     })
//!     .await?;
//! scheduler
//!     .register_interval("heartbeat", Duration::from_secs(30), || async {})
//!     .await?;
//!
//! scheduler.start().await?; // nothing runs before
//! for run in scheduler.preview_job("report", 3).await? {
//!     println!("report at {}", run.nominal);
//! }
//! scheduler.shutdown().await?; // waits for what runs, up to `shutdown_timeout_secs`
//! # Ok(()) }
//! ```
//!
//! A closure takes nothing, a [`CancellationToken`] or a [`JobContext`], and returns nothing, a
//! `Result<(), E>` or a [`JobResult`]. A panic in it is a failed run and nothing else.
//!
//! # Policies
//!
//! | question | choices | set by |
//! |---|---|---|
//! | A slot comes due while a run goes on? | [`OverlapPolicy`]: `Skip`, `Concurrent`, `Queue`, `Replace` | [`NewJob::overlap`] |
//! | Slots were missed? | [`CatchUpPolicy`]: `Skip`, `RunOnce`, `RunAllCapped` | [`NewJob::catch_up`] |
//! | A run fails? | retries after doubling delays; [`JobError`] says whether they help | [`NewJob::retries`] |
//! | Many jobs share a time? | a window to spread their starts over | [`NewJob::jitter`] |
//! | Nothing may fire at night? | quiet hours that skip or defer | [`NewJob::quiet_hours`] |
//! | A run takes too long? | a time limit | [`NewJob::max_execution_time`] |
//! | Someone is to know of failures? | a webhook, per job or for all | [`NewJob::notify`], [`SchedulerConfig::notify`] |
//!
//! **Overlap.** `Skip`, the default, suits long-running jobs and jobs on a shared resource.
//! `Concurrent` suits jobs that are idempotent, independent of each other, or only read. `Queue` was
//! long held to cost more than it gives: it complicates asynchronous code, an unbounded queue grows
//! without end behind a slow job, it is rarely needed, and a longer interval does the same. Here it
//! is bounded (one waiting run unless you say otherwise, further slots are skipped), and the store
//! keeps what waits. A longer interval is still the better first try.
//!
//! **Jitter** for jobs that share a time: 300 s is a good window for daily, weekly and monthly work,
//! 600 s for a compaction, 60 s for an index commit every few minutes. It never moves the slot, never
//! reaches the next one, and manual runs go without.
//!
//! # Local time
//!
//! A cron expression is read on the wall clock of its zone, and every slot is computed from the zone's
//! rules when it is needed; offsets are never frozen. Where the clocks change:
//!
//! - a fixed time inside the skipped hour runs once, at the first instant after the gap;
//! - a fixed time inside the repeated hour runs once, the first time it comes;
//! - expressions with wildcards or steps keep their cadence through both.
//!
//! That is defined, but it is not what everyone expects: a job at 02:30 does run on the day without
//! 02:30, at 03:00. Keep jobs that care away from 01:00–03:00 local time, or give them UTC.
//!
//! # Promises
//!
//! Each slot is dispatched once, and execution is at least once: a run that its worker loses, or that a
//! shutdown cuts short, is run again where the store outlives the program.
//! [`JobContext::idempotency_key`] stays the same over all attempts at a slot.
//!
//! [`SchedulerService::new`] keeps jobs in memory. With a store that outlives the program
//! ([`SchedulerService::with_store`]) pauses, figures, history and checkpoints survive as well:
//! closures meet the jobs that the store remembers by name, when they are registered.

pub mod backpressure;
pub mod clock;
pub mod compaction;
#[cfg(feature = "cores")]
pub mod cores;
pub mod events;
pub mod handler;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub mod push;
pub mod run;
pub mod service;

pub use backpressure::{Backpressure, LoadProbe};
pub use chronos_core;
pub use chronos_core::execution::Trigger;
pub use chronos_core::http::{Http, Method};
pub use chronos_core::message::Template;
pub use chronos_core::notice::{Notify, Occasions};
pub use chronos_core::plan::{PreviewRun, Reason};
pub use chronos_core::policy::quiet_hours::{Mode as QuietMode, WeekdaySet, Window as QuietWindow};
pub use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, Priority, QuietHours};
pub use chronos_core::{
    Execution, ExecutionId, JobId, Message, MessageEvent, PolicyId, Store, Timestamp,
};
pub use chronos_store::{EmbeddedStore, Retention};
pub use clock::{Clock, SharedClock, SystemClock, VirtualClock};
pub use compaction::{CompactionJobConfig, create_compaction_job, run_compaction};
pub use events::{Events, Follower, SharedEvent, SharedPage};
pub use handler::{Handler, IntoHandler, JobContext, JobError, JobResult, JobReturn};
pub use service::{
    JitterConfig, JobRegistry, JobStatus, NewJob, OverlapGuard, RunGuard, SchedulerConfig,
    SchedulerError, SchedulerService, shutdown_signal, with_jitter,
};
pub use tokio_util::sync::CancellationToken;
