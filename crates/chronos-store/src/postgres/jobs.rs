//! The verbs about jobs: made, changed, removed, and fired when they are due.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::CancelCause;
use chronos_core::plan::{self, Change};
use chronos_core::store::{Error, Fired, Planned, Result, Taker};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Timestamp, TraceId};
use sqlx::PgConnection;

use super::fault::{Fault, Outcome};
use super::held::Holding;
use super::horizon::{Place, first_at};
use super::rows::{self, StandingRow, standing};
use super::shared::{Shared, step};
use super::specs;
use super::statements::Bound;
use super::step::{Desk, Step, Taking};
use super::values::{AsUuid as _, Fields, limit as rows_up_to, tag, text, time, uuids};

/// Jobs that one planning step may lock.
const JOBS_PER_STEP: usize = 4_096;
/// Executions that one planning step may write before it leaves the rest to the next.
const ROWS_PER_STEP: usize = 4_096;

impl Shared {
    pub(super) async fn create_job(&self, spec: JobSpec, now: Timestamp) -> Result<Job> {
        let job = Job::new(spec, now)?;
        step!(self, now, |session, step| { self.add_job(session, step, &job).await })?;
        Ok(job)
    }

    pub(super) async fn add_job(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        job: &Job,
    ) -> Outcome<()> {
        let id = job.spec.id;
        let taken = || Error::NameTaken(job.spec.name.to_string());
        self.check_policy(connection, &job.spec).await?;
        let query = specs::bind(self.sql.spec_insert.query(), &job.spec, step.now)?;
        query.execute(&mut *connection).await.map_err(|error| refused(error, taken()))?;
        self.put_tags(connection, &job.spec).await?;
        let query = self.sql.standing_insert.query().bind(id.uuid());
        let query = query.bind(job.standing.enabled).bind(specs::max_execution_us(&job.spec));
        let query = query.bind(job.due_at().map(time)).bind(job.standing.next_slot.map(time));
        query.fetch_optional(&mut *connection).await?.ok_or_else(taken)?;
        step.due_aside = job.due_at();
        step.decide(id, Decision::Created);
        Ok(())
    }

    async fn put_tags(&self, connection: &mut PgConnection, spec: &JobSpec) -> Outcome<()> {
        if !spec.tags.is_empty() {
            let tags: Vec<_> = spec.tags.iter().map(|tag| text(tag).into_owned()).collect();
            let query = self.sql.tags_put.query().bind(spec.id.uuid()).bind(tags);
            query.execute(&mut *connection).await?;
        }
        Ok(())
    }

    /// Refuses a spec whose policy does not exist, and keeps one that does until the step is over.
    async fn check_policy(&self, connection: &mut PgConnection, spec: &JobSpec) -> Outcome<()> {
        if let Some(policy) = spec.quiet_hours {
            let query = self.sql.policy_lock.query().bind(policy.uuid());
            let found = query.fetch_optional(&mut *connection).await?;
            found.ok_or(Error::NoSuchPolicy(policy))?;
        }
        Ok(())
    }

    pub(super) async fn amend_job(
        &self,
        id: JobId,
        change: Change,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Job> {
        step!(self, now, |session, step| {
            self.lock_job(session, step, id).await?;
            let spec = step.desk(id)?.job()?.spec.clone();
            let current = spec.version;
            if let Some(expected) = expected.filter(|expected| *expected != current) {
                let name = spec.name.to_string();
                return Err(Error::VersionConflict { name, expected, current }.into());
            }
            let change = change.clone();
            let amended = step.ask(id, |job, live| plan::amend(job, live, change, now))??;
            if amended.spec.version != current {
                self.check_policy(session, &amended.spec).await?;
                self.replace_spec(session, &amended.spec, now).await?;
            }
            if let Ok(Some(job)) = &mut step.desk(id)?.job {
                job.spec = amended.spec;
            }
            step.apply(id, &amended.plan)?;
            step.follow_up(id)?;
            Ok(step.desk(id)?.job()?.clone())
        })
    }

    async fn replace_spec(
        &self,
        connection: &mut PgConnection,
        spec: &Arc<JobSpec>,
        now: Timestamp,
    ) -> Outcome<()> {
        let taken = Error::NameTaken(spec.name.to_string());
        let query = specs::bind(self.sql.spec_update.query(), spec, now)?;
        query.execute(&mut *connection).await.map_err(|error| refused(error, taken))?;
        self.sql.tags_delete.query().bind(spec.id.uuid()).execute(&mut *connection).await?;
        self.put_tags(connection, spec).await?;
        let query = self.sql.standing_amend.query().bind(spec.id.uuid());
        query.bind(specs::max_execution_us(spec)).execute(&mut *connection).await?;
        Ok(())
    }

    pub(super) async fn delete_job(&self, id: JobId, now: Timestamp) -> Result<()> {
        step!(self, now, |session, step| {
            self.lock_job(session, step, id).await?;
            let desk = step.desk(id)?;
            // A spec that cannot be read can still be deleted.
            if desk.row.deleted {
                return Err(Error::NoSuchJob(id).into());
            }
            desk.standing_mut().enabled = false;
            desk.row.standing = desk.standing().clone();
            (desk.row.deleted, desk.job) = (true, Ok(None));
            let live: Vec<Execution> = desk.live.clone();
            self.sql.spec_delete.query().bind(id.uuid()).execute(&mut **session).await?;
            for execution in live {
                step.ask_to_stop(&execution, CancelCause::JobDeleted)?;
            }
            step.decide(id, Decision::Deleted);
            Ok(())
        })
    }

    pub(super) async fn run_now(
        &self,
        id: JobId,
        trace: Option<TraceId>,
        now: Timestamp,
    ) -> Result<Execution> {
        step!(self, now, |session, step| { self.queue_run(session, step, id, trace).await })
    }

    pub(super) async fn queue_run(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        id: JobId,
        trace: Option<TraceId>,
    ) -> Outcome<Execution> {
        self.lock_job(connection, step, id).await?;
        let now = step.now;
        let plan = step.ask(id, |job, live| {
            let overlap = || Error::Overlap(job.spec.name.to_string());
            plan::run_now(job, live, trace, now).ok_or_else(overlap)
        })??;
        step.apply(id, &plan)?;
        let run = plan.executions.into_iter().last();
        Ok(run.ok_or_else(|| Error::Corrupt("a manual run planned nothing".into()))?)
    }

    pub(super) async fn redrive(&self, id: ExecutionId, now: Timestamp) -> Result<Execution> {
        step!(self, now, |session, step| {
            let (bytes, tag) = (id.uuid(), tag(id.tag()));
            let query = self.sql.execution_read.query().bind(bytes).bind(tag);
            let row = query.fetch_optional(&mut **session).await?;
            let dead = rows::execution(&row.ok_or(Error::NoSuchExecution(id))?)?;
            self.lock_job(session, step, dead.job).await?;
            let query = self.sql.dead_letter_take.query().bind(bytes).bind(tag);
            let taken = query.fetch_optional(&mut **session).await?;
            taken.ok_or(Error::NotDeadLetter(id))?;
            let plan = step.ask(dead.job, |job, live| plan::redrive(job, live, &dead, now))?;
            step.apply(dead.job, &plan)?;
            let again = plan.executions.into_iter().next();
            Ok(again.ok_or_else(|| Error::Corrupt("a redriven slot planned nothing".into()))?)
        })
    }

    /// Locks a job and takes it into the step.
    async fn lock_job(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        id: JobId,
    ) -> Outcome<()> {
        let query = self.sql.jobs_lock.query().bind([id.uuid()].as_slice());
        self.lock_jobs(connection, step, query).await
    }

    /// Locks the jobs that the statement finds and takes them into the step.
    pub(super) async fn lock_jobs(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        query: Bound,
    ) -> Outcome<()> {
        let rows = query.fetch_all(&mut *connection).await?;
        let rows: Result<Vec<StandingRow>> =
            rows.iter().map(|row| standing(&mut Fields::of(row))).collect();
        self.open(connection, step, rows?).await
    }

    pub(super) async fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
        taker: Option<&Taker>,
    ) -> Result<Fired> {
        let (look, asking) = (self.horizons.due.look(), self.wakes.said_due.ask());
        let from = look.from;
        if self.found_nothing_due.load(Ordering::Relaxed) {
            // Whoever found nothing mostly finds nothing again, and one statement says so.
            let query = self.sql.due_next.query().bind(time(from.0)).bind(from.1);
            let next = self.first_time(query.bind(self.aside())).await?;
            if next.is_none_or(|next| next > now) {
                asking.answer(next);
                return Ok(Fired { next, ..Fired::default() });
            }
        }
        let fired = step!(self, now, |session, step| {
            step.fires = true;
            self.fire_from(session, step, from, (limit, taker)).await
        });
        let (fired, held, nothing_below) = fired?;
        self.held.keep(held);
        for (job, _) in &fired.unreadable {
            self.set_aside(*job);
        }
        look.found_nothing_below(nothing_below);
        asking.answer(fired.next);
        self.found_nothing_due.store(fired.planned.is_empty(), Ordering::Relaxed);
        Ok(fired)
    }

    /// Fires what is due at or after a place; says below which place nothing is left.
    async fn fire_from(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        from: Place,
        (limit, taker): (usize, Option<&Taker>),
    ) -> Outcome<(Fired, Vec<Holding>, Place)> {
        let most = limit.min(JOBS_PER_STEP);
        let query = self.sql.due_lock.query().bind(time(from.0)).bind(from.1);
        let query = query.bind(time(step.now)).bind(self.aside()).bind(rows_up_to(most));
        let rows = if most > 0 { query.fetch_all(&mut *connection).await? } else { Vec::new() };
        let rows: Result<Vec<StandingRow>> =
            rows.iter().map(|row| standing(&mut Fields::of(row))).collect();
        let rows = rows?;
        let due: Vec<Place> =
            rows.iter().filter_map(|row| Some((row.due?, row.id.uuid()))).collect();
        let mut fired = Fired::default();
        let mut planned = 0;
        if !rows.is_empty() {
            self.open(connection, step, rows).await?;
            if let Some(taker) = taker.filter(|taker| taker.room > 0) {
                let waited = self.has_waited(connection, step.now).await?;
                step.taking = Some(Taking { taker: taker.clone(), waited, claims: Vec::new() });
            }
            planned = plan_all(step, &due, &mut fired)?;
            let wanted = step.taking.as_ref().map_or(0, |taking| taking.claims.len());
            let tokens = self.tokens(connection, wanted).await?;
            fired.claims = step.hand_out(tokens)?;
        }
        let nothing_below = match due.get(planned).or(due.last()) {
            _ if most == 0 => from,
            Some(last) if planned < due.len() || due.len() == most => *last,
            // What is due and was not found is in the hands of another planner.
            _ => first_at(step.now.after(Duration::from_micros(1))).max(from),
        };
        fired.next = self.next_due(connection, step, nothing_below).await?;
        Ok((fired, step.holdings(), nothing_below))
    }

    /// When a job is due next, among those at or after a place and those of the step.
    async fn next_due(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        from: Place,
    ) -> Outcome<Option<Timestamp>> {
        let passed_over = [self.aside(), uuids(step.desks.keys())].concat();
        let query = self.sql.due_next.query().bind(time(from.0)).bind(from.1).bind(passed_over);
        let next = query.fetch_optional(&mut *connection).await?;
        let next = next.map(|row| Fields::of(&row).time()).transpose()?;
        let own = step.desks.values().filter_map(Desk::due_at).min();
        Ok(next.into_iter().chain(own).min())
    }
}

/// Plans jobs in order, up to a bound of work; says how many were dealt with.
fn plan_all(step: &mut Step, due: &[Place], fired: &mut Fired) -> Outcome<usize> {
    let (now, mut rows) = (step.now, 0);
    for (done, (_, id)) in due.iter().enumerate() {
        if rows >= ROWS_PER_STEP {
            return Ok(done);
        }
        let id = JobId::of(*id);
        match step.ask(id, |job, live| (job.spec.clone(), plan::plan(job, live, now))) {
            Ok((spec, plan)) => {
                // A long message counts for as many rows as it could be.
                let long = plan.messages.iter().map(|message| message.size() / 1_024);
                rows += plan.executions.len() + long.sum::<usize>();
                step.apply(id, &plan)?;
                fired.planned.push(Planned { spec, plan });
            }
            Err(unreadable) => {
                step.desks.remove(&id);
                fired.unreadable.push((id, unreadable));
            }
        }
    }
    Ok(due.len())
}

/// A row that a unique name or id keeps out is answered with what is taken.
pub(super) fn refused(error: sqlx::Error, taken: Error) -> Fault {
    match error.into() {
        Fault::Refused(_) => Fault::Answer(taken),
        fault => fault,
    }
}
