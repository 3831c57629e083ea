//! Pruning: days of finished executions and decisions go at once, with their partitions.

use chronos_core::store::{Error, Prune, Pruned, Records, Result};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::fault::{Fault, Outcome};
use super::partitions::{day_of, name_of};
use super::shared::Shared;
use super::values::Fields;

impl Shared {
    /// Forgets the oldest day that is to go, after the one where a step before it ended.
    pub(super) async fn prune(&self, prune: Prune, from: Option<&[u8]>) -> Result<Pruned> {
        let pruning = async {
            let (table, count) = match prune.records {
                Records::Executions => ("job_executions", "count(*)"),
                Records::Decisions => ("audit", "coalesce(sum(last - first + 1), 0)::bigint"),
            };
            let mut days = self.days_to_prune(table, &prune, from).await?.into_iter();
            let Some(day) = days.next() else {
                return Ok(Pruned::default());
            };
            // Of its own, because it may take longer than any statement of a verb may.
            let mut connection = PgConnection::connect_with(&self.options).await?;
            let pruned = self.prune_day(&mut connection, &day, count, prune.rehearsal).await;
            connection.close().await.ok();
            let next = days.next().map(|_| day.into_bytes().into_boxed_slice());
            Ok(Pruned { count: pruned?, next })
        };
        pruning.await.map_err(|fault: Fault| self.noted(fault))
    }

    /// The partitions of days that are over their time, oldest first, after a given one.
    async fn days_to_prune(
        &self,
        table: &str,
        prune: &Prune,
        from: Option<&[u8]>,
    ) -> Outcome<Vec<String>> {
        // Names of days sort as days do.
        let oldest_kept = name_of(table, day_of(prune.cutoff()));
        // The next decisions are numbered from the newest, whatever their age.
        let newest = self.newest_audit_partition().await?;
        let query = self.sql.partitions_read.query();
        let rows = self.fetch_all(query.bind(format!("{}.{table}", self.config.schema))).await?;
        let mut days = Vec::new();
        for row in rows {
            let name: String = Fields::of(&row).get()?;
            let is_new = from.is_none_or(|from| name.as_bytes() > from);
            if is_new && name < oldest_kept && Some(&name) != newest.as_ref() {
                days.push(name);
            }
        }
        Ok(days)
    }

    async fn prune_day(
        &self,
        connection: &mut PgConnection,
        day: &str,
        count: &str,
        rehearsal: bool,
    ) -> Outcome<u64> {
        let schema = &self.config.schema;
        let words = format!("SELECT {count} FROM {schema}.{day}");
        let counted: i64 =
            sqlx::query_scalar(AssertSqlSafe(words)).fetch_one(&mut *connection).await?;
        if !rehearsal {
            self.partitions.forget();
            // Whoever reads the table now is not waited for long; the next run tries again.
            let words =
                format!("BEGIN; SET LOCAL lock_timeout = '3s'; DROP TABLE {schema}.{day}; COMMIT");
            let dropped = sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut *connection).await;
            match dropped.map_err(Fault::from) {
                Err(Fault::Again(text)) => return Err(Error::Unavailable(text).into()),
                dropped => dropped.map(drop)?,
            }
        }
        Ok(counted.unsigned_abs())
    }
}
