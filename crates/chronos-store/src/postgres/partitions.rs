//! Partitions: finished executions and decisions are kept by the day, so that old days go at once.

use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::sync::{Mutex, PoisonError};

use chronos_core::Timestamp;
use chronos_core::store::Result;
use rustc_hash::FxHasher;
use sqlx::{AssertSqlSafe, PgConnection};

use super::fault::Outcome;
use super::shared::Shared;

const DAY: i64 = 86_400;
/// The tables that are kept by the day.
pub(super) const TABLES: [&str; 2] = ["job_executions", "audit"];
/// Days that are made before they begin.
const AHEAD: i64 = 2;

/// The days, counted from 1970, whose partitions are known to be there.
#[derive(Default)]
pub(super) struct Partitions(Mutex<BTreeSet<i64>>);

impl Partitions {
    pub(super) fn has(&self, at: Timestamp) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&day_of(at))
    }

    fn learn(&self, days: impl IntoIterator<Item = i64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(days);
    }

    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The key of an advisory lock: PostgreSQL has one space of them for each database.
pub(super) fn lock_key(schema: &str, purpose: &str) -> i64 {
    let mut hasher = FxHasher::default();
    hasher.write(b"chronos");
    hasher.write(schema.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(purpose.as_bytes());
    hasher.finish().cast_signed()
}

pub(super) fn day_of(at: Timestamp) -> i64 {
    at.as_secs().div_euclid(DAY)
}

/// The first instant of a day.
pub(super) fn start_of(day: i64) -> Timestamp {
    Timestamp::from_secs(day.saturating_mul(DAY))
}

/// The name of a day's partition of a table.
pub(super) fn name_of(table: &str, day: i64) -> String {
    format!("{table}_{}", start_of(day).to_datetime().format("%Y%m%d"))
}

impl Shared {
    /// Makes the partitions of a day and of the next ones, unless they are there.
    pub(super) async fn make_partitions(&self, at: Timestamp) -> Result<()> {
        self.partitions.forget();
        let first = day_of(at);
        let days: Vec<i64> = (first..=first + AHEAD).collect();
        let made = async {
            let mut session = self.begin().await?;
            let made = self.in_time(self.make_days(&mut session, &days)).await;
            self.end(session, made).await
        };
        made.await.map_err(|fault| self.noted(fault))?;
        self.partitions.learn(days);
        Ok(())
    }

    async fn make_days(&self, connection: &mut PgConnection, days: &[i64]) -> Outcome<()> {
        let key = lock_key(&self.config.schema, "partitions");
        self.sql.advisory_lock.query().bind(key).execute(&mut *connection).await?;
        let mut words = "SET LOCAL lock_timeout = '3s'".to_owned();
        for day in days {
            for table in TABLES {
                if !self.has_partition(connection, &name_of(table, *day)).await? {
                    words += &make(&self.config.schema, table, *day);
                }
            }
        }
        sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut *connection).await?;
        Ok(())
    }

    async fn has_partition(&self, connection: &mut PgConnection, name: &str) -> Outcome<bool> {
        let name = format!("{}.{name}", self.config.schema);
        let row = self.sql.table_find.query().bind(name).fetch_optional(&mut *connection).await?;
        Ok(row.is_some())
    }
}

/// The statements that make a partition. It is filled in beside its table and attached, which lets others
/// read and write that table meanwhile; made as a part of it at once, it would not.
fn make(schema: &str, table: &str, day: i64) -> String {
    let name = name_of(table, day);
    let (from, to) = (start_of(day), start_of(day + 1));
    format!(
        "; CREATE TABLE {schema}.{name} (LIKE {schema}.{table} INCLUDING DEFAULTS INCLUDING \
         CONSTRAINTS INCLUDING STORAGE); ALTER TABLE {schema}.{table} ATTACH PARTITION \
         {schema}.{name} FOR VALUES FROM ('{from}') TO ('{to}')"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_and_bounded_by_their_midnights() {
        let noon = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        let day = day_of(noon);
        assert_eq!(name_of("audit", day), "audit_20261116");
        assert_eq!(start_of(day).to_string(), "2026-11-16T00:00:00Z");
        assert_eq!(day_of(start_of(day + 1)), day + 1);
        let before = Timestamp::parse("1969-12-31T23:59:59Z").unwrap();
        assert_eq!(day_of(before), -1);
    }

    #[test]
    fn every_purpose_of_every_schema_has_a_lock_of_its_own() {
        let keys = [("a", "bc"), ("ab", "c"), ("a", "audit"), ("b", "audit")];
        let keys: BTreeSet<_> = keys.map(|(schema, purpose)| lock_key(schema, purpose)).into();
        assert_eq!(keys.len(), 4);
    }
}
