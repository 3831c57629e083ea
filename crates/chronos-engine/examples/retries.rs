//! Failures that pass, failures that do not, and what is left over: `cargo run --example retries`.
//!
//! Runs on virtual time, so it waits for nothing.
#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::sync::Arc;
use std::time::Duration;

use chronos_engine::chronos_core::execution::State;
use chronos_engine::{
    JobContext, JobError, NewJob, SchedulerConfig, SchedulerService, VirtualClock,
};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> anyhow::Result<()> {
    let nine: chrono::DateTime<chrono::Utc> = "2026-11-16T09:00:00Z".parse()?;
    let clock = Arc::new(VirtualClock::starting_at(nine));
    let scheduler = SchedulerService::with_clock(SchedulerConfig::default(), clock.clone())?;

    let hourly = |name: &str| {
        NewJob::named(name)
            .cron("0 0 * * * *")
            .retries(3)
            .retry_delay(Duration::from_secs(10), Duration::from_mins(5))
    };
    // Any error that can be displayed counts as one that may pass.
    let told = clock.clone();
    let mail = move |run: JobContext| {
        println!("{}  mail, attempt {}", told.now_utc().format("%T"), run.attempt());
        async move {
            match run.attempt() {
                1 | 2 => Err("the mail server is busy"),
                _ => Ok(()),
            }
        }
    };
    // A failure that will repeat itself says so, and is not tried again.
    let told = clock.clone();
    let invoice = move |run: JobContext| {
        println!("{}  invoice, attempt {}", told.now_utc().format("%T"), run.attempt());
        async { Err::<(), _>(JobError::permanent("customer 7 has no address")) }
    };
    // One that never passes uses up its retries.
    let told = clock.clone();
    let upload = move |run: JobContext| {
        println!("{}  upload, attempt {}", told.now_utc().format("%T"), run.attempt());
        async { Err::<(), _>(JobError::transient("the disk there is full")) }
    };
    scheduler.register(hourly("mail"), mail).await?;
    scheduler.register(hourly("invoice"), invoice).await?;
    scheduler.register(hourly("upload"), upload).await?;

    scheduler.start().await?;
    tokio::time::sleep(Duration::from_mins(90)).await;
    scheduler.shutdown().await?;

    println!("\nslots that failed for good:");
    for dead in scheduler.store().dead_letters(None, 10).await? {
        let job = scheduler.store().job(dead.job).await?.spec;
        if let State::Failed(_, failure) = &dead.state {
            let attempts = dead.attempt;
            println!(
                "{:<8} {} after {attempts} attempt(s): {}",
                job.name, dead.slot, failure.message
            );
        }
    }
    println!();
    for job in scheduler.registry().get_all_status() {
        let rate = job.error_rate().unwrap_or_default() * 100.0;
        println!("{:<8} {} of its attempts failed ({rate:.0} %)", job.job_name, job.error_count);
    }
    Ok(())
}
