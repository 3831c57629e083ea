//! Writing: what a step changed goes out in a few statements, whatever the size of the batch.

use std::sync::PoisonError;

use chronos_core::execution::Token;
use chronos_core::{Execution, Timestamp};
use sqlx::PgConnection;

use super::columns::{FiredColumns, LiveColumns, StandingColumns};
use super::fault::{Fault, Outcome};
use super::partitions::lock_key;
use super::rows::{self, StandingRow};
use super::shared::Shared;
use super::step::{Desk, Step, expiry};
use super::values::{AsUuid as _, Fields, count, hex, time, uuids};
use crate::audit;

impl Shared {
    /// Writes what the step changed, but for its decisions, which are numbered last of all.
    pub(super) async fn write(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        let files = !step.past.is_empty() || !step.events.is_empty();
        if files && !self.partitions.has(step.now) {
            return Err(Fault::NoPartition);
        }
        self.write_live(connection, step).await?;
        self.write_standings(connection, step).await?;
        self.write_past(connection, step).await
    }

    async fn write_live(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        if !step.gone.is_empty() {
            let query = self.sql.live_delete.query().bind(uuids(&step.gone));
            query.execute(&mut *connection).await?;
        }
        let (added, changed) = step.written();
        let mut columns = LiveColumns::default();
        for (execution, desk) in changed {
            columns.push(execution, desk)?;
        }
        if !columns.is_empty() {
            let query = columns.bind_changes(self.sql.live_update.query());
            query.execute(&mut *connection).await?;
        }
        self.add_live(connection, &added).await?;
        self.write_lease(connection, step).await
    }

    /// Notes what the step has handed out.
    async fn write_lease(&self, connection: &mut PgConnection, step: &Step) -> Outcome<()> {
        let taken: Vec<&Execution> =
            step.handed_out.iter().filter_map(|id| step.live(*id)).collect();
        let tokens =
            taken.iter().filter_map(|taken| taken.running()).map(|running| running.lease.token);
        let reap_at = taken.iter().filter_map(|taken| expiry(taken)).map(|(at, _)| at).min();
        if let (Some(first), Some(reap_at)) = (tokens.min(), reap_at) {
            let ids: Vec<_> = taken.iter().map(|taken| taken.id.uuid()).collect();
            let query = self.sql.lease_put.query().bind(count(first.0)).bind(time(reap_at));
            query.bind(ids).execute(&mut *connection).await?;
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
        let (fired, changed): (Vec<&Desk>, Vec<&Desk>) =
            changed.into_iter().partition(|desk| desk.only_fired());
        if !fired.is_empty() {
            let query = FiredColumns::of(&fired).bind(self.sql.standings_fire.query());
            query.execute(&mut *connection).await?;
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
        let past = step.past.iter().map(|(execution, dead_letter)| (execution, *dead_letter));
        self.file(connection, step, past).await
    }

    /// The words that end a step that decided something: they number its decisions and its messages, and
    /// commit.
    ///
    /// Whoever numbers holds a lock until its commit, so numbers appear in their order, and a reader that
    /// follows them never passes one by. All of it is one message, so that nobody waits under that lock for
    /// a node and the network. The commit does not wait for the disk; the caller does that.
    pub(super) fn last_words(&self, step: &Step) -> Outcome<String> {
        let lock = lock_key(&self.config.schema, "audit").to_string();
        let known = *self.newest_filing.lock().unwrap_or_else(PoisonError::into_inner);
        let [now, known] = [step.now, known].map(|at| format!("'{at}'"));
        let number = step.events.len().to_string();
        let decisions = hex(&audit::encode(&step.events)?);
        let lock = self.sql.advisory_lock.with(&[&lock]);
        let file = self.sql.audit_file.with(&[&now, &known, &number, &decisions]);
        let mut words = vec![lock, file];
        if !step.messages.is_empty() {
            words.push(self.message_words(step)?);
        }
        words.push("SET LOCAL synchronous_commit = off; COMMIT".into());
        Ok(words.join("; "))
    }

    /// Remembers that decisions were filed at this time or later.
    pub(super) fn note_filing(&self, at: Timestamp) {
        let mut known = self.newest_filing.lock().unwrap_or_else(PoisonError::into_inner);
        *known = at.max(*known);
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
                // One that cannot be read holds nothing back, and its jobs say so.
                if let Ok(policy) = super::policies::decode(&row) {
                    step.policies.insert(policy.id, policy);
                }
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
