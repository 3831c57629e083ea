//! The verbs about quiet-hours policies and about checkpoints.

use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Hold, Result};
use chronos_core::{JobId, PolicyId, Timestamp};
use sqlx::postgres::PgRow;

use super::shared::{Shared, step};
use super::values::{AsUuid as _, Fields, count};

/// The policy in the first field of a row.
pub(super) fn decode(row: &PgRow) -> Result<QuietHours> {
    let policy: &str = Fields::of(row).get()?;
    serde_json::from_str(policy)
        .map_err(|error| Error::Corrupt(format!("a quiet-hours policy cannot be read: {error}")))
}

impl Shared {
    pub(super) async fn put_policy(&self, policy: &QuietHours) -> Result<()> {
        let json = serde_json::to_string(policy)
            .map_err(|error| Error::Corrupt(format!("cannot write a policy: {error}")))?;
        step!(self, Timestamp::EPOCH, |session, _step| {
            let query = self.sql.policy_put.query().bind(policy.id.uuid()).bind(&json);
            query.execute(&mut **session).await?;
            Ok(())
        })
    }

    pub(super) async fn policies(&self) -> Result<Vec<QuietHours>> {
        let rows = self.fetch_all(self.sql.policies_read.query()).await?;
        rows.iter().map(decode).collect()
    }

    pub(super) async fn delete_policy(&self, policy: PolicyId) -> Result<()> {
        let id = policy.uuid();
        step!(self, Timestamp::EPOCH, |session, _step| {
            let query = self.sql.policy_lock_to_delete.query().bind(id);
            if query.fetch_optional(&mut **session).await?.is_none() {
                return Err(Error::NoSuchPolicy(policy).into());
            }
            let query = self.sql.policy_users.query().bind(id);
            let users = query.fetch_all(&mut **session).await?;
            if !users.is_empty() {
                let names = users.iter().map(|row| Fields::of(row).get::<String>());
                return Err(Error::PolicyInUse(names.collect::<Result<_>>()?).into());
            }
            self.sql.policy_delete.query().bind(id).execute(&mut **session).await?;
            Ok(())
        })
    }

    pub(super) async fn save_checkpoint(&self, hold: &Hold, checkpoint: &[u8]) -> Result<()> {
        let (execution, token) = (hold.execution.uuid(), count(hold.token.0));
        step!(self, Timestamp::EPOCH, |session, _step| {
            let lost = || Error::LeaseLost(hold.execution);
            let query = self.sql.checkpoint_lock.query().bind(execution).bind(token);
            let row = query.fetch_optional(&mut **session).await?.ok_or_else(lost)?;
            let fields = &mut Fields::of(&row);
            let (job, deleted): (JobId, bool) = (fields.id()?, fields.get()?);
            // Whoever was waited for may have ended the execution.
            let query = self.sql.hold_check.query().bind(execution).bind(token);
            query.fetch_optional(&mut **session).await?.ok_or_else(lost)?;
            if deleted {
                return Err(Error::NoSuchJob(job).into());
            }
            let query = self.sql.checkpoint_put.query().bind(job.uuid()).bind(checkpoint);
            query.execute(&mut **session).await?;
            Ok(())
        })
    }

    pub(super) async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        let row = self.fetch_optional(self.sql.checkpoint_read.query().bind(job.uuid())).await?;
        row.map(|row| Fields::of(&row).get()).transpose()
    }
}
