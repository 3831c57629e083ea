//! The ends of runs: most lead to nothing else, and are written by what this node remembers of them.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::Report;
use chronos_core::job::{Standing, Tally};
use chronos_core::notice::Occasions;
use chronos_core::plan::{self, Ending, Live};
use chronos_core::store::{Error, Finish, Result};
use chronos_core::{Execution, Job, JobSpec, Timestamp};
use rustc_hash::FxHashSet;
use sqlx::PgConnection;

use super::columns::EndColumns;
use super::fault::{Fault, Outcome};
use super::held::{Holding, LeaseId};
use super::shared::{Shared, step};
use super::step::Step;
use super::values::{AsUuid as _, Fields, count, limit};

/// The end of a run that leads to nothing but a count, if its job is as a run of its spec expects it: nothing else
/// of it lives, it is not failing, and it has a slot to come, or none if it has but one.
pub(super) struct PlainEnd {
    pub(super) ended: Execution,
    /// Whether the job is over with it.
    pub(super) is_over: bool,
    /// Names the spec.
    pub(super) revision: i64,
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
        let Holding { execution, spec, revision } = holding;
        let token = execution.running()?.lease.token;
        // What somebody else counts as well leads to more than a count.
        let is_more = execution.notice().is_some() || execution.trigger.backfill().is_some();
        if finish.ending != Ending::Success || token != finish.hold.token || is_more {
            return None;
        }
        let next_slot = (!spec.schedule.is_one_shot()).then_some(now);
        let expected = Standing { enabled: true, next_slot, ..Standing::default() };
        let mut job = Job { spec, standing: expected };
        // One that counts from the end of its runs has a slot to come only while it waits.
        if job.spec.schedule.next_from_end(now).is_some() {
            return None;
        }
        let live = Live { usual, ..Live::default() };
        let report = report(finish, now);
        let concluded = plan::conclude(Some(&job), &execution, &live, Ending::Success, report)?;
        let after = concluded.standing?;
        let plain = concluded.again.is_none() && concluded.telling.is_none();
        if !plain || !only_counts(&job.standing, &after) {
            return None;
        }
        job.standing = after;
        let is_over = plan::follow_up(&job, &[], now).over;
        let (ended, decision) = (concluded.ended, concluded.decision);
        Some(Self { ended, is_over, revision, spec: job.spec, decision })
    }
}

/// Whether all that changes is what a success counts.
fn only_counts(before: &Standing, after: &Standing) -> bool {
    let Tally { succeeded, last_run, last_duration, .. } = after.tally;
    let counted = Tally { succeeded, last_run, last_duration, ..before.tally.clone() };
    succeeded == before.tally.succeeded + 1
        && *after == Standing { tally: counted, ..before.clone() }
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
        let mut leases = Vec::with_capacity(finishes.len());
        let held = self.held.take(finishes.iter().map(|finish| finish.hold.execution));
        let end = |(finish, held): (&Finish, Option<(LeaseId, Holding)>)| {
            let (lease, holding) = held?;
            leases.push(lease);
            PlainEnd::of(holding, finish, self.usual(), now)
        };
        let mut ends: Vec<Option<PlainEnd>> = finishes.iter().zip(held).map(end).collect();
        let over = self.held.take_over();
        let finished = step!(self, now, |session, step| {
            if !self.write_ends(session, step, &mut ends, &over).await? {
                // Someone has taken one of them, so all are locked and read.
                ends.fill_with(|| None);
                return Err(Fault::Again("a run was taken".into()));
            }
            let others = finishes.iter().zip(&ends).filter(|(_, end)| end.is_none());
            let others: Vec<_> = others.map(|(finish, _)| finish.hold.execution.uuid()).collect();
            if !others.is_empty() {
                self.lock_of(session, step, others).await?;
            }
            let finish = |(finish, end): (&Finish, &Option<PlainEnd>)| match end {
                Some(end) => {
                    let (owner, trace) = (&end.spec.owner, end.ended.told_trace());
                    step.note(owner, Some(end.ended.job), trace, end.decision.clone());
                    Ok(end.ended.clone())
                }
                None => finish_one(step, finish),
            };
            Ok(finishes.iter().zip(&ends).map(finish).collect())
        });
        if finished.is_ok() {
            self.held.ended(leases);
        }
        finished
    }

    /// Writes plain ends, and leaves those in their places that were as they are taken to be; says whether all
    /// of those are still held. Forgets leases that are over.
    async fn write_ends(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        ends: &mut [Option<PlainEnd>],
        over: &[LeaseId],
    ) -> Outcome<bool> {
        let mut places: Vec<usize> =
            (0..ends.len()).filter(|place| ends[*place].is_some()).collect();
        if places.is_empty() {
            return Ok(true);
        }
        if !self.partitions.has(step.now) {
            return Err(Fault::NoPartition);
        }
        // Everyone locks jobs in this order.
        places.sort_unstable_by_key(|place| ends[*place].as_ref().map(|end| end.ended.job));
        let mut columns = EndColumns::default();
        for end in places.iter().filter_map(|place| ends[*place].as_ref()) {
            columns.push(end)?;
        }
        let row = columns.bind(self.sql.finish.query()).fetch_one(&mut *connection).await?;
        let fields = &mut Fields::of(&row);
        let counted: Vec<i64> = fields.get()?;
        step.pass_by(fields.maybe_time()?);
        if counted.len() < places.len() {
            let counted: FxHashSet<i64> = counted.iter().copied().collect();
            for (number, place) in (1..).zip(&places) {
                if !counted.contains(&number) {
                    ends[*place] = None;
                }
            }
        }
        let ended: Vec<&Execution> = ends.iter().flatten().map(|end| &end.ended).collect();
        let ids: Vec<_> = ended.iter().map(|ended| ended.id.uuid()).collect();
        let tokens: Vec<_> =
            ended.iter().filter_map(|ended| ended.run()).map(|run| count(run.token.0)).collect();
        let over: Vec<_> = over.iter().map(|lease| count(lease.0)).collect();
        let query = self.sql.finish_live.query().bind(ids).bind(tokens).bind(over);
        let row = query.fetch_one(&mut *connection).await?;
        if Fields::of(&row).get::<i64>()? != limit(ended.len()) {
            return Ok(false);
        }
        self.file(connection, step, ended.into_iter().map(|ended| (ended, false))).await?;
        Ok(true)
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
