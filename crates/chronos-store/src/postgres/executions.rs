//! The verbs about executions: claimed, held, ended, reaped and cancelled.

use std::sync::atomic::Ordering;
use std::time::Duration;

use chronos_core::account::Act;
use chronos_core::execution::{CancelCause, Report, State};
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Error, Hold, Reaped, Renewal, Result, Terms};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp};

use super::apply::asked_to_stop;
use super::fault::Outcome;
use super::held::Holding;
use super::horizon::{Place, first_at};
use super::rows::StandingRow;
use super::session::Session;
use super::shared::{Shared, step};
use super::statements::Bound;
use super::step::{Step, expiry};
use super::values::{
    AsUuid as _, Fields, cause_named, count, limit as rows_up_to, tag, time, uuids,
};

/// Executions that one step may reap.
const REAPED_PER_STEP: usize = 1_024;

/// One reaping in so many looks at every lease.
const WHOLE_LOOKS: u32 = 8;

/// The least time after an instant.
pub(super) fn just_after(at: Timestamp) -> Timestamp {
    at.after(Duration::from_micros(1))
}

impl Shared {
    /// The time in the first row that a statement gives back, if there is one.
    pub(super) async fn first_time(&self, query: Bound) -> Result<Option<Timestamp>> {
        let row = self.fetch_optional(query).await?;
        Ok(row.map(|row| Fields::of(&row).maybe_time()).transpose()?.flatten())
    }

    /// What the worker must run. What nobody can run, because its spec cannot be read, is handed back and
    /// offered to nobody again.
    pub(super) async fn with_specs(
        &self,
        claims: Vec<(StandingRow, Execution)>,
    ) -> Result<Vec<Claim>> {
        let jobs = claims.iter().map(|(row, _)| (row.id, row.revision));
        let known = self.specs.all_known(jobs.clone());
        let specs = match known {
            Some(specs) => specs,
            None => match self.read_specs(jobs.collect()).await {
                Ok(specs) => specs,
                Err(error) => {
                    // Nobody can begin these now; others may, at once rather than after a lease.
                    let holds = claims.iter().filter_map(|(_, execution)| hold_on(execution));
                    self.hand_back(&holds.collect::<Vec<_>>()).await.ok();
                    return Err(error);
                }
            },
        };
        let mut readable = Vec::with_capacity(claims.len());
        let (mut unreadable, mut holdings) = (Vec::new(), Vec::new());
        for (row, execution) in claims {
            let Some(hold) = hold_on(&execution) else {
                continue;
            };
            match specs.get(&execution.job) {
                Some(Ok(spec)) => {
                    holdings.extend(Holding::of(&execution, spec, row));
                    readable.push(Claim { spec: spec.clone(), execution, hold });
                }
                Some(Err(_)) => {
                    self.set_aside(execution.job);
                    unreadable.push(hold);
                }
                // The job was deleted a moment ago; its run was asked to stop, and is reaped.
                None => {}
            }
        }
        self.hand_back(&unreadable).await?;
        self.held.keep(holdings);
        Ok(readable)
    }

    async fn read_specs(&self, jobs: Vec<(JobId, i64)>) -> Result<super::specs::Found> {
        let read = async {
            let mut session = self.begin().await?;
            let specs = self.in_time(self.specs.of(&mut session, &self.sql, jobs)).await;
            self.end(session, specs).await
        };
        read.await.map_err(|fault| self.noted(fault))
    }

    /// Queues what was claimed and cannot be run; that needs no knowledge of its job.
    async fn hand_back(&self, holds: &[Hold]) -> Result<()> {
        if !holds.is_empty() {
            let ids: Vec<_> = holds.iter().map(|hold| hold.execution.uuid()).collect();
            let tokens: Vec<_> = holds.iter().map(|hold| count(hold.token.0)).collect();
            self.fetch_all(self.sql.hand_back.query().bind(ids).bind(tokens)).await?;
        }
        Ok(())
    }

    /// One statement for all holds, on a connection that nothing else uses.
    pub(super) async fn renew(&self, holds: &[Hold], terms: Terms) -> Result<Vec<Renewal>> {
        if holds.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = holds.iter().map(|hold| hold.execution.uuid()).collect();
        let tokens: Vec<_> = holds.iter().map(|hold| count(hold.token.0)).collect();
        let expires_at = terms.now.after(terms.lease);
        let query = self.sql.renew.query().bind(ids).bind(tokens).bind(time(terms.now));
        let rows = self.fetch_from(&self.renewals, query.bind(time(expires_at))).await;
        let mut renewals = Vec::with_capacity(holds.len());
        for row in rows.map_err(|fault| self.noted(fault))? {
            let fields = &mut Fields::of(&row);
            let (held, cancel): (bool, Option<&str>) = (fields.get()?, fields.get()?);
            renewals.push(match cancel {
                _ if !held => Renewal::Lost,
                None => Renewal::Held,
                Some(cause) => Renewal::CancelRequested(cause_named(cause)?),
            });
        }
        Ok(renewals)
    }

    /// Locks the jobs of these executions and takes them into the step.
    pub(super) async fn lock_of(
        &self,
        session: &mut Session,
        step: &mut Step,
        executions: Vec<sqlx::types::Uuid>,
    ) -> Outcome<()> {
        let query = self.sql.jobs_lock_of.query().bind(executions);
        self.lock_jobs(session, step, query).await
    }

    pub(super) async fn release(&self, holds: &[Hold], now: Timestamp) -> Result<()> {
        if holds.is_empty() {
            return Ok(());
        }
        self.held.take(holds.iter().map(|hold| hold.execution));
        let ids: Vec<_> = holds.iter().map(|hold| hold.execution.uuid()).collect();
        step!(self, now, |session, step| {
            self.lock_of(session, step, ids.clone()).await?;
            for hold in holds {
                release_one(step, hold)?;
            }
            Ok(())
        })
    }

    pub(super) async fn reap(&self, now: Timestamp, limit: usize) -> Result<Reaped> {
        if self.reaps.fetch_add(1, Ordering::Relaxed).is_multiple_of(WHOLE_LOOKS) {
            // A lease below the horizon is that of a node whose clock is far behind.
            self.horizons.reap.lower(Timestamp::MIN);
        }
        let look = self.horizons.reap.look();
        let most = limit.min(REAPED_PER_STEP);
        let found = self.find_expired(look.from, now, most).await?;
        let full = found.len() == most;
        let mut ended = Vec::new();
        if !found.is_empty() {
            ended = step!(self, now, |session, step| {
                self.lock_of(session, step, uuids(&found)).await?;
                reap_all(self, step, &found)
            })?;
        }
        // Where the bound cut the look short there may be more of the same age.
        let rest = if full { look.from } else { first_at(just_after(now)).max(look.from) };
        let query = self.sql.reap_next.query().bind(time(rest.0)).bind(rest.1).bind(self.aside());
        let next = match self.first_time(query).await {
            Err(_) if !ended.is_empty() => Some(now),
            next => next?,
        };
        look.found_nothing_below(rest);
        let (overdue, overdue_next) = match self.tell_overdue(now, most).await {
            // What was ended must be heard of; the rest is looked for again at once.
            Err(_) if !ended.is_empty() => (Vec::new(), Some(now)),
            told => told?,
        };
        let next = [next, overdue_next].into_iter().flatten().min();
        Ok(Reaped { ended, overdue, next: next.map(|next| next.max(now)) })
    }

    async fn find_expired(
        &self,
        from: Place,
        now: Timestamp,
        most: usize,
    ) -> Result<Vec<ExecutionId>> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let query = self.sql.reap_find.query().bind(time(from.0)).bind(from.1).bind(time(now));
        let rows = self.fetch_all(query.bind(self.aside()).bind(rows_up_to(most))).await?;
        let mut found: Vec<ExecutionId> =
            rows.iter().map(|row| Fields::of(row).id()).collect::<Result<_>>()?;
        // The order must not hang on that of an index: the same history replays the same way.
        found.sort_unstable();
        Ok(found)
    }

    pub(super) async fn cancel(&self, id: ExecutionId, cause: CancelCause, act: Act) -> Result<()> {
        step!(self, act, |session, step| {
            self.lock_of(session, step, vec![id.uuid()]).await?;
            let Some(execution) = step.live(id).cloned() else {
                let query = self.sql.execution_locate.query().bind(id.uuid()).bind(tag(id.tag()));
                let over = query.fetch_optional(&mut **session).await?;
                return Ok(over.map(drop).ok_or(Error::NoSuchExecution(id))?);
            };
            step.ask_to_stop(&execution, cause)?;
            if step.desk(execution.job)?.job.as_ref().is_ok_and(Option::is_some) {
                step.follow_up(execution.job)?;
            }
            Ok(())
        })
    }
}

/// The worker's hold on an execution that runs.
fn hold_on(execution: &Execution) -> Option<Hold> {
    let token = execution.running()?.lease.token;
    Some(Hold { execution: execution.id, token })
}

fn release_one(step: &mut Step, hold: &Hold) -> Result<()> {
    let Some(mut execution) = step.held(hold).cloned() else {
        return Ok(());
    };
    let paused = match &step.desk(execution.job)?.job {
        Ok(Some(job)) => execution.trigger.waits_out_pauses() && job.standing.paused.is_some(),
        Ok(None) => false,
        // Whether it may be queued is not known, so it is left to its lease.
        Err(_) => return Ok(()),
    };
    if asked_to_stop(&execution) {
        step.conclude(execution.id, Ending::Cancelled, Report::at(step.now))?;
        return Ok(());
    }
    execution.state = State::Queued { held: paused };
    step.put_live(execution)
}

/// Ends what has run out, now that nobody else can renew or end it.
fn reap_all(shared: &Shared, step: &mut Step, found: &[ExecutionId]) -> Outcome<Vec<Execution>> {
    let mut ended = Vec::new();
    for id in found {
        let Some(execution) = step.live(*id) else {
            continue;
        };
        let (job, expired) = (execution.job, expiry(execution));
        let Some((_, ending)) = expired.filter(|(at, _)| *at <= step.now) else {
            continue;
        };
        // What follows from its end is not known while its job cannot be read.
        if step.desk(job)?.job.is_err() {
            shared.set_aside(job);
            continue;
        }
        ended.push(step.conclude(*id, ending, Report::at(step.now))?);
    }
    Ok(ended)
}
