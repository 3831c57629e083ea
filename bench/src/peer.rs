//! The same herd on tokio-cron-scheduler.

use std::time::Duration;

use tokio_cron_scheduler::{Job, JobScheduler};

use crate::fleet::{HERD, SECONDS, Starts, herd_figures, wall_micros};
use crate::process::cpu_seconds;
use crate::report::Figure;

pub(crate) async fn herd() -> anyhow::Result<Vec<Figure>> {
    let scheduler = JobScheduler::new().await?;
    let starts = Starts::new();
    for number in 0..HERD {
        let starts = starts.clone();
        let job = Job::new_async("* * * * * *", move |_, _| {
            // It does not say which second a run is for. Taking the newest is in its favour: a run
            // that is more than a second late counts as nearly on time.
            let slot = wall_micros() / 1_000_000 * 1_000_000;
            starts.note(number, slot);
            Box::pin(async {})
        })?;
        scheduler.add(job).await?;
    }
    let mut scheduler = scheduler;
    scheduler.start().await?;
    let cpu = cpu_seconds()?;
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    let cpu = cpu_seconds()? - cpu;
    scheduler.shutdown().await?;
    Ok(herd_figures("peer herd", &starts, cpu, false))
}
