//! Works off no-op jobs by a peer as often as asked, and tells the seconds that each round took.
//!
//! `chronos-bench-peers graphile|apalis throughput URL JOBS ROUNDS`

mod apalis;
mod graphile;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [peer, _, url, jobs, rounds] = &arguments[..] else {
        bail!("use graphile|apalis throughput URL JOBS ROUNDS");
    };
    let (jobs, rounds): (usize, usize) = (jobs.parse()?, rounds.parse()?);
    let pool = PgPoolOptions::new().max_connections(10).connect(url).await?;
    for _ in 0..rounds {
        let seconds = match peer.as_str() {
            "graphile" => graphile::round(&pool, jobs).await?,
            "apalis" => apalis::round(&pool, jobs).await?,
            other => bail!("unknown peer \"{other}\""),
        };
        println!("{seconds}");
    }
    Ok(())
}

/// Runs that have begun.
#[derive(Clone, Debug, Default)]
struct Begun(Arc<AtomicUsize>);

impl Begun {
    fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    async fn all(&self, jobs: usize) {
        while self.0.load(Ordering::Relaxed) < jobs {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Has the server begin a round with clean tables and nothing left to write.
async fn settle(pool: &PgPool, vacuum: &'static str) -> anyhow::Result<()> {
    sqlx::query(vacuum).execute(pool).await?;
    sqlx::query("CHECKPOINT").execute(pool).await?;
    Ok(())
}

/// Waits until this query counts nothing, once every run has begun.
async fn until_none(pool: &PgPool, count: &'static str) -> anyhow::Result<()> {
    for _ in 0..15_000 {
        if sqlx::query_scalar::<_, i64>(count).fetch_one(pool).await? == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    None.context("jobs did not end within 30 s")
}
