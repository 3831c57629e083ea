//! Three jobs in a program, a pause, a manual run, and a graceful shutdown.
//!
//! Runs for ten seconds, or until Ctrl-C: `cargo run --example embed`.

use std::time::Duration;

use chronos_engine::{
    JitterConfig, JobContext, OverlapPolicy, SchedulerConfig, SchedulerService, shutdown_signal,
};
use tracing::info;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_target(false).init();
    let scheduler = SchedulerService::new(SchedulerConfig::default())?;

    scheduler
        .register_job(
            "tick",
            "* * * * * *",
            Some("Europe/Berlin"),
            OverlapPolicy::Skip,
            JitterConfig::none(),
            || async { info!("tick") },
        )
        .await?;
    scheduler
        .add_cron_job("sweep", "*/3 * * * * *", None, |token| async move {
            for shelf in 1..=20 {
                if token.is_cancelled() {
                    info!("Shutdown requested, checkpointing...");
                    return Err(format!("stopped after shelf {shelf}"));
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        })
        .await?;
    scheduler
        .register_interval(
            "report",
            Duration::from_secs(3_600),
            |context: JobContext| async move {
                context.log("counted everything");
                info!(scheduled_for = %context.scheduled_for(), "report written");
            },
        )
        .await?;

    scheduler.start().await?;
    let until_signal = shutdown_signal();
    let tour = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        scheduler.pause_job("tick").await?;
        info!("tick is paused; report runs by hand");
        scheduler.run_job("report").await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        scheduler.resume_job("tick").await?;
        tokio::time::sleep(Duration::from_secs(4)).await;
        anyhow::Ok(())
    };
    tokio::select! {
        signal = until_signal => signal?,
        toured = tour => toured?,
    }
    scheduler.shutdown().await?;

    for job in scheduler.registry().get_all_status() {
        info!(
            job = job.job_name,
            runs = job.success_count,
            failed = job.error_count,
            skipped = job.skipped_count,
            last_result = ?job.last_result,
            "summary"
        );
    }
    Ok(())
}
