//! The ends of runs: most lead to nothing else, and are written by what this node remembers of them.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::Report;
use chronos_core::job::{Standing, Status, Tally};
use chronos_core::notice::Occasions;
use chronos_core::plan::{self, Ending, Live};
use chronos_core::store::{Error, Finish, Result};
use chronos_core::{Execution, Job, JobSpec, Timestamp};
use sqlx::PgConnection;

use super::columns::EndColumns;
use super::fault::{Fault, Outcome};
use super::held::Holding;
use super::rows::StandingRow;
use super::shared::{Shared, step};
use super::step::Step;
use super::values::{AsUuid as _, Fields, limit, time};

/// The end of a run that leads to nothing but a count, of a job of which nothing else lives.
pub(super) struct PlainEnd {
    /// The job as the run began.
    pub(super) row: StandingRow,
    /// What the job counts afterwards, and its status at rest.
    pub(super) tally: Tally,
    pub(super) rest: Status,
    pub(super) ended: Execution,
    spec: Arc<JobSpec>,
    decision: Decision,
}

impl PlainEnd {
    /// The end of what is held, unless it leads to something else.
    fn of(
        holding: Holding,
        finish: &Finish,
        usual: Option<Occasions>,
        now: Timestamp,
    ) -> Option<Self> {
        let Holding { execution, spec, mut row } = holding;
        let token = execution.running()?.lease.token;
        // What somebody else counts as well leads to more than a count.
        let is_more = execution.notice().is_some() || execution.trigger.backfill().is_some();
        if finish.ending != Ending::Success || token != finish.hold.token || is_more {
            return None;
        }
        let mut job = Job { spec, standing: std::mem::take(&mut row.standing) };
        let live = Live { usual, ..Live::default() };
        let report = report(finish, now);
        let concluded = plan::conclude(Some(&job), &execution, &live, Ending::Success, report)?;
        let after = concluded.standing?;
        let plain = concluded.again.is_none() && concluded.telling.is_none();
        if !plain || !only_counts(&job.standing, &after) {
            return None;
        }
        job.standing = after;
        let follow_up = plan::follow_up(&job, &[], now);
        if follow_up.over || follow_up.next_slot.is_some() {
            return None;
        }
        let rest = Status::at_rest(job.spec.schedule.is_one_shot(), &job.standing);
        let (ended, decision) = (concluded.ended, concluded.decision);
        Some(Self { row, tally: job.standing.tally, rest, ended, spec: job.spec, decision })
    }
}

/// Whether all that changes is what a success counts.
fn only_counts(before: &Standing, after: &Standing) -> bool {
    let Tally { succeeded, last_run, last_duration, .. } = after.tally;
    let counted = Tally {
        succeeded,
        last_run,
        last_duration,
        failed_in_a_row: 0,
        last_error: None,
        ..before.tally.clone()
    };
    *after == Standing { tally: counted, ..before.clone() }
}

impl Shared {
    pub(super) async fn finish(
        &self,
        finishes: Vec<Finish>,
        now: Timestamp,
    ) -> Result<Vec<Result<Execution>>> {
        if finishes.is_empty() {
            return Ok(Vec::new());
        }
        let held = self.held.take(finishes.iter().map(|finish| finish.hold.execution));
        let end = |(finish, holding): (&Finish, Option<Holding>)| {
            PlainEnd::of(holding?, finish, self.usual(), now)
        };
        let mut ends: Vec<Option<PlainEnd>> = finishes.iter().zip(held).map(end).collect();
        step!(self, now, |session, step| {
            if !self.write_ends(session, step, &ends).await? {
                // Someone has changed one of them, so all are locked and read.
                ends.fill_with(|| None);
                return Err(Fault::Again("a job has changed".into()));
            }
            let others = finishes.iter().zip(&ends).filter(|(_, end)| end.is_none());
            let others: Vec<_> = others.map(|(finish, _)| finish.hold.execution.uuid()).collect();
            if !others.is_empty() {
                self.lock_of(session, step, others).await?;
            }
            let finish = |(finish, end): (&Finish, &Option<PlainEnd>)| match end {
                Some(end) => {
                    step.pass_by(end.row.due);
                    let (owner, trace) = (&end.spec.owner, end.ended.told_trace());
                    step.note(owner, Some(end.row.id), trace, end.decision.clone());
                    Ok(end.ended.clone())
                }
                None => finish_one(step, finish),
            };
            Ok(finishes.iter().zip(&ends).map(finish).collect())
        })
    }

    /// Writes plain ends; says whether all of them were still as they are known.
    async fn write_ends(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        ends: &[Option<PlainEnd>],
    ) -> Outcome<bool> {
        let mut ends: Vec<&PlainEnd> = ends.iter().flatten().collect();
        if ends.is_empty() {
            return Ok(true);
        }
        if !self.partitions.has(step.now) {
            return Err(Fault::NoPartition);
        }
        // Everyone locks jobs in this order.
        ends.sort_unstable_by_key(|end| end.row.id);
        let mut columns = EndColumns::default();
        for end in &ends {
            columns.push(end)?;
        }
        let all = limit(ends.len());
        let query = columns.bind(self.sql.finish.query().bind(time(step.now)).bind(all));
        let row = query.fetch_one(&mut *connection).await?;
        let fields = &mut Fields::of(&row);
        let (counted, filed): (i64, i64) = (fields.get()?, fields.get()?);
        Ok(counted == all && filed == all)
    }
}

/// What is reported, as exact as it is kept, and at no later time than it is.
fn report(finish: &Finish, now: Timestamp) -> Report {
    let mut report = finish.report.clone();
    report.at = report.at.min(now);
    let whole = |took: Duration| Duration::new(took.as_secs(), took.subsec_micros() * 1_000);
    report.took = report.took.map(whole);
    report
}

fn finish_one(step: &mut Step, finish: &Finish) -> Result<Execution> {
    let hold = &finish.hold;
    step.held(hold).ok_or(Error::LeaseLost(hold.execution))?;
    step.conclude(hold.execution, finish.ending.clone(), report(finish, step.now))
}
