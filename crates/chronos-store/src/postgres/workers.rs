//! The verbs about workers: how they describe themselves, for whoever looks at all nodes.

use chronos_core::store::{Result, Roles, Worker};
use chronos_core::{Timestamp, WorkerId};
use sqlx::postgres::PgRow;

use super::shared::Shared;
use super::values::{Fields, count, text, time};

impl Shared {
    /// One statement for each heartbeat.
    pub(super) async fn put_worker(&self, worker: &Worker) -> Result<()> {
        let query = self.sql.worker_put.query().bind(text(worker.id.as_str()).into_owned());
        let query = query.bind(text(&worker.host).into_owned());
        let query = query.bind(text(&worker.version).into_owned()).bind(worker.roles.names());
        let query = query.bind(time(worker.started_at)).bind(time(worker.seen_at));
        self.fetch_all(query.bind(count(worker.capacity)).bind(count(worker.running))).await?;
        Ok(())
    }

    pub(super) async fn workers(&self, since: Timestamp) -> Result<Vec<Worker>> {
        let rows = self.fetch_all(self.sql.workers_read.query().bind(time(since))).await?;
        rows.iter().map(worker).collect()
    }
}

fn worker(row: &PgRow) -> Result<Worker> {
    let fields = &mut Fields::of(row);
    let (id, host, version): (&str, &str, &str) = (fields.get()?, fields.get()?, fields.get()?);
    let roles: Vec<String> = fields.get()?;
    Ok(Worker {
        id: WorkerId::new(id),
        host: host.into(),
        version: version.into(),
        roles: Roles::named(roles.iter().map(String::as_str)),
        started_at: fields.time()?,
        seen_at: fields.time()?,
        capacity: fields.count()?,
        running: fields.count()?,
    })
}
