//! Live executions on their way into their table: a few by a statement, many as the database copies rows.

use chronos_core::Execution;
use chronos_core::execution::Running;
use chronos_core::store::Result;
use sqlx::PgConnection;

use super::columns::LiveColumns;
use super::copy::Rows;
use super::fault::Outcome;
use super::shared::Shared;
use super::step::{Desk, expiry};
use super::values::{cause_name, count, micros};

/// The columns behind those that every execution has, in the order in which rows have them.
pub(super) const COLUMNS: [&str; 11] = [
    "held",
    "worker_id",
    "token",
    "started_at",
    "last_heartbeat_at",
    "expires_at",
    "deadline",
    "reap_at",
    "cancel",
    "revision",
    "limit_us",
];

/// Fewer than this are inserted by a statement, which takes one message instead of two.
const FEW: usize = 8;

impl Shared {
    /// Adds executions, each of a job that the step has locked.
    pub(super) async fn add_live(
        &self,
        connection: &mut PgConnection,
        added: &[(&Execution, &Desk)],
    ) -> Outcome<()> {
        if added.len() < FEW {
            let mut columns = LiveColumns::default();
            for (execution, desk) in added {
                columns.push(execution, desk)?;
            }
            if !columns.is_empty() {
                let query = columns.bind_all(self.sql.live_insert.query());
                query.execute(&mut *connection).await?;
            }
            return Ok(());
        }
        let mut rows = Rows::new(COLUMNS.len());
        for (execution, desk) in added {
            push(&mut rows, execution, desk)?;
        }
        rows.copy(connection, &self.copy_live).await
    }
}

fn push(rows: &mut Rows, execution: &Execution, desk: &Desk) -> Result<()> {
    let running: Option<&Running> = execution.running();
    rows.begin(execution)?;
    rows.flag(execution.is_held());
    rows.maybe(running, |rows, it| rows.text(it.lease.worker.as_str()));
    rows.maybe(running, |rows, it| rows.number(count(it.lease.token.0)));
    rows.maybe(running, |rows, it| rows.time(it.started_at));
    rows.maybe(running, |rows, it| rows.time(it.heartbeat_at));
    rows.maybe(running, |rows, it| rows.time(it.lease.expires_at));
    rows.maybe(running.and_then(|running| running.deadline), Rows::time);
    rows.maybe(expiry(execution), |rows, (at, _)| rows.time(at));
    let cancel = running.and_then(|running| running.cancel).map(cause_name);
    rows.maybe(cancel, Rows::text);
    rows.number(desk.row.revision);
    rows.maybe(limit_us(execution, desk), Rows::number);
    Ok(())
}

/// How long the execution may take.
pub(super) fn limit_us(execution: &Execution, desk: &Desk) -> Option<i64> {
    let job = desk.job().ok()?;
    execution.limit(&job.spec).map(micros)
}
