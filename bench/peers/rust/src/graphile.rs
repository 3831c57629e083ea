//! graphile_worker: many jobs are fetched at once, and their ends are written together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, WorkerContext,
    WorkerOptions,
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use super::{Begun, settle, until_none};

const LOCAL_QUEUE: usize = 10_000;

#[derive(Deserialize, Serialize)]
struct Nothing {}

impl TaskHandler for Nothing {
    const IDENTIFIER: &'static str = "nothing";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        if let Some(begun) = context.get_ext::<Begun>() {
            begun.note();
        }
        Ok::<(), String>(())
    }
}

pub(crate) async fn round(pool: &PgPool, jobs: usize) -> anyhow::Result<f64> {
    let begun = Begun::default();
    let worker = WorkerOptions::default()
        .pg_pool(pool.clone())
        .concurrency(500)
        .poll_interval(Duration::from_millis(50))
        .complete_job_batch_delay(Duration::from_millis(5))
        .local_queue(LocalQueueConfig::default().with_size(LOCAL_QUEUE))
        .listen_os_shutdown_signals(false)
        .add_extension(begun.clone())
        .define_job::<Nothing>()
        .init()
        .await?;
    let worker = Arc::new(worker);
    let nothing = RawJobSpec {
        identifier: "nothing".into(),
        payload: serde_json::json!({}),
        spec: JobSpec::default(),
    };
    worker.create_utils().add_raw_jobs(&vec![nothing; jobs]).await?;
    settle(pool, "VACUUM ANALYZE graphile_worker._private_jobs").await?;
    let started = Instant::now();
    let running = tokio::spawn({
        let worker = worker.clone();
        async move { worker.run().await }
    });
    begun.all(jobs).await;
    until_none(pool, "SELECT count(*) FROM graphile_worker._private_jobs").await?;
    let seconds = started.elapsed().as_secs_f64();
    worker.request_shutdown();
    running.await??;
    Ok(seconds)
}
