//! Rows as the domain knows them.

use std::sync::Arc;

use chronos_core::execution::{
    CancelCause, Failure, Lease, Response, Run, Running, State, Token, Trigger,
};
use chronos_core::job::{Failing, Pause, Standing, Tally};
use chronos_core::policy::retry;
use chronos_core::store::{Error, Result, Terms};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp, TraceId, WorkerId};
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::values::{Fields, cause_named, from_millis, reason_named};

/// A job's row, which is also its lock.
#[derive(Clone, Debug)]
pub(super) struct StandingRow {
    pub(super) id: JobId,
    /// Names the spec that is in force.
    pub(super) revision: i64,
    /// Grows with every change.
    pub(super) changes: i64,
    pub(super) deleted: bool,
    pub(super) due: Option<Timestamp>,
    pub(super) standing: Standing,
    /// Whether it is one of the crowd.
    pub(super) crowd: bool,
    /// What waits and runs of it.
    pub(super) live: Vec<ExecutionId>,
}

pub(super) fn standing(fields: &mut Fields<'_>) -> Result<StandingRow> {
    let (id, revision) = (fields.id()?, fields.get()?);
    let (changes, deleted) = (fields.get()?, fields.get()?);
    let due = fields.maybe_time()?;
    let enabled = fields.get()?;
    let (next_slot, last_slot) = (fields.maybe_time()?, fields.maybe_time()?);
    let deferred_until = fields.maybe_time()?;
    let (since, note) = (fields.maybe_time()?, maybe_text(fields)?);
    let resume_at = fields.maybe_time()?;
    let paused = since.map(|since| Pause { since, note, resume_at });
    let tally = tally(fields)?;
    let (since, failures): (_, Option<i32>) = (fields.maybe_time()?, fields.get()?);
    let failures = failures.map(i32::cast_unsigned);
    let failing = since.zip(failures).map(|(since, failures)| Failing { since, failures });
    let crowd = fields.get()?;
    let live = ids(fields.get::<&[u8]>()?);
    let standing =
        Standing { enabled, paused, last_slot, next_slot, deferred_until, failing, tally };
    Ok(StandingRow { id, revision, changes, deleted, due, standing, crowd, live })
}

fn tally(fields: &mut Fields<'_>) -> Result<Tally> {
    let mut tally = Tally {
        fired: fields.count()?,
        manual: fields.count()?,
        succeeded: fields.count()?,
        failed: fields.count()?,
        skipped: fields.count()?,
        failed_in_a_row: u32::try_from(fields.count()?).unwrap_or(u32::MAX),
        last_run: fields.maybe_time()?,
        last_duration: fields.get::<Option<f64>>()?.map(from_millis),
        last_error: maybe_text(fields)?,
        last_skip: None,
    };
    tally.last_skip = fields.maybe_time()?.zip(maybe_text(fields)?);
    Ok(tally)
}

fn maybe_text(fields: &mut Fields<'_>) -> Result<Option<Arc<str>>> {
    let text: Option<&str> = fields.get()?;
    Ok(text.map(Arc::from))
}

/// Ids are kept one behind the other.
fn ids(bytes: &[u8]) -> Vec<ExecutionId> {
    let (ids, _) = bytes.as_chunks();
    ids.iter().map(|id| ExecutionId::from_bytes(*id)).collect()
}

pub(super) fn live_row(row: &PgRow) -> Result<Execution> {
    live(&mut Fields::of(row))
}

/// An execution that waits or runs.
pub(super) fn live(fields: &mut Fields<'_>) -> Result<Execution> {
    let head = head(fields)?;
    let state = match head.hold()? {
        Some(running) => State::Running(running),
        None => State::Queued { held: head.waits_for_others() },
    };
    Ok(head.execution(state))
}

/// An execution, whether it is alive or over.
pub(super) fn execution(row: &PgRow) -> Result<Execution> {
    let fields = &mut Fields::of(row);
    let head = head(fields)?;
    let status: &str = fields.get()?;
    let state = match status {
        "QUEUED" | "RUNNING" => match head.hold()? {
            Some(running) => State::Running(running),
            None => State::Queued { held: head.waits_for_others() },
        },
        ended => ending(ended, &head, fields)?,
    };
    Ok(head.execution(state))
}

/// What rows of live executions and of those that are over have in common.
struct Head {
    execution: Execution,
    held: Option<bool>,
    worker: Option<WorkerId>,
    token: Option<Token>,
    started_at: Option<Timestamp>,
    heartbeat_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    deadline: Option<Timestamp>,
    cancel: Option<CancelCause>,
}

/// An execution that has just been handed to this worker, who knows the rest.
pub(super) fn claimed(
    fields: &mut Fields<'_>,
    worker: &WorkerId,
    Terms { now, lease }: Terms,
) -> Result<Execution> {
    let mut execution = waiting(fields)?;
    let (token, deadline) = (fields.token()?, fields.maybe_time()?);
    let without =
        || Error::Corrupt(format!("execution {} was claimed without a token", execution.id));
    let token = token.ok_or_else(without)?;
    let lease = Lease { worker: worker.clone(), token, expires_at: now.after(lease) };
    execution.state = State::Running(Running { deadline, ..Running::begin(lease, now) });
    Ok(execution)
}

/// What every execution has, as one that waits.
fn waiting(fields: &mut Fields<'_>) -> Result<Execution> {
    let (id, job, slot, run_at) = (fields.id()?, fields.id()?, fields.time()?, fields.time()?);
    let trigger = trigger(fields)?;
    let (attempt, retry, lost) = (fields.small()?, fields.small()?, fields.small()?);
    let rank = fields.rank()?;
    let trace: Option<Uuid> = fields.get()?;
    let trace = trace.map(|trace| TraceId::from_bytes(*trace.as_bytes()));
    let overdue_at = fields.maybe_time()?;
    let state = State::Queued { held: false };
    Ok(Execution {
        id,
        job,
        slot,
        trigger,
        run_at,
        attempt,
        retry,
        lost,
        rank,
        trace,
        overdue_at,
        state,
    })
}

fn head(fields: &mut Fields<'_>) -> Result<Head> {
    Ok(Head {
        execution: waiting(fields)?,
        held: fields.get()?,
        worker: fields.worker()?,
        token: fields.token()?,
        started_at: fields.maybe_time()?,
        heartbeat_at: fields.maybe_time()?,
        expires_at: fields.maybe_time()?,
        deadline: fields.maybe_time()?,
        cancel: fields.get::<Option<&str>>()?.map(cause_named).transpose()?,
    })
}

fn trigger(fields: &mut Fields<'_>) -> Result<Trigger> {
    let (name, number): (&str, Option<i64>) = (fields.get()?, fields.get()?);
    let notice: Option<&str> = fields.get()?;
    trigger_named(name, number, notice)
}

/// The trigger of this name, with the number or the notice that goes with it.
pub(super) fn trigger_named(
    name: &str,
    number: Option<i64>,
    notice: Option<&str>,
) -> Result<Trigger> {
    let backfill = |number: i64, again| Trigger::Backfill { number: number.unsigned_abs(), again };
    match (name, number, notice) {
        ("schedule", _, _) => Ok(Trigger::Schedule),
        ("catch_up", _, _) => Ok(Trigger::CatchUp),
        ("manual", Some(number), _) => Ok(Trigger::Manual { number: number.unsigned_abs() }),
        ("backfill", Some(number), _) => Ok(backfill(number, false)),
        ("backfill_again", Some(number), _) => Ok(backfill(number, true)),
        ("notice", _, Some(notice)) => serde_json::from_str(notice)
            .map(Trigger::Notice)
            .map_err(|error| Error::Corrupt(format!("a notice cannot be read: {error}"))),
        _ => Err(Error::Corrupt(format!("\"{name}\" triggers nothing"))),
    }
}

impl Head {
    fn execution(self, state: State) -> Execution {
        Execution { state, ..self.execution }
    }

    fn waits_for_others(&self) -> bool {
        self.held.unwrap_or(false)
    }

    /// The worker's hold on it, if one has it.
    fn hold(&self) -> Result<Option<Running>> {
        let Some(token) = self.token else {
            return Ok(None);
        };
        let lacks = || corrupt(self, "runs without a lease");
        let worker = self.worker.clone().ok_or_else(lacks)?;
        let expires_at = self.expires_at.ok_or_else(lacks)?;
        let running = Running {
            lease: Lease { worker, token, expires_at },
            started_at: self.started_at.ok_or_else(lacks)?,
            heartbeat_at: self.heartbeat_at.ok_or_else(lacks)?,
            cancel: self.cancel,
            deadline: self.deadline,
        };
        Ok(Some(running))
    }
}

fn corrupt(head: &Head, what: &str) -> Error {
    Error::Corrupt(format!("execution {} {what}", head.execution.id))
}

/// How an execution ended.
fn ending(status: &str, head: &Head, fields: &mut Fields<'_>) -> Result<State> {
    let finished_at = fields.time()?;
    let took = fields.get::<Option<f64>>()?.map(from_millis);
    let log = maybe_text(fields)?;
    let response = response(fields)?;
    let error = maybe_text(fields)?;
    let retryable: Option<bool> = fields.get()?;
    let retry_after = fields.get::<Option<f64>>()?.map(from_millis);
    let (reason, note): (Option<&str>, Option<&str>) = (fields.get()?, fields.get()?);
    let run = match (head.worker.clone(), head.token, head.started_at, took) {
        (Some(worker), Some(token), Some(started_at), Some(took)) => {
            Some(Run { worker, token, started_at, finished_at, took, log, response })
        }
        _ => None,
    };
    let begun = |run: Option<Run>| run.ok_or_else(|| corrupt(head, "ended without a run"));
    match status {
        "SUCCESS" => begun(run).map(State::Success),
        "TIMED_OUT" => begun(run).map(State::TimedOut),
        "STUCK" => begun(run).map(State::Stuck),
        "FAILED" => {
            let transient = retryable.unwrap_or(false);
            let class = if transient { retry::Class::Transient } else { retry::Class::Permanent };
            let message = error.unwrap_or_default();
            Ok(State::Failed(begun(run)?, Failure { class, message, retry_after }))
        }
        "CANCELLED" => {
            let cause = cause_named(reason.unwrap_or_default())?;
            Ok(State::Cancelled { run, cause, at: finished_at })
        }
        "SKIPPED" => {
            let reason = reason_named(reason.unwrap_or_default(), note)?;
            Ok(State::Skipped { reason, at: finished_at })
        }
        _ => Err(corrupt(head, "has an unknown status")),
    }
}

fn response(fields: &mut Fields<'_>) -> Result<Option<Arc<Response>>> {
    let (status, took): (Option<i32>, Option<f64>) = (fields.get()?, fields.get()?);
    let (body, truncated): (Option<&[u8]>, Option<bool>) = (fields.get()?, fields.get()?);
    Ok(status.map(|status| {
        Arc::new(Response {
            status: u16::try_from(status).unwrap_or(0),
            took: took.map(from_millis).unwrap_or_default(),
            body: body.unwrap_or_default().into(),
            truncated: truncated.unwrap_or(false),
        })
    }))
}
