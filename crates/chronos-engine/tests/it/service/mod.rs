//! The scheduler inside a program: what its users are promised, on virtual time.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test, as the tests themselves do"
)]

mod backfilling;
mod backlog;
mod backpressure;
mod compaction;
mod context;
mod counters;
mod cron;
mod events;
mod examples;
mod jitter;
mod manual;
mod memory;
mod nodes;
mod outcomes;
mod overlap;
mod pause;
mod reconciling;
mod refusals;
mod registration;
mod registry;
mod retries;
mod shutdown;
mod telling;

use std::fmt::Display;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, NaiveTime, SecondsFormat, Utc};
use chronos_engine::{
    Execution, IntoHandler, JobContext, JobStatus, SchedulerConfig, SchedulerService, Store,
    VirtualClock,
};
use futures::FutureExt;
use futures::future::BoxFuture;

/// A scheduler on a clock of its own.
struct Lab {
    clock: Arc<VirtualClock>,
    scheduler: SchedulerService,
}

impl Deref for Lab {
    type Target = SchedulerService;

    fn deref(&self) -> &SchedulerService {
        &self.scheduler
    }
}

impl Lab {
    /// The usual scheduler, at noon of a Monday.
    fn new() -> Self {
        Self::at("2026-03-02T12:00:00Z")
    }

    fn at(start: &str) -> Self {
        Self::with(SchedulerConfig::default(), start)
    }

    fn with(config: SchedulerConfig, start: &str) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(utc(start)));
        let scheduler = SchedulerService::with_clock(config, clock.clone()).unwrap();
        Self { clock, scheduler }
    }

    /// A scheduler at noon of a Monday with this long for runs to end at a shutdown.
    fn with_timeout(shutdown_timeout_secs: u64) -> Self {
        let config = SchedulerConfig { shutdown_timeout_secs, ..SchedulerConfig::default() };
        Self::with(config, "2026-03-02T12:00:00Z")
    }

    /// A scheduler over a store that outlives it.
    fn over(store: &Arc<dyn Store>, start: &str) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(utc(start)));
        let config = SchedulerConfig::default();
        let scheduler = SchedulerService::with_store(config, store.clone(), clock.clone()).unwrap();
        Self { clock, scheduler }
    }

    /// Lets time pass until what is due then has been done. Takes an instant, or a time of the day
    /// that the clock shows.
    async fn until(&self, at: &str) {
        let at = match at.parse::<NaiveTime>() {
            Ok(time) => self.clock.now_utc().date_naive().and_time(time).and_utc(),
            Err(_) => utc(at),
        };
        let wait = (at - self.clock.now_utc()).to_std().unwrap();
        tokio::time::sleep(wait + Duration::from_millis(5)).await;
    }

    fn status(&self, name: &str) -> JobStatus {
        self.registry().get_status(name).unwrap()
    }

    /// The job's executions, oldest first.
    async fn executions(&self, name: &str) -> Vec<Execution> {
        let mut executions = self.history(name, 100).await.unwrap();
        executions.sort_by_key(|execution| (execution.slot, execution.attempt));
        executions
    }

    /// The states of the job's executions, oldest first.
    async fn past(&self, name: &str) -> Vec<&'static str> {
        let executions = self.executions(name).await;
        executions.iter().map(Execution::status).collect()
    }
}

/// What jobs wrote down, in order.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Vec<String>>>);

impl Book {
    fn note(&self, line: impl Display) {
        self.0.lock().unwrap().push(line.to_string());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// A job that notes its slot.
    fn slots(&self) -> impl Fn(JobContext) -> BoxFuture<'static, ()> + use<> {
        self.slots_taking(Duration::ZERO)
    }

    /// A job that notes its slot and takes a while, whatever its token says.
    fn slots_taking(
        &self,
        long: Duration,
    ) -> impl Fn(JobContext) -> BoxFuture<'static, ()> + use<> {
        let book = self.clone();
        move |context: JobContext| {
            let book = book.clone();
            async move {
                book.note(text(context.scheduled_for()));
                tokio::time::sleep(long).await;
            }
            .boxed()
        }
    }
}

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A job that does nothing.
fn idle() -> impl IntoHandler<()> {
    || async {}
}
