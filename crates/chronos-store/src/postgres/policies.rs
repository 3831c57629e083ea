//! The verbs about quiet-hours policies and about checkpoints.

use std::sync::Arc;

use chronos_core::account::Act;
use chronos_core::audit::Decision;
use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Hold, Observer, Observers, Result};
use chronos_core::{JobId, PolicyId, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::jobs::refused;
use super::shared::{Shared, step};
use super::statements::Bound;
use super::values::{AsUuid as _, Fields, count, limit as rows_up_to, text, uuids};

/// The policy in the first field of a row.
pub(super) fn decode(row: &PgRow) -> Result<QuietHours> {
    let policy: &str = Fields::of(row).get()?;
    serde_json::from_str(policy)
        .map_err(|error| Error::Corrupt(format!("a quiet-hours policy cannot be read: {error}")))
}

/// Binds a policy to the statements that write it.
fn bind(query: Bound, policy: &QuietHours) -> Result<Bound> {
    let json = serde_json::to_string(policy)
        .map_err(|error| Error::Corrupt(format!("cannot write a policy: {error}")))?;
    let name = text(&policy.name).into_owned();
    Ok(query.bind(policy.id.uuid()).bind(name).bind(json))
}

fn name_taken(policy: &QuietHours) -> Error {
    Error::PolicyNameTaken(policy.name.to_string())
}

fn observer(row: &PgRow) -> Result<Observer> {
    let fields = &mut Fields::of(row);
    let (id, owner, name): (_, &str, &str) = (fields.id()?, fields.get()?, fields.get()?);
    Ok(Observer { id, owner: owner.into(), name: name.into() })
}

impl Shared {
    pub(super) async fn create_policy(&self, policy: &QuietHours, act: Act) -> Result<()> {
        policy.validate()?;
        step!(self, act, |session, step| {
            let row = self.sql.policies_count.query().fetch_one(&mut **session).await?;
            if Fields::of(&row).count()? >= QuietHours::MOST as u64 {
                return Err(Error::TooManyPolicies(QuietHours::MOST).into());
            }
            let query = bind(self.sql.policy_insert.query(), policy)?;
            let written = query.execute(&mut **session).await;
            written.map_err(|error| refused(error, name_taken(policy)))?;
            let (id, name) = (policy.id, Arc::from(&*policy.name));
            let created = Decision::PolicyCreated { policy: id, name };
            step.note(&policy.owner, None, None, created);
            Ok(())
        })
    }

    pub(super) async fn edit_policy(
        &self,
        edit: QuietHours,
        expected: Option<u64>,
        act: Act,
    ) -> Result<QuietHours> {
        edit.validate()?;
        step!(self, act, |session, step| {
            let query = self.sql.policy_lock_to_edit.query().bind(edit.id.uuid());
            let row = query.fetch_optional(&mut **session).await?;
            let before = decode(&row.ok_or(Error::NoSuchPolicy(edit.id))?)?;
            let current = before.version;
            if let Some(expected) = expected.filter(|expected| *expected != current) {
                let name = before.name.into();
                return Err(Error::PolicyConflict { name, expected, current }.into());
            }
            let edited = before.edited(edit.clone(), act.at);
            let query = bind(self.sql.policy_update.query(), &edited)?;
            let written = query.execute(&mut **session).await;
            written.map_err(|error| refused(error, name_taken(&edited)))?;
            let (policy, name) = (edited.id, Arc::from(&*edited.name));
            let updated = Decision::PolicyUpdated { policy, name, version: edited.version };
            step.note(&edited.owner, None, None, updated);
            Ok(edited)
        })
    }

    pub(super) async fn policy(&self, id: PolicyId) -> Result<QuietHours> {
        let query = self.sql.policies_find.query().bind(uuids(&[id]));
        let row = self.fetch_optional(query).await?;
        decode(&row.ok_or(Error::NoSuchPolicy(id))?)
    }

    pub(super) async fn policies(
        &self,
        after: Option<PolicyId>,
        limit: usize,
    ) -> Result<Vec<QuietHours>> {
        let after = after.map_or(Uuid::nil(), |after| after.uuid());
        let query = self.sql.policies_read.query().bind(after).bind(rows_up_to(limit));
        let rows = self.fetch_all(query).await?;
        // One that cannot be read must not hide those after it.
        Ok(rows.iter().filter_map(|row| decode(row).ok()).collect())
    }

    pub(super) async fn delete_policy(&self, policy: PolicyId, act: Act) -> Result<()> {
        let id = policy.uuid();
        step!(self, act, |session, step| {
            let query = self.sql.policy_lock_to_delete.query().bind(id);
            let Some(row) = query.fetch_optional(&mut **session).await? else {
                return Err(Error::NoSuchPolicy(policy).into());
            };
            // One that cannot be read can still be deleted.
            let known = decode(&row).ok();
            let row = self.sql.observers_count.query().bind(id).fetch_one(&mut **session).await?;
            let count = Fields::of(&row).count()?;
            if count > 0 {
                let query = self.sql.observers_read.query().bind(id);
                let query = query.bind(rows_up_to(Observers::TOLD));
                let rows = query.fetch_all(&mut **session).await?;
                let first: Result<_> = rows.iter().map(observer).collect();
                return Err(Error::PolicyInUse(Box::new(Observers { count, first: first? })).into());
            }
            self.sql.policy_delete.query().bind(id).execute(&mut **session).await?;
            let (owner, name) =
                known.as_ref().map_or(("", ""), |known| (&known.owner, &known.name));
            let deleted = Decision::PolicyDeleted { policy, name: name.into() };
            step.note(owner, None, None, deleted);
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
