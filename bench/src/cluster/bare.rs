//! Bare SQL: the same claims and ends in the same batches, and nothing else, as fast as PostgreSQL does them.

use std::sync::Arc;

use sqlx::{Connection, PgConnection, Row};
use tokio::sync::{Mutex, mpsc};
use uuid::Uuid;

use crate::process::begin;
use crate::workload::BATCH;

/// Batches that may be claimed and not yet ended.
const UNDER_WAY: usize = 4;

const TABLES: [&str; 4] = [
    "CREATE TABLE bare_live (id uuid PRIMARY KEY, job_id uuid NOT NULL, run_at timestamptz NOT NULL,
        token bigint, worker_id text, started_at timestamptz, expires_at timestamptz)
        WITH (fillfactor = 80)",
    "CREATE INDEX ON bare_live (run_at, id) WHERE token IS NULL",
    "CREATE TABLE bare_past (id uuid NOT NULL, job_id uuid NOT NULL, run_at timestamptz NOT NULL,
        token bigint, worker_id text, started_at timestamptz, finished_at timestamptz NOT NULL,
        status text NOT NULL)",
    "CREATE INDEX ON bare_past (id)",
];

const FILL: &str = "INSERT INTO bare_live (id, job_id, run_at)
    SELECT gen_random_uuid(), gen_random_uuid(), now() FROM generate_series(1, $1)";

const CLAIM: &str = "WITH first AS MATERIALIZED (
        SELECT id FROM bare_live WHERE token IS NULL AND run_at <= now() ORDER BY run_at, id
        LIMIT $1 FOR UPDATE SKIP LOCKED)
    UPDATE bare_live l SET token = 1, worker_id = 'measured', started_at = now(),
        expires_at = now() + interval '30 seconds'
    FROM first WHERE l.id = first.id RETURNING l.id";

const FINISH: &str =
    "WITH over AS (DELETE FROM bare_live WHERE id = ANY ($1) AND token = 1 RETURNING *)
    INSERT INTO bare_past (id, job_id, run_at, token, worker_id, started_at, finished_at, status)
    SELECT id, job_id, run_at, token, worker_id, started_at, now(), 'SUCCESS' FROM over";

/// Makes the tables.
pub(super) async fn prepare(url: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    for statement in TABLES {
        sqlx::query(statement).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}

/// Seconds that it takes to claim and end this many rows, by one who claims and two who end, as in an engine.
pub(super) async fn work_off(url: &str, rows: usize) -> anyhow::Result<f64> {
    let mut claiming = PgConnection::connect(url).await?;
    let ending = [PgConnection::connect(url).await?, PgConnection::connect(url).await?];
    sqlx::query(FILL).bind(i32::try_from(rows)?).execute(&mut claiming).await?;
    sqlx::query("VACUUM ANALYZE bare_live").execute(&mut claiming).await?;
    sqlx::query("CHECKPOINT").execute(&mut claiming).await?;
    let begun = begin();
    let (sender, claimed) = mpsc::channel(UNDER_WAY);
    let claimed = Arc::new(Mutex::new(claimed));
    let finishers = ending.map(|connection| tokio::spawn(finish(connection, claimed.clone())));
    let batch = i64::try_from(BATCH)?;
    loop {
        let rows = sqlx::query(CLAIM).bind(batch).fetch_all(&mut claiming).await?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
        if ids.is_empty() || sender.send(ids).await.is_err() {
            break;
        }
    }
    drop(sender);
    let mut ended = 0;
    for finisher in finishers {
        ended += finisher.await??;
    }
    anyhow::ensure!(ended == rows as u64, "{ended} of {rows} rows ended");
    Ok(begun.elapsed().as_secs_f64())
}

async fn finish(
    mut connection: PgConnection,
    claimed: Arc<Mutex<mpsc::Receiver<Vec<Uuid>>>>,
) -> anyhow::Result<u64> {
    let mut ended = 0;
    loop {
        let Some(ids) = claimed.lock().await.recv().await else {
            return Ok(ended);
        };
        ended += sqlx::query(FINISH).bind(ids).execute(&mut connection).await?.rows_affected();
    }
}
