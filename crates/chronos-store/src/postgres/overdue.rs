//! Executions that have not begun in time: found, told of once, and left alone.

use chronos_core::plan::{self, Overdue};
use chronos_core::store::Result;
use chronos_core::{Execution, ExecutionId, Timestamp};

use super::fault::Outcome;
use super::shared::{Shared, step};
use super::step::Step;
use super::values::{Fields, limit as rows_up_to, time, uuids};

impl Shared {
    /// Tells of up to `most` executions that have not begun in time; says when the next is overdue.
    pub(super) async fn tell_overdue(
        &self,
        now: Timestamp,
        most: usize,
    ) -> Result<(Vec<Execution>, Option<Timestamp>)> {
        let next = || self.first_time(self.sql.overdue_next.query().bind(self.aside()));
        let first = next().await?;
        if first.is_none_or(|first| first > now) {
            return Ok((Vec::new(), first));
        }
        let mut told = Vec::new();
        let query = self.sql.overdue_find.query().bind(time(now)).bind(self.aside());
        let rows = self.fetch_all(query.bind(rows_up_to(most))).await?;
        let found: Vec<ExecutionId> =
            rows.iter().map(|row| Fields::of(row).id()).collect::<Result<_>>()?;
        if !found.is_empty() {
            told = step!(self, now, |session, step| {
                self.lock_of(session, step, uuids(&found)).await?;
                tell_all(self, step, &found)
            })?;
        }
        Ok((told, next().await?))
    }
}

/// Tells of what is still overdue, now that nobody can begin it.
fn tell_all(shared: &Shared, step: &mut Step, found: &[ExecutionId]) -> Outcome<Vec<Execution>> {
    let (mut told, now) = (Vec::new(), step.now);
    for id in found {
        let Some(execution) = step.live(*id).cloned() else {
            continue;
        };
        let job = execution.job;
        let Ok(looked) = step.ask(job, |job, live| plan::overdue(job, &execution, live, now))
        else {
            // Of a job that cannot be read nobody is told.
            shared.set_aside(job);
            continue;
        };
        let Some(Overdue { execution, telling }) = looked else {
            continue;
        };
        step.put_live(execution.clone())?;
        if let Some(telling) = telling {
            step.tell(telling)?;
            told.push(execution);
        }
    }
    Ok(told)
}
