//! Compacting: days that are over their time are dropped, days to come are made, tables are vacuumed.

use std::ops::ControlFlow;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::store::{Compacted, CompactionHook, CompactionProgress, Error, Result};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::fault::{Fault, Outcome};
use super::partitions::{TABLES, day_of, name_of};
use super::shared::Shared;
use super::values::{Fields, time};

/// The tables whose rows change all the time.
const HOT: [&str; 4] = ["live_executions", "job_standings", "job_specs", "checkpoints"];

/// A worker that was not seen for this long is forgotten.
const GONE: Duration = Duration::from_hours(24);

/// One thing to do.
enum Unit {
    /// Makes the partitions of the days to come.
    Make,
    /// Forgets workers that have been gone for long.
    Forget,
    /// Drops a partition whose time is over.
    Drop(String),
    /// Gives the space of dead rows back to the table.
    Vacuum(&'static str),
}

impl Shared {
    pub(super) async fn compact(&self, hook: CompactionHook) -> Result<Compacted> {
        let compacting = async {
            // Of its own, because a vacuum may take longer than any statement of a verb may.
            let mut connection = PgConnection::connect_with(&self.options).await?;
            if !self.config.pooler {
                sqlx::raw_sql("SET statement_timeout = 0").execute(&mut connection).await?;
            }
            let compacted = self.compact_on(&mut connection, &hook).await;
            connection.close().await.ok();
            compacted
        };
        compacting.await.map_err(|fault| self.noted(fault))
    }

    async fn compact_on(
        &self,
        connection: &mut PgConnection,
        hook: &CompactionHook,
    ) -> Outcome<Compacted> {
        let now = self.database_time().await?;
        let mut units = vec![Unit::Make, Unit::Forget];
        units.extend(self.expired(now).await?.into_iter().map(Unit::Drop));
        units.extend(HOT.map(Unit::Vacuum));
        let mut compacted = Compacted { units: units.len(), ..Compacted::default() };
        for (unit, number) in units.iter().zip(1..) {
            let bytes = self.size_of(unit).await?;
            let progress = CompactionProgress { unit: number, units: units.len(), bytes };
            if hook(progress) == ControlFlow::Break(()) {
                break;
            }
            self.perform(connection, unit, now).await?;
            compacted.done += 1;
            compacted.bytes_before += bytes;
            compacted.bytes_after += self.size_of(unit).await?;
        }
        Ok(compacted)
    }

    /// The partitions that hold nothing but what is older than it is to be kept. The newest decisions stay
    /// whatever their age: the next ones are numbered from them.
    async fn expired(&self, now: Timestamp) -> Outcome<Vec<String>> {
        let Some(keep) = self.config.keep_history else {
            return Ok(Vec::new());
        };
        let mut expired = Vec::new();
        for table in TABLES {
            // Names of days sort as days do.
            let oldest_kept = name_of(table, day_of(now.before(keep)));
            let newest = self.newest_audit_partition().await?;
            let parent = format!("{}.{table}", self.config.schema);
            let query = self.sql.partitions_read.query().bind(parent);
            for row in self.fetch_all(query).await? {
                let name: String = Fields::of(&row).get()?;
                if name < oldest_kept && Some(&name) != newest.as_ref() {
                    expired.push(name);
                }
            }
        }
        Ok(expired)
    }

    pub(super) async fn newest_audit_partition(&self) -> Outcome<Option<String>> {
        let query = self.sql.audit_newest.query().bind(time(Timestamp::MIN));
        let newest = self.fetch_optional(query).await?;
        let Some(row) = newest else {
            return Ok(None);
        };
        let fields = &mut Fields::of(&row);
        fields.count()?;
        Ok(Some(name_of("audit", day_of(fields.time()?))))
    }

    async fn perform(
        &self,
        connection: &mut PgConnection,
        unit: &Unit,
        now: Timestamp,
    ) -> Outcome<()> {
        let schema = &self.config.schema;
        let words = match unit {
            Unit::Make => return Ok(self.make_partitions(now).await?),
            Unit::Forget => {
                let query = self.sql.workers_forget.query().bind(time(now.before(GONE)));
                self.fetch_all(query).await?;
                return Ok(());
            }
            // Whoever reads the table now is not waited for long; the next compaction tries again.
            Unit::Drop(name) => {
                self.partitions.forget();
                format!("BEGIN; SET LOCAL lock_timeout = '3s'; DROP TABLE {schema}.{name}; COMMIT")
            }
            Unit::Vacuum(table) => format!("VACUUM {schema}.{table}"),
        };
        let done = sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut *connection).await;
        match done.map_err(Fault::from) {
            Err(Fault::Again(text)) => Err(Error::Unavailable(text).into()),
            done => done.map(drop),
        }
    }

    async fn size_of(&self, unit: &Unit) -> Outcome<u64> {
        let table = match unit {
            Unit::Make | Unit::Forget => return Ok(0),
            Unit::Drop(name) => name,
            Unit::Vacuum(table) => *table,
        };
        let query = self.sql.table_size.query().bind(format!("{}.{table}", self.config.schema));
        let row = self.fetch_optional(query).await?;
        Ok(row.map(|row| Fields::of(&row).count()).transpose()?.unwrap_or(0))
    }
}
