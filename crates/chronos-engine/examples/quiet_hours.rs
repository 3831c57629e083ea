//! A night in which nothing may fire: what a preview says, and what then happens:
//! `cargo run --example quiet_hours`.
//!
//! Runs on virtual time, so the night is over at once.
#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::sync::Arc;
use std::time::Duration;

use chronos_engine::{
    JobContext, NewJob, QuietMode, QuietWindow, SchedulerConfig, SchedulerService, VirtualClock,
    WeekdaySet,
};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> anyhow::Result<()> {
    // Eight in the evening in Berlin.
    let evening: chrono::DateTime<chrono::Utc> = "2026-11-16T19:00:00Z".parse()?;
    let clock = Arc::new(VirtualClock::starting_at(evening));
    let config =
        SchedulerConfig { default_timezone: "Europe/Berlin".into(), ..SchedulerConfig::default() };
    let scheduler = SchedulerService::with_clock(config, clock.clone())?;

    let night = || QuietWindow::new(WeekdaySet::EVERY_DAY, "22:00", "07:00");
    let zone = "Europe/Berlin";
    let silence = scheduler.add_quiet_hours("night", zone, vec![night()?], QuietMode::Skip).await?;
    let patience = scheduler
        .add_quiet_hours("after the night", zone, vec![night()?], QuietMode::Defer)
        .await?;

    let told = clock.clone();
    let note = move |run: JobContext| {
        println!("{}  {} runs", told.now_utc().format("%T"), run.job_name());
        async {}
    };
    // Slots of a news ticker inside the night are skipped; a backup waits for its end.
    let news = NewJob::named("news").cron("0 30 */3 * * *").quiet_hours(silence);
    let backup = NewJob::named("backup").cron("0 30 23 * * *").quiet_hours(patience);
    scheduler.register(news, note.clone()).await?;
    scheduler.register(backup, note).await?;

    for job in ["news", "backup"] {
        println!("{job}, as foreseen (UTC):");
        for run in scheduler.preview_job(job, 5).await? {
            let effective = match run.effective {
                Some(at) => format!("runs at {}", at.to_datetime().format("%a %H:%M")),
                None => "is skipped".into(),
            };
            let reasons: Vec<_> = run.reasons.iter().map(ToString::to_string).collect();
            let slot = run.nominal.to_datetime().format("%a %H:%M").to_string();
            let line = format!("  {slot} {effective}  {}", reasons.join(", "));
            println!("{}", line.trim_end());
        }
    }

    println!("\nthe night (UTC):");
    scheduler.start().await?;
    tokio::time::sleep(Duration::from_hours(14)).await;
    scheduler.shutdown().await?;
    for job in scheduler.registry().get_all_status() {
        println!("{}: {} ran, {} skipped", job.job_name, job.success_count, job.skipped_count);
    }
    Ok(())
}
