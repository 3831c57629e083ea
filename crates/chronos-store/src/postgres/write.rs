//! Writing: what a step changed goes out in a few statements, whatever the size of the batch.

use std::sync::PoisonError;

use chronos_core::Timestamp;
use chronos_core::audit::AuditEvent;
use chronos_core::execution::Token;
use sqlx::PgConnection;

use super::columns::{LiveColumns, PastColumns, StandingColumns};
use super::fault::{Fault, Outcome};
use super::partitions::lock_key;
use super::rows::{self, StandingRow};
use super::shared::Shared;
use super::step::{Desk, Step};
use super::values::{AsUuid as _, Fields, count, time, uuids};
use crate::embedded::record;

impl Shared {
    /// Writes what the step changed, and numbers its decisions last.
    pub(super) async fn write(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        let files = !step.past.is_empty() || !step.events.is_empty();
        if files && !self.partitions.has(step.now) {
            return Err(Fault::NoPartition);
        }
        self.write_live(connection, step).await?;
        self.write_standings(connection, step).await?;
        self.write_past(connection, step).await?;
        self.write_events(connection, step).await
    }

    async fn write_live(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        if !step.gone.is_empty() {
            let query = self.sql.live_delete.query().bind(uuids(&step.gone));
            query.execute(&mut *connection).await?;
        }
        let (added, changed) = step.written();
        let columns = |executions| {
            let mut columns = LiveColumns::default();
            for execution in executions {
                columns.push(execution);
            }
            columns
        };
        let (added, changed) = (columns(added), columns(changed));
        if !changed.is_empty() {
            let query = changed.bind_changes(self.sql.live_update.query());
            query.execute(&mut *connection).await?;
        }
        if !added.is_empty() {
            let query = added.bind_all(self.sql.live_insert.query());
            query.execute(&mut *connection).await?;
        }
        Ok(())
    }

    async fn write_standings(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        let changed = step.desks.values().filter(|desk| desk.changed);
        let is_over = |desk: &&Desk| desk.row.deleted && desk.live.is_empty();
        let (over, changed): (Vec<&Desk>, Vec<&Desk>) = changed.partition(is_over);
        if !over.is_empty() {
            let over: Vec<_> = over.iter().map(|desk| desk.row.id.uuid()).collect();
            self.sql.standings_delete.query().bind(over).execute(&mut *connection).await?;
        }
        let mut columns = StandingColumns::default();
        for desk in changed {
            columns.push(desk);
        }
        if !columns.is_empty() {
            let query = columns.bind(self.sql.standings_update.query());
            query.execute(&mut *connection).await?;
        }
        Ok(())
    }

    async fn write_past(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        if step.past.is_empty() {
            return Ok(());
        }
        let mut columns = PastColumns::default();
        for (execution, dead_letter) in &step.past {
            columns.push(execution, *dead_letter)?;
        }
        let query = columns.bind(self.sql.past_insert.query().bind(time(step.now)));
        query.execute(&mut *connection).await?;
        Ok(())
    }

    /// Numbers the decisions from the newest on file. Whoever numbers holds a lock until its commit, so
    /// numbers appear in their order, and a reader that follows them never passes one by.
    async fn write_events(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        if step.events.is_empty() {
            return Ok(());
        }
        let lock = lock_key(&self.config.schema, "audit");
        self.sql.advisory_lock.query().bind(lock).execute(&mut *connection).await?;
        let (newest, filed_at) = self.newest_filing(connection).await?;
        let mut events = Vec::with_capacity(step.events.len());
        for ((job, decision), sequence) in step.events.iter().zip(newest + 1..) {
            let (job, decision) = (*job, decision.clone());
            events.push(AuditEvent { sequence, at: step.now, job, decision });
        }
        let last = newest + events.len() as u64;
        let query = self.sql.audit_insert.query().bind(time(step.now.max(filed_at)));
        let query =
            query.bind(count(newest + 1)).bind(count(last)).bind(&*record::encode(&events)?);
        query.execute(&mut *connection).await?;
        Ok(())
    }

    /// The number of the newest decision, and when it was filed.
    async fn newest_filing(&self, connection: &mut PgConnection) -> Outcome<(u64, Timestamp)> {
        let known = *self.newest_filing.lock().unwrap_or_else(PoisonError::into_inner);
        for from in [known, Timestamp::MIN] {
            let query = self.sql.audit_newest.query().bind(time(from));
            if let Some(row) = query.fetch_optional(&mut *connection).await? {
                let fields = &mut Fields::of(&row);
                let (last, filed_at) = (fields.count()?, fields.time()?);
                *self.newest_filing.lock().unwrap_or_else(PoisonError::into_inner) = filed_at;
                return Ok((last, filed_at));
            }
        }
        Ok((0, Timestamp::MIN))
    }

    /// So many tokens, each larger than every one before.
    pub(super) async fn tokens(
        &self,
        connection: &mut PgConnection,
        number: usize,
    ) -> Outcome<Vec<Token>> {
        if number == 0 {
            return Ok(Vec::new());
        }
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        let rows = self.sql.tokens_take.query().bind(number).fetch_all(&mut *connection).await?;
        let tokens = rows.iter().map(|row| Fields::of(row).count().map(Token));
        Ok(tokens.collect::<chronos_core::store::Result<_>>()?)
    }

    /// Takes locked jobs into the step, with their specs, their policies and what lives of them.
    pub(super) async fn open(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        rows: Vec<StandingRow>,
    ) -> Outcome<()> {
        let present = rows.iter().filter(|row| !row.deleted).map(|row| (row.id, row.revision));
        let mut specs = self.specs.of(connection, &self.sql, present).await?;
        let mut live = Vec::new();
        for row in rows {
            live.extend(uuids(&row.live));
            step.sit_down(specs.remove(&row.id), row);
        }
        let policies = step.missing_policies();
        if !policies.is_empty() {
            let query = self.sql.policies_find.query().bind(uuids(&policies));
            for row in query.fetch_all(&mut *connection).await? {
                let policy = super::policies::decode(&row)?;
                step.policies.insert(policy.id, policy);
            }
        }
        if !live.is_empty() {
            let query = self.sql.live_lock.query().bind(live);
            for row in query.fetch_all(&mut *connection).await? {
                step.meet(rows::live_row(&row)?);
            }
        }
        Ok(())
    }
}
