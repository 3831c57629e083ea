//! Copying: rows as the database takes them in bulk, which costs it less than any statement.

use chronos_core::execution::Trigger;
use chronos_core::store::{Error, Result};
use chronos_core::{Execution, Timestamp};
use sqlx::PgConnection;

use super::columns::trigger_name;
use super::fault::Outcome;
use super::values::{count, small, text};

/// The columns that every execution has, in the order in which rows have them.
pub(super) const HEAD: [&str; 13] = [
    "id",
    "job_id",
    "scheduled_for",
    "run_at",
    "trigger",
    "manual_number",
    "notice",
    "attempt",
    "retry_number",
    "lost",
    "priority",
    "trace_id",
    "overdue_at",
];

/// What stands before the first row and behind the last.
const BEGINNING: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: [u8; 2] = (-1_i16).to_be_bytes();

/// Microseconds from 1970 to 2000, where PostgreSQL begins to count.
const TO_2000: i64 = 946_684_800_000_000;

/// The words that begin to copy executions into a table, with these columns behind those that every one has.
pub(super) fn words(schema: &str, table: &str, rest: &[&str]) -> String {
    let columns = [&HEAD, rest].concat().join(", ");
    format!("COPY {schema}.{table} ({columns}) FROM STDIN (FORMAT binary)")
}

/// Rows of a table that are to be copied into it.
pub(super) struct Rows {
    bytes: Vec<u8>,
    columns: u16,
    count: usize,
}

impl Rows {
    /// No rows yet, of which each has so many columns behind those that every execution has.
    pub(super) fn new(rest: usize) -> Self {
        let columns = u16::try_from(HEAD.len() + rest).unwrap_or(u16::MAX);
        Self { bytes: BEGINNING.to_vec(), columns, count: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Copies the rows with these words.
    pub(super) async fn copy(mut self, connection: &mut PgConnection, words: &str) -> Outcome<()> {
        self.bytes.extend(END);
        let mut copy = connection.copy_in_raw(words).await?;
        copy.send(self.bytes).await?;
        copy.finish().await?;
        Ok(())
    }

    /// Begins a row with what every execution has.
    pub(super) fn begin(&mut self, execution: &Execution) -> Result<()> {
        let (number, notice) = match &execution.trigger {
            Trigger::Schedule | Trigger::CatchUp => (None, None),
            Trigger::Manual { number } | Trigger::Backfill { number, .. } => {
                (Some(count(*number)), None)
            }
            Trigger::Notice(notice) => (None, Some(serde_json::to_string(notice))),
        };
        let notice = notice.transpose();
        let notice =
            notice.map_err(|error| Error::Corrupt(format!("cannot write a notice: {error}")))?;
        self.count += 1;
        self.bytes.extend(self.columns.to_be_bytes());
        self.field(execution.id.as_bytes());
        self.field(execution.job.as_bytes());
        self.time(execution.slot);
        self.time(execution.run_at);
        self.text(trigger_name(&execution.trigger));
        self.maybe(number, Self::number);
        self.maybe(notice.as_deref(), Self::text);
        for number in [execution.attempt, execution.retry, execution.lost] {
            self.field(&small(number).to_be_bytes());
        }
        self.field(&i16::from(execution.rank.number()).to_be_bytes());
        self.maybe(execution.trace.as_ref(), |rows, trace| rows.field(trace.as_bytes()));
        self.maybe(execution.overdue_at, Self::time);
        Ok(())
    }

    pub(super) fn field(&mut self, value: &[u8]) {
        let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(value);
    }

    pub(super) fn maybe<T>(&mut self, value: Option<T>, push: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => push(self, value),
            None => self.bytes.extend((-1_i32).to_be_bytes()),
        }
    }

    pub(super) fn text(&mut self, value: &str) {
        self.field(text(value).as_bytes());
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.field(&[u8::from(flag)]);
    }

    pub(super) fn number(&mut self, number: i64) {
        self.field(&number.to_be_bytes());
    }

    pub(super) fn real(&mut self, number: f64) {
        self.field(&number.to_be_bytes());
    }

    pub(super) fn time(&mut self, at: Timestamp) {
        self.number(at.as_micros().saturating_sub(TO_2000));
    }
}
