//! Values on their way into the database and out of it.

use std::borrow::Cow;
use std::time::Duration;

use chronos_core::execution::{CancelCause, SkipReason, Token};
use chronos_core::policy::Rank;
use chronos_core::store::{Error, Result};
use chronos_core::{
    BackfillId, ExecutionId, JobId, KeyId, PolicyId, SessionId, SubscriptionId, Timestamp, UserId,
    WorkerId,
};
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;
use sqlx::types::chrono::{DateTime, Utc};
use sqlx::{Decode, Postgres, Row, Type};

/// Something that is kept as a UUID.
pub(super) trait AsUuid {
    fn uuid(&self) -> Uuid;
    fn of(uuid: Uuid) -> Self;
}

macro_rules! as_uuid {
    ($($id:ty),*) => {
        $(impl AsUuid for $id {
            fn uuid(&self) -> Uuid {
                Uuid::from_bytes(*self.as_bytes())
            }

            fn of(uuid: Uuid) -> Self {
                Self::from_bytes(uuid.into_bytes())
            }
        })*
    };
}
as_uuid!(BackfillId, JobId, ExecutionId, PolicyId, UserId, SessionId, KeyId, SubscriptionId);

pub(super) fn uuids<'a, I: AsUuid + 'a>(ids: impl IntoIterator<Item = &'a I>) -> Vec<Uuid> {
    ids.into_iter().map(AsUuid::uuid).collect()
}

/// The last bytes of an id, as they are indexed.
pub(super) fn tag(tag: [u8; 4]) -> i32 {
    i32::from_be_bytes(tag)
}

pub(super) fn time(at: Timestamp) -> DateTime<Utc> {
    at.to_datetime()
}

/// PostgreSQL's text holds every character but one.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Bytes as a word of a statement.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let mut word = String::with_capacity(bytes.len() * 2 + 4);
    word.push_str("'\\x");
    for byte in bytes {
        word.push(DIGITS[usize::from(byte >> 4)].into());
        word.push(DIGITS[usize::from(byte & 15)].into());
    }
    word.push('\'');
    word
}

/// A count as the database holds it; no count comes near the bound.
pub(super) fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A small count as the database holds it.
pub(super) fn small(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// How many rows a statement may give back.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Milliseconds with a fraction: what people read, exact to the microsecond for seventy years.
/// Whole microseconds; three centuries of them are for ever.
pub(super) fn micros(duration: Duration) -> i64 {
    const FOR_EVER: u128 = 10_000_000_000_000_000;
    i64::try_from(duration.as_micros().min(FOR_EVER)).unwrap_or(0)
}

pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and no duration is negative"
)]
pub(super) fn from_millis(millis: f64) -> Duration {
    Duration::from_micros((millis * 1_000.0).round() as u64)
}

pub(super) fn cause_name(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::User => "user",
        CancelCause::Replaced => "replaced",
        CancelCause::JobDeleted => "job_deleted",
        CancelCause::Shutdown => "shutdown",
    }
}

pub(super) fn cause_named(name: &str) -> Result<CancelCause> {
    match name {
        "user" => Ok(CancelCause::User),
        "replaced" => Ok(CancelCause::Replaced),
        "job_deleted" => Ok(CancelCause::JobDeleted),
        "shutdown" => Ok(CancelCause::Shutdown),
        _ => Err(Error::Corrupt(format!("\"{name}\" is no cause of a cancellation"))),
    }
}

/// The reason's name, and what the job said if the reason is its own, or whoever paused it.
pub(super) fn reason_name(reason: &SkipReason) -> (&'static str, Option<&str>) {
    match reason {
        SkipReason::Overlap => ("overlap", None),
        SkipReason::Paused(note) => ("paused", note.as_deref()),
        SkipReason::QuietHours => ("quiet_hours", None),
        SkipReason::Missed => ("missed", None),
        SkipReason::Superseded => ("superseded", None),
        SkipReason::ByJob(note) => ("by_job", Some(note)),
    }
}

pub(super) fn reason_named(name: &str, note: Option<&str>) -> Result<SkipReason> {
    match name {
        "overlap" => Ok(SkipReason::Overlap),
        "paused" => Ok(SkipReason::Paused(note.map(Into::into))),
        "quiet_hours" => Ok(SkipReason::QuietHours),
        "missed" => Ok(SkipReason::Missed),
        "superseded" => Ok(SkipReason::Superseded),
        "by_job" => Ok(SkipReason::ByJob(note.unwrap_or_default().into())),
        _ => Err(Error::Corrupt(format!("\"{name}\" is no reason to skip a slot"))),
    }
}

/// The fields of a row, read from left to right.
pub(super) struct Fields<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Fields<'r> {
    pub(super) fn of(row: &'r PgRow) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T> {
        let place = self.next;
        self.next += 1;
        self.row.try_get(place).map_err(|error| Error::Corrupt(format!("a row: {error}")))
    }

    pub(super) fn id<I: AsUuid>(&mut self) -> Result<I> {
        self.get().map(I::of)
    }

    pub(super) fn time(&mut self) -> Result<Timestamp> {
        self.get::<DateTime<Utc>>().map(Timestamp::from)
    }

    pub(super) fn maybe_time(&mut self) -> Result<Option<Timestamp>> {
        let time: Option<DateTime<Utc>> = self.get()?;
        Ok(time.map(Timestamp::from))
    }

    pub(super) fn count(&mut self) -> Result<u64> {
        self.get::<i64>().map(|count| u64::try_from(count).unwrap_or(0))
    }

    pub(super) fn small(&mut self) -> Result<u32> {
        self.get::<i32>().map(|count| u32::try_from(count).unwrap_or(0))
    }

    pub(super) fn rank(&mut self) -> Result<Rank> {
        let number = self.get::<i16>()?;
        let rank = u8::try_from(number).ok().and_then(Rank::numbered);
        rank.ok_or_else(|| Error::Corrupt(format!("a row: {number} is no rank")))
    }

    pub(super) fn token(&mut self) -> Result<Option<Token>> {
        let token: Option<i64> = self.get()?;
        Ok(token.map(|token| Token(token.unsigned_abs())))
    }

    pub(super) fn worker(&mut self) -> Result<Option<WorkerId>> {
        let worker: Option<&str> = self.get()?;
        Ok(worker.map(WorkerId::new))
    }
}
