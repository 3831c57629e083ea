//! The past: executions that are over, as their table keeps them.

use chronos_core::execution::{Run, State};
use chronos_core::policy::retry;
use chronos_core::store::{Error, Result};
use chronos_core::{Execution, Timestamp};
use sqlx::PgConnection;

use super::copy::Rows;
use super::fault::Outcome;
use super::shared::Shared;
use super::step::Step;
use super::values::{cause_name, count, millis, reason_name, tag};

/// The columns behind those that every execution has, in the order in which rows have them.
pub(super) const COLUMNS: [&str; 19] = [
    "recorded_at",
    "tag",
    "status",
    "worker_id",
    "token",
    "started_at",
    "finished_at",
    "duration_ms",
    "response_code",
    "response_ms",
    "response_body",
    "response_truncated",
    "error",
    "retryable",
    "retry_after_ms",
    "reason",
    "note",
    "log",
    "dead_letter",
];

impl Shared {
    /// Files executions that are over, each a dead letter or not.
    pub(super) async fn file<'a>(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        past: impl Iterator<Item = (&'a Execution, bool)>,
    ) -> Outcome<()> {
        let mut rows = Rows::new(COLUMNS.len());
        for (execution, dead_letter) in past {
            push(&mut rows, step.now, execution, dead_letter)?;
        }
        if rows.is_empty() {
            return Ok(());
        }
        rows.copy(connection, &self.copy_past).await
    }
}

fn push(rows: &mut Rows, now: Timestamp, execution: &Execution, dead_letter: bool) -> Result<()> {
    let unfinished = || Error::Corrupt(format!("execution {} is not over", execution.id));
    let finished_at = execution.finished_at().ok_or_else(unfinished)?;
    let run = execution.run();
    rows.begin(execution)?;
    rows.time(now);
    rows.field(&tag(execution.id.tag()).to_be_bytes());
    rows.text(execution.status());
    rows.maybe(run, |rows, run| rows.text(run.worker.as_str()));
    rows.maybe(run, |rows, run| rows.number(count(run.token.0)));
    rows.maybe(run, |rows, run| rows.time(run.started_at));
    rows.time(finished_at);
    push_run(rows, run);
    push_state(rows, &execution.state);
    rows.maybe(run.and_then(|run| run.log.as_deref()), Rows::text);
    rows.flag(dead_letter);
    Ok(())
}

/// How long the run took, and what answered it.
fn push_run(rows: &mut Rows, run: Option<&Run>) {
    let response = run.and_then(|run| run.response.as_deref());
    rows.maybe(run, |rows, run| rows.real(millis(run.took)));
    rows.maybe(response, |rows, it| rows.field(&i32::from(it.status).to_be_bytes()));
    rows.maybe(response, |rows, it| rows.real(millis(it.took)));
    rows.maybe(response, |rows, it| rows.field(&it.body));
    rows.maybe(response, |rows, it| rows.flag(it.truncated));
}

/// Why it failed, or why it came to no end of its own.
fn push_state(rows: &mut Rows, state: &State) {
    let failure = match state {
        State::Failed(_, failure) => Some(failure),
        _ => None,
    };
    let (reason, note) = match state {
        State::Cancelled { cause, .. } => (Some(cause_name(*cause)), None),
        State::Skipped { reason, .. } => {
            let (name, note) = reason_name(reason);
            (Some(name), note)
        }
        _ => (None, None),
    };
    let transient = failure.map(|failure| failure.class == retry::Class::Transient);
    let retry_after = failure.and_then(|failure| failure.retry_after);
    rows.maybe(failure, |rows, failure| rows.text(&failure.message));
    rows.maybe(transient, Rows::flag);
    rows.maybe(retry_after, |rows, after| rows.real(millis(after)));
    rows.maybe(reason, Rows::text);
    rows.maybe(note, Rows::text);
}
