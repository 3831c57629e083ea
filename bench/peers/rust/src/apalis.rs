//! apalis-postgres: large batches, runs beside each other, no second mark on what is fetched.

use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_postgres::{Config, PostgresStorage};
use sqlx::PgPool;

use super::{Begun, settle, until_none};

const BATCH: usize = 1_000;

async fn nothing(_: usize, begun: Data<Begun>) -> Result<(), BoxDynError> {
    begun.note();
    Ok(())
}

pub(crate) async fn round(pool: &PgPool, jobs: usize) -> anyhow::Result<f64> {
    PostgresStorage::setup(pool).await?;
    let config = Config::default().queue("nothing").batch_size(BATCH).lock_tasks(false);
    let mut backend = PostgresStorage::new(pool).with_config(config);
    for first in (0..jobs).step_by(BATCH) {
        backend.push_bulk((first..jobs.min(first + BATCH)).collect()).await?;
    }
    settle(pool, "VACUUM ANALYZE apalis.jobs").await?;
    let begun = Begun::default();
    let started = Instant::now();
    let worker = WorkerBuilder::new("measured")
        .backend(backend)
        .data(begun.clone())
        .parallelize(tokio::spawn)
        .build(nothing);
    let running = tokio::spawn(worker.run());
    begun.all(jobs).await;
    until_none(pool, "SELECT count(*) FROM apalis.jobs WHERE status <> 'Done'").await?;
    let seconds = started.elapsed().as_secs_f64();
    running.abort();
    // The next round is by a worker of the same name, which must be gone for as long as one may be silent.
    drop(running.await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(seconds)
}
