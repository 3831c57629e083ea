//! Three jobs in a program, a pause, a manual run, and a graceful shutdown.
//!
//! Takes ten seconds, or until Ctrl-C: `cargo run --example embed`.
#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::time::Duration;

use chronos_engine::{
    JitterConfig, JobContext, NewJob, OverlapPolicy, SchedulerConfig, SchedulerService,
    shutdown_signal,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let scheduler = SchedulerService::new(SchedulerConfig::default())?;
    register(&scheduler).await?;
    for job in scheduler.registry().get_all_status() {
        println!("registered {:<7} {}", job.job_name, job.cron_expr);
    }

    scheduler.start().await?;
    println!("started; ten seconds, or Ctrl-C");
    tokio::select! {
        signal = shutdown_signal() => {
            signal?;
            println!("asked to stop");
        }
        toured = tour(&scheduler) => toured?,
    }
    scheduler.shutdown().await?;

    println!("\njob      done  failed  skipped  last result");
    for job in scheduler.registry().get_all_status() {
        let last = job.last_result.map(|result| format!("{result:?}"));
        println!(
            "{:<7}  {:>4}  {:>6}  {:>7}  {}",
            job.job_name,
            job.success_count,
            job.error_count,
            job.skipped_count,
            last.as_deref().unwrap_or("never ran"),
        );
    }
    Ok(())
}

async fn register(scheduler: &SchedulerService) -> anyhow::Result<()> {
    // The plain form: a closure that takes nothing, on a cron expression with seconds.
    scheduler
        .register_job(
            "tick",
            "* * * * * *",
            Some("Europe/Berlin"),
            OverlapPolicy::Skip,
            JitterConfig::none(),
            || async { println!("  tick") },
        )
        .await?;
    // A long job looks at its token, keeps its place and stops early when it is asked to.
    let sweep = NewJob::named("sweep").cron("*/3 * * * * *");
    scheduler.register(sweep, sweep_shelves).await?;
    // An interval; this one is only seen because it is run by hand below.
    scheduler
        .register_interval("report", Duration::from_hours(1), |run: JobContext| async move {
            run.log("counted everything");
            println!("  report written");
        })
        .await?;
    Ok(())
}

async fn sweep_shelves(run: JobContext) -> anyhow::Result<()> {
    let kept = run.load_checkpoint().await?;
    let first = kept.and_then(|bytes| bytes.first().copied()).unwrap_or(1);
    println!("  sweep begins at shelf {first}");
    for shelf in first..=20 {
        if run.is_cancelled() {
            println!("  Shutdown requested, checkpointing... (shelf {shelf})");
            run.save_checkpoint([shelf]).await?;
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("  sweep is done");
    Ok(run.save_checkpoint([1]).await?)
}

async fn tour(scheduler: &SchedulerService) -> anyhow::Result<()> {
    tokio::time::sleep(Duration::from_secs(3)).await;
    scheduler.pause_job("tick").await?;
    println!("tick is paused; report runs by hand");
    scheduler.run_job("report").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    scheduler.resume_job("tick").await?;
    println!("tick is resumed");
    tokio::time::sleep(Duration::from_secs(4)).await;
    println!("time is up");
    Ok(())
}
