//! The verbs that only read.

use std::sync::Arc;

use chronos_core::store::{Error, Result, Stats};
use chronos_core::{Execution, ExecutionId, Job, JobId, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::rows;
use super::shared::Shared;
use super::specs;
use super::values::{AsUuid as _, Fields, limit as rows_up_to, tag, text, uuids};

/// The job in a row.
pub(super) fn job(row: &PgRow) -> Result<Job> {
    let fields = &mut Fields::of(row);
    let standing = rows::standing(fields)?.standing;
    let spec = Arc::new(specs::decode(fields)?);
    Ok(Job { spec, standing })
}

impl Shared {
    pub(super) async fn job(&self, id: JobId) -> Result<Job> {
        let row = self.fetch_optional(self.sql.job_read.query().bind(id.uuid())).await?;
        job(&row.ok_or(Error::NoSuchJob(id))?)
    }

    pub(super) async fn job_named(&self, owner: &str, name: &str) -> Result<Option<Job>> {
        let query = self.sql.job_read_named.query().bind(text(owner)).bind(text(name));
        self.fetch_optional(query).await?.as_ref().map(job).transpose()
    }

    /// Jobs in the order of their ids. One that cannot be read is left out: it must not hide those after
    /// it, and whoever asks for it alone is told.
    pub(super) async fn jobs(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        let mut after = after.map_or(Uuid::nil(), |after| after.uuid());
        let mut jobs = Vec::new();
        while jobs.len() < limit {
            let wanted = limit - jobs.len();
            let query = self.sql.jobs_read.query().bind(after).bind(rows_up_to(wanted));
            let rows = self.fetch_all(query).await?;
            jobs.extend(rows.iter().filter_map(|row| job(row).ok()));
            match rows.last() {
                Some(last) if rows.len() == wanted => after = Fields::of(last).get()?,
                _ => break,
            }
        }
        Ok(jobs)
    }

    pub(super) async fn execution(&self, id: ExecutionId) -> Result<Execution> {
        let query = self.sql.execution_read.query().bind(id.uuid()).bind(tag(id.tag()));
        let row = self.fetch_optional(query).await?;
        rows::execution(&row.ok_or(Error::NoSuchExecution(id))?)
    }

    pub(super) async fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        let query = self.sql.executions_read.query().bind(job.uuid()).bind(tag(job.tag()));
        let query = query.bind(last_before(before)).bind(rows_up_to(limit));
        self.fetch_all(query).await?.iter().map(rows::execution).collect()
    }

    pub(super) async fn live(&self, jobs: &[JobId]) -> Result<Vec<Execution>> {
        let query = self.sql.live_read.query().bind(uuids(jobs));
        self.fetch_all(query).await?.iter().map(rows::live_row).collect()
    }

    pub(super) async fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        let query = self.sql.dead_letters_read.query().bind(last_before(before));
        let rows = self.fetch_all(query.bind(rows_up_to(limit))).await?;
        rows.iter().map(rows::execution).collect()
    }

    pub(super) async fn stats(&self) -> Result<Stats> {
        let query = self.sql.stats.query().bind(&self.config.schema);
        let Some(row) = self.fetch_optional(query).await? else {
            return Ok(Stats::default());
        };
        let fields = &mut Fields::of(&row);
        Ok(Stats {
            jobs: fields.count()?,
            paused: fields.count()?,
            queued: fields.count()?,
            running: fields.count()?,
            bytes: fields.count()?,
        })
    }

    pub(super) async fn ready(&self) -> Result<()> {
        let row = self.fetch_optional(self.sql.ready.query()).await?;
        let writable = row.map(|row| Fields::of(&row).get::<bool>()).transpose()?;
        if writable == Some(true) {
            return Ok(());
        }
        Err(Error::Unavailable("the database only reads, as a standby does".into()))
    }

    /// What the database's clock shows.
    pub(super) async fn database_time(&self) -> Result<Timestamp> {
        let row = self.fetch_optional(self.sql.clock_read.query()).await?;
        let silent = || Error::Unavailable("the database does not tell the time".into());
        Fields::of(&row.ok_or_else(silent)?).time()
    }
}

/// Every id is before the last of all.
fn last_before(before: Option<ExecutionId>) -> Uuid {
    before.map_or(Uuid::max(), |before| before.uuid())
}
