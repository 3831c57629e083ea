//! How to test jobs that depend on time, without waiting: `cargo run --example virtual_time`.
//!
//! Two things make time virtual: Tokio's paused clock (its feature `test-util`, in tests
//! `#[tokio::test(start_paused = true)]`), which jumps to the next wait when nothing else is to be done,
//! and a [`VirtualClock`] for the scheduler, which follows it from a date of your choice.
#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chronos_engine::{JobContext, NewJob, SchedulerConfig, SchedulerService, VirtualClock};

/// The code under test: a report every working day at nine, Berlin time.
async fn schedule_reports(
    scheduler: &SchedulerService,
    written: Arc<Mutex<Vec<String>>>,
) -> anyhow::Result<()> {
    let report = NewJob::named("report").cron("0 9 * * MON-FRI").timezone("Europe/Berlin");
    scheduler
        .register(report, move |run: JobContext| {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            written.push(run.scheduled_for().format("%F %H:%M").to_string());
            async {}
        })
        .await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> anyhow::Result<()> {
    let march: chrono::DateTime<chrono::Utc> = "2026-03-01T00:00:00Z".parse()?;
    let clock = Arc::new(VirtualClock::starting_at(march));
    let scheduler = SchedulerService::with_clock(SchedulerConfig::default(), clock.clone())?;
    let written = Arc::new(Mutex::new(Vec::new()));
    schedule_reports(&scheduler, written.clone()).await?;
    scheduler.start().await?;

    // A month passes while nobody waits.
    tokio::time::sleep(Duration::from_hours(31 * 24)).await;
    scheduler.shutdown().await?;

    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    println!("it is {} now", clock.now_utc().format("%F %H:%M UTC"));
    println!("{} reports, the first at {} UTC", written.len(), written[0]);
    // On 29 March the clocks went forward: nine in Berlin is an hour earlier in UTC from then on.
    println!("the last at {} UTC", written[written.len() - 1]);
    assert_eq!(written.len(), 22, "one for each working day");
    assert!(written[0].ends_with("08:00") && written[21].ends_with("07:00"));
    println!("nine in Berlin all month, through the change of the clocks");
    Ok(())
}
