//! Migrations: the schema goes forward, one numbered file after the other, each whole or not at all.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use super::OpenError;
use super::partitions::lock_key;
use super::statements::in_schema;

/// The files, never edited once released, numbered from 1.
const MIGRATIONS: [&str; 8] = [
    include_str!("migrations/0001_jobs_and_executions.sql"),
    include_str!("migrations/0002_account_events.sql"),
    include_str!("migrations/0003_quiet_hours_and_pauses.sql"),
    include_str!("migrations/0004_message_events.sql"),
    include_str!("migrations/0005_crowd.sql"),
    include_str!("migrations/0006_audit_digests.sql"),
    include_str!("migrations/0007_subscriptions.sql"),
    include_str!("migrations/0008_backfills.sql"),
];

/// The version of the schema once every migration is applied.
pub const SCHEMA_VERSION: usize = MIGRATIONS.len();

/// Tables that others use are waited for this long, and then tried again: a queue behind a lock that
/// waits stands still.
const LOCK_TIMEOUT: &str = "3s";

const TRIES: u32 = 20;
/// Those who queued up behind the migration go first.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Whether a table was in use for longer than a migration waits.
fn is_busy(error: &OpenError) -> bool {
    let (OpenError::Database(error) | OpenError::Migration { error, .. }) = error else {
        return false;
    };
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("55P03")
}

/// Brings the schema up to date; says how many migrations that took. Whoever comes second waits for the
/// first and finds nothing left to do.
pub(super) async fn migrate(options: &PgConnectOptions, schema: &str) -> Result<usize, OpenError> {
    let mut connection = PgConnection::connect_with(options).await.map_err(OpenError::Database)?;
    let outcome = migrate_on(&mut connection, schema).await;
    connection.close().await.ok();
    outcome
}

async fn migrate_on(connection: &mut PgConnection, schema: &str) -> Result<usize, OpenError> {
    let (mut done, mut refused) = (0, 0);
    // Most starts find everything in place, and need no lock to see it.
    while version(connection, schema).await? < MIGRATIONS.len() {
        match next(connection, schema).await {
            Ok(true) => done += 1,
            Ok(false) => {}
            Err(error) if is_busy(&error) && refused < TRIES => {
                refused += 1;
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Applies the next migration; says whether there was one to apply.
async fn next(connection: &mut PgConnection, schema: &str) -> Result<bool, OpenError> {
    let failed = OpenError::Database;
    let mut step = connection.begin().await.map_err(failed)?;
    // Another migration is waited for, however long it takes.
    let patient = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0";
    sqlx::raw_sql(patient).execute(&mut *step).await.map_err(failed)?;
    // Schemas of one database are migrated one after the other, too: making one twice at once fails.
    let lock = format!("SELECT pg_advisory_xact_lock({})", lock_key("", "migrations"));
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *step).await.map_err(failed)?;
    let prepare = format!(
        "SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; \
         CREATE SCHEMA IF NOT EXISTS {schema}; \
         CREATE TABLE IF NOT EXISTS {schema}.schema_migrations \
         (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    );
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *step).await.map_err(failed)?;
    let version = version(&mut step, schema).await?;
    let Some(migration) = MIGRATIONS.get(version) else {
        step.commit().await.map_err(failed)?;
        return Ok(false);
    };
    let text = in_schema(migration, schema);
    let number = version + 1;
    sqlx::raw_sql(AssertSqlSafe(text))
        .execute(&mut *step)
        .await
        .map_err(|error| OpenError::Migration { number, error })?;
    let record = format!("INSERT INTO {schema}.schema_migrations (version) VALUES ({number})");
    sqlx::raw_sql(AssertSqlSafe(record)).execute(&mut *step).await.map_err(failed)?;
    step.commit().await.map_err(failed)?;
    Ok(true)
}

/// The number of the newest migration that was applied; an error when this program does not know it.
async fn version(connection: &mut PgConnection, schema: &str) -> Result<usize, OpenError> {
    let table = format!("{schema}.schema_migrations");
    // In one message each: a pooler may send the next one to another server session.
    let there = format!("SELECT 1 WHERE to_regclass('{table}') IS NOT NULL");
    let there = sqlx::raw_sql(AssertSqlSafe(there)).fetch_optional(&mut *connection).await;
    if there.map_err(OpenError::Database)?.is_none() {
        return Ok(0);
    }
    let newest = format!("SELECT coalesce(max(version), 0) FROM {table}");
    let newest = sqlx::raw_sql(AssertSqlSafe(newest)).fetch_one(&mut *connection).await;
    let newest: i32 = newest.map_err(OpenError::Database)?.get(0);
    let (found, known) = (usize::try_from(newest).unwrap_or(0), MIGRATIONS.len());
    if found > known {
        return Err(OpenError::SchemaTooNew { schema: schema.into(), found, known });
    }
    Ok(found)
}
