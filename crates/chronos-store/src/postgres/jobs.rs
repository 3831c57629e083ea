//! The verbs about jobs: made, changed, removed, and run on request.

use std::sync::Arc;

use chronos_core::account::Act;
use chronos_core::audit::Decision;
use chronos_core::execution::CancelCause;
use chronos_core::plan::{self, Change};
use chronos_core::policy::rank::JOBS_BEFORE_CROWD;
use chronos_core::store::{Error, Result};
use chronos_core::{Execution, ExecutionId, Job, JobId, JobSpec, Timestamp, TraceId};
use sqlx::PgConnection;

use super::fault::{Fault, Outcome};
use super::rows::{self, StandingRow, standing};
use super::shared::{Shared, step};
use super::specs;
use super::statements::Bound;
use super::step::Step;
use super::values::{AsUuid as _, Fields, tag, text, time};

impl Shared {
    pub(super) async fn create_job(&self, spec: JobSpec, act: Act) -> Result<Job> {
        let job = Job::new(spec, act.at)?;
        step!(self, act, |session, step| { self.add_job(session, step, &job).await })?;
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
        let few = i64::try_from(JOBS_BEFORE_CROWD).unwrap_or(i64::MAX);
        let query = self.sql.standing_insert.query().bind(id.uuid());
        let query = query.bind(job.standing.enabled).bind(specs::max_execution_us(&job.spec));
        let query = query.bind(job.due_at().map(time)).bind(job.standing.next_slot.map(time));
        let query = query.bind(text(&job.spec.owner).into_owned()).bind(few);
        query.fetch_optional(&mut *connection).await?.ok_or_else(taken)?;
        step.due_aside = job.due_at();
        step.note(&job.spec.owner, Some(id), job.spec.trace, Decision::Created);
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
        act: Act,
    ) -> Result<Job> {
        let now = act.at;
        step!(self, act, |session, step| {
            self.lock_job(session, step, id).await?;
            let spec = step.desk(id)?.job()?.spec.clone();
            let current = spec.version;
            if let Some(expected) = expected.filter(|expected| *expected != current) {
                let name = spec.name.to_string();
                return Err(Error::VersionConflict { name, expected, current }.into());
            }
            let asked = change.clone();
            let amended = step.ask(id, |job, live| plan::amend(job, live, asked, now))??;
            if amended.spec.version != current {
                self.check_policy(session, &amended.spec).await?;
                self.replace_spec(session, &amended.spec, now).await?;
            }
            if let Ok(Some(job)) = &mut step.desk(id)?.job {
                job.spec = amended.spec;
            }
            step.apply(id, &amended.plan)?;
            step.follow_up(id)?;
            if change == Change::Disable {
                self.give_up_backfills(session, step, id).await?;
            }
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

    pub(super) async fn delete_job(&self, id: JobId, act: Act) -> Result<()> {
        step!(self, act, |session, step| {
            self.lock_job(session, step, id).await?;
            let desk = step.desk(id)?;
            // A spec that cannot be read can still be deleted.
            if desk.row.deleted {
                return Err(Error::NoSuchJob(id).into());
            }
            let live: Vec<Execution> = desk.live.clone();
            for execution in live {
                step.ask_to_stop(&execution, CancelCause::JobDeleted)?;
            }
            self.forget_backfills(session, step, id).await?;
            step.decide(id, None, Decision::Deleted);
            let desk = step.desk(id)?;
            desk.standing_mut().enabled = false;
            desk.row.standing = desk.standing().clone();
            (desk.row.deleted, desk.job) = (true, Ok(None));
            self.sql.spec_delete.query().bind(id.uuid()).execute(&mut **session).await?;
            Ok(())
        })
    }

    pub(super) async fn run_now(
        &self,
        id: JobId,
        trace: Option<TraceId>,
        act: Act,
    ) -> Result<Execution> {
        step!(self, act, |session, step| { self.queue_run(session, step, id, trace).await })
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

    pub(super) async fn redrive(&self, id: ExecutionId, act: Act) -> Result<Execution> {
        let now = act.at;
        step!(self, act, |session, step| {
            let (bytes, tag) = (id.uuid(), tag(id.tag()));
            let query = self.sql.execution_read.query().bind(bytes).bind(tag);
            let row = query.fetch_optional(&mut **session).await?;
            let dead = rows::execution(&row.ok_or(Error::NoSuchExecution(id))?)?;
            self.lock_job(session, step, dead.job).await?;
            let query = self.sql.dead_letter_take.query().bind(bytes).bind(tag);
            let taken = query.fetch_optional(&mut **session).await?;
            taken.ok_or(Error::NotDeadLetter(id))?;
            let plan = step.ask(dead.job, |job, live| plan::redrive(job, live, &dead, now))?;
            if let Some(number) = dead.trigger.backfill() {
                self.reopen_backfill(session, step, (dead.job, number)).await?;
            }
            step.apply(dead.job, &plan)?;
            let again = plan.executions.into_iter().next();
            Ok(again.ok_or_else(|| Error::Corrupt("a redriven slot planned nothing".into()))?)
        })
    }

    /// Locks a job and takes it into the step.
    pub(super) async fn lock_job(
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
}

/// A row that a unique name or id keeps out is answered with what is taken.
pub(super) fn refused(error: sqlx::Error, taken: Error) -> Fault {
    match error.into() {
        Fault::Refused(_) => Fault::Answer(taken),
        fault => fault,
    }
}
