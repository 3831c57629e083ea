//! The same herd on tokio-cron-scheduler.

use std::sync::Arc;

use tokio_cron_scheduler::{Job, JobScheduler};

use crate::fleet::{HERD, Starts, cpu_over_the_herd, figures, wall_micros};
use crate::report::Figure;

pub(crate) async fn herd() -> anyhow::Result<Vec<Figure>> {
    figures("peer herd", false, async |starts: &Arc<Starts>| {
        let mut scheduler = JobScheduler::new().await?;
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
        scheduler.start().await?;
        let cpu = cpu_over_the_herd().await?;
        scheduler.shutdown().await?;
        Ok(cpu)
    })
    .await
}
