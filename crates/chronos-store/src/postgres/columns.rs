//! Rows as the database takes them: one array for each column, so that a batch is one statement.

use std::borrow::Cow;

use chronos_core::execution::{Run, Running, State, Trigger};
use chronos_core::policy::retry;
use chronos_core::store::{Error, Result};
use chronos_core::{Execution, Timestamp};
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::types::Uuid;
use sqlx::types::chrono::{DateTime, Utc};

use super::finishing::PlainEnd;
use super::step::{Desk, expiry};
use super::values::{AsUuid as _, cause_name, count, millis, reason_name, small, tag, text, time};

type Bound = Query<'static, Postgres, PgArguments>;
type Instant = DateTime<Utc>;

/// The columns that every execution has.
#[derive(Default)]
struct Heads {
    ids: Vec<Uuid>,
    jobs: Vec<Uuid>,
    slots: Vec<Instant>,
    run_ats: Vec<Instant>,
    triggers: Vec<&'static str>,
    numbers: Vec<Option<i64>>,
    notices: Vec<Option<String>>,
    attempts: Vec<i32>,
    retries: Vec<i32>,
    losts: Vec<i32>,
    priorities: Vec<i16>,
    traces: Vec<Option<Uuid>>,
    overdue_ats: Vec<Option<Instant>>,
}

impl Heads {
    fn push(&mut self, execution: &Execution) -> Result<()> {
        let (number, notice) = match &execution.trigger {
            Trigger::Schedule | Trigger::CatchUp => (None, None),
            Trigger::Manual { number } | Trigger::Backfill { number, .. } => {
                (Some(count(*number)), None)
            }
            Trigger::Notice(notice) => (None, Some(serde_json::to_string(notice))),
        };
        let notice = notice.transpose();
        let notice =
            notice.map_err(|error| Error::Corrupt(format!("cannot write a notice: {error}")))?;
        self.ids.push(execution.id.uuid());
        self.jobs.push(execution.job.uuid());
        self.slots.push(time(execution.slot));
        self.run_ats.push(time(execution.run_at));
        self.triggers.push(match &execution.trigger {
            Trigger::Backfill { again: true, .. } => "backfill_again",
            trigger => trigger.as_str(),
        });
        self.numbers.push(number);
        self.notices.push(notice);
        self.attempts.push(small(execution.attempt));
        self.retries.push(small(execution.retry));
        self.losts.push(small(execution.lost));
        self.priorities.push(execution.rank.number().into());
        self.traces.push(execution.trace.map(|trace| Uuid::from_bytes(*trace.as_bytes())));
        self.overdue_ats.push(execution.overdue_at.map(time));
        Ok(())
    }

    /// Binds what follows the times.
    fn bind_rest(&self, query: Bound) -> Bound {
        let query = query.bind(&self.triggers).bind(&self.numbers).bind(&self.notices);
        let query = query.bind(&self.attempts).bind(&self.retries).bind(&self.losts);
        query.bind(&self.priorities).bind(&self.traces).bind(&self.overdue_ats)
    }
}

/// Live executions.
#[derive(Default)]
pub(super) struct LiveColumns<'a> {
    heads: Heads,
    held: Vec<bool>,
    workers: Vec<Option<Cow<'a, str>>>,
    tokens: Vec<Option<i64>>,
    started_ats: Vec<Option<Instant>>,
    heartbeat_ats: Vec<Option<Instant>>,
    expires_ats: Vec<Option<Instant>>,
    deadlines: Vec<Option<Instant>>,
    reap_ats: Vec<Option<Instant>>,
    cancels: Vec<Option<&'static str>>,
}

impl<'a> LiveColumns<'a> {
    pub(super) fn push(&mut self, execution: &'a Execution) -> Result<()> {
        let running: Option<&Running> = execution.running();
        let at = |at: fn(&Running) -> Timestamp| running.map(|running| time(at(running)));
        self.heads.push(execution)?;
        self.held.push(execution.is_held());
        self.workers.push(running.map(|running| text(running.lease.worker.as_str())));
        self.tokens.push(running.map(|running| count(running.lease.token.0)));
        self.started_ats.push(at(|running| running.started_at));
        self.heartbeat_ats.push(at(|running| running.heartbeat_at));
        self.expires_ats.push(at(|running| running.lease.expires_at));
        self.deadlines.push(running.and_then(|running| running.deadline).map(time));
        self.reap_ats.push(expiry(execution).map(|(at, _)| time(at)));
        self.cancels.push(running.and_then(|running| running.cancel).map(cause_name));
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn bind_all(self, query: Bound) -> Bound {
        let heads = &self.heads;
        let query = query.bind(&heads.ids).bind(&heads.jobs).bind(&heads.slots);
        let query = heads.bind_rest(query.bind(&heads.run_ats));
        self.bind_state(query)
    }

    pub(super) fn bind_changes(self, query: Bound) -> Bound {
        let query = query.bind(&self.heads.ids);
        self.bind_state(query).bind(&self.heads.overdue_ats)
    }

    fn bind_state(&self, query: Bound) -> Bound {
        let query = query.bind(&self.held).bind(owned(&self.workers)).bind(&self.tokens);
        let query = query.bind(&self.started_ats).bind(&self.heartbeat_ats);
        let query = query.bind(&self.expires_ats).bind(&self.deadlines).bind(&self.reap_ats);
        query.bind(&self.cancels)
    }
}

fn owned<'a>(texts: &'a [Option<Cow<'_, str>>]) -> Vec<Option<&'a str>> {
    texts.iter().map(Option::as_deref).collect()
}

/// Executions that are over.
#[derive(Default)]
pub(super) struct PastColumns<'a> {
    heads: Heads,
    tags: Vec<i32>,
    statuses: Vec<&'static str>,
    workers: Vec<Option<Cow<'a, str>>>,
    tokens: Vec<Option<i64>>,
    started_ats: Vec<Option<Instant>>,
    finished_ats: Vec<Instant>,
    durations: Vec<Option<f64>>,
    response_codes: Vec<Option<i32>>,
    response_times: Vec<Option<f64>>,
    response_bodies: Vec<Option<&'a [u8]>>,
    truncated: Vec<Option<bool>>,
    errors: Vec<Option<Cow<'a, str>>>,
    retryable: Vec<Option<bool>>,
    retry_afters: Vec<Option<f64>>,
    reasons: Vec<Option<&'static str>>,
    notes: Vec<Option<Cow<'a, str>>>,
    logs: Vec<Option<Cow<'a, str>>>,
    dead_letters: Vec<bool>,
}

impl<'a> PastColumns<'a> {
    pub(super) fn push(&mut self, execution: &'a Execution, dead_letter: bool) -> Result<()> {
        let failure = match &execution.state {
            State::Failed(_, failure) => Some(failure),
            _ => None,
        };
        let (reason, note) = match &execution.state {
            State::Cancelled { cause, .. } => (Some(cause_name(*cause)), None),
            State::Skipped { reason, .. } => {
                let (name, note) = reason_name(reason);
                (Some(name), note)
            }
            _ => (None, None),
        };
        let unfinished = || Error::Corrupt(format!("execution {} is not over", execution.id));
        self.finished_ats.push(time(execution.finished_at().ok_or_else(unfinished)?));
        self.heads.push(execution)?;
        self.tags.push(tag(execution.id.tag()));
        self.statuses.push(execution.status());
        self.push_run(execution.run());
        self.errors.push(failure.map(|failure| text(&failure.message)));
        self.retryable.push(failure.map(|failure| failure.class == retry::Class::Transient));
        self.retry_afters.push(failure.and_then(|failure| failure.retry_after).map(millis));
        self.reasons.push(reason);
        self.notes.push(note.map(text));
        self.dead_letters.push(dead_letter);
        Ok(())
    }

    fn push_run(&mut self, run: Option<&'a Run>) {
        let response = run.and_then(|run| run.response.as_deref());
        self.workers.push(run.map(|run| text(run.worker.as_str())));
        self.tokens.push(run.map(|run| count(run.token.0)));
        self.started_ats.push(run.map(|run| time(run.started_at)));
        self.durations.push(run.map(|run| millis(run.took)));
        self.logs.push(run.and_then(|run| run.log.as_deref()).map(text));
        self.response_codes.push(response.map(|response| i32::from(response.status)));
        self.response_times.push(response.map(|response| millis(response.took)));
        self.response_bodies.push(response.map(|response| &*response.body));
        self.truncated.push(response.map(|response| response.truncated));
    }

    pub(super) fn bind(self, query: Bound) -> Bound {
        let heads = &self.heads;
        let query = query.bind(&heads.ids).bind(&heads.jobs).bind(self.tags).bind(&heads.slots);
        let query = heads.bind_rest(query.bind(&heads.run_ats));
        let query = query.bind(self.statuses).bind(owned(&self.workers)).bind(self.tokens);
        let query = query.bind(self.started_ats).bind(self.finished_ats).bind(self.durations);
        let query = query.bind(self.response_codes).bind(self.response_times);
        let query = query.bind(self.response_bodies).bind(self.truncated);
        let query = query.bind(owned(&self.errors)).bind(self.retryable).bind(self.retry_afters);
        let query = query.bind(self.reasons).bind(owned(&self.notes)).bind(owned(&self.logs));
        query.bind(self.dead_letters)
    }
}

/// Plain ends of runs.
#[derive(Default)]
pub(super) struct EndColumns<'a> {
    ids: Vec<Uuid>,
    tokens: Vec<i64>,
    jobs: Vec<Uuid>,
    changes: Vec<i64>,
    succeeded: Vec<i64>,
    rests: Vec<&'static str>,
    started_ats: Vec<Instant>,
    finished_ats: Vec<Instant>,
    durations: Vec<f64>,
    tags: Vec<i32>,
    response_codes: Vec<Option<i32>>,
    response_times: Vec<Option<f64>>,
    response_bodies: Vec<Option<&'a [u8]>>,
    truncated: Vec<Option<bool>>,
    logs: Vec<Option<Cow<'a, str>>>,
}

impl<'a> EndColumns<'a> {
    pub(super) fn push(
        &mut self,
        PlainEnd { row, tally, rest, ended, .. }: &'a PlainEnd,
    ) -> Result<()> {
        let without = || Error::Corrupt(format!("execution {} ended without a run", ended.id));
        let run = ended.run().ok_or_else(without)?;
        let response = run.response.as_deref();
        self.ids.push(ended.id.uuid());
        self.tokens.push(count(run.token.0));
        self.jobs.push(row.id.uuid());
        self.changes.push(row.changes);
        self.succeeded.push(count(tally.succeeded));
        self.rests.push(rest.as_str());
        self.started_ats.push(time(run.started_at));
        self.finished_ats.push(time(run.finished_at));
        self.durations.push(millis(run.took));
        self.tags.push(tag(ended.id.tag()));
        self.response_codes.push(response.map(|response| i32::from(response.status)));
        self.response_times.push(response.map(|response| millis(response.took)));
        self.response_bodies.push(response.map(|response| &*response.body));
        self.truncated.push(response.map(|response| response.truncated));
        self.logs.push(run.log.as_deref().map(text));
        Ok(())
    }

    pub(super) fn bind(self, query: Bound) -> Bound {
        let query = query.bind(self.ids).bind(self.tokens).bind(self.jobs).bind(self.changes);
        let query = query.bind(self.succeeded).bind(self.rests).bind(self.started_ats);
        let query = query.bind(self.finished_ats).bind(self.durations).bind(self.tags);
        let query = query.bind(self.response_codes).bind(self.response_times);
        let query = query.bind(self.response_bodies).bind(self.truncated);
        query.bind(owned(&self.logs))
    }
}

/// Jobs, where they stand.
#[derive(Default)]
pub(super) struct StandingColumns<'a> {
    ids: Vec<Uuid>,
    deleted: Vec<bool>,
    due_ats: Vec<Option<Instant>>,
    enabled: Vec<bool>,
    rests: Vec<&'static str>,
    next_slots: Vec<Option<Instant>>,
    last_slots: Vec<Option<Instant>>,
    deferred_untils: Vec<Option<Instant>>,
    paused_sinces: Vec<Option<Instant>>,
    pause_notes: Vec<Option<Cow<'a, str>>>,
    retries: Vec<i32>,
    counts: [Vec<i64>; 6],
    last_runs: Vec<Option<Instant>>,
    last_durations: Vec<Option<f64>>,
    last_errors: Vec<Option<Cow<'a, str>>>,
    last_skips: Vec<Option<Instant>>,
    last_skip_reasons: Vec<Option<Cow<'a, str>>>,
    failing_sinces: Vec<Option<Instant>>,
    failures: Vec<Option<i32>>,
    lives: Vec<Vec<u8>>,
    resume_ats: Vec<Option<Instant>>,
}

impl<'a> StandingColumns<'a> {
    pub(super) fn push(&mut self, desk: &'a Desk) {
        let (standing, tally) = (desk.standing(), &desk.standing().tally);
        let paused = standing.paused.as_ref();
        self.ids.push(desk.row.id.uuid());
        self.deleted.push(desk.row.deleted);
        self.due_ats.push(desk.due_at().map(time));
        self.enabled.push(standing.enabled);
        self.rests.push(desk.rest().as_str());
        self.next_slots.push(standing.next_slot.map(time));
        self.last_slots.push(standing.last_slot.map(time));
        self.deferred_untils.push(standing.deferred_until.map(time));
        self.paused_sinces.push(paused.map(|paused| time(paused.since)));
        self.pause_notes.push(paused.and_then(|paused| paused.note.as_deref()).map(text));
        self.resume_ats.push(paused.and_then(|paused| paused.resume_at).map(time));
        self.retries.push(small(desk.retry_count()));
        let counts = [
            tally.fired,
            tally.manual,
            tally.succeeded,
            tally.failed,
            tally.skipped,
            tally.failed_in_a_row.into(),
        ];
        for (column, number) in self.counts.iter_mut().zip(counts) {
            column.push(count(number));
        }
        self.last_runs.push(tally.last_run.map(time));
        self.last_durations.push(tally.last_duration.map(millis));
        self.last_errors.push(tally.last_error.as_deref().map(text));
        self.last_skips.push(tally.last_skip.as_ref().map(|(slot, _)| time(*slot)));
        self.last_skip_reasons.push(tally.last_skip.as_ref().map(|(_, reason)| text(reason)));
        self.failing_sinces.push(standing.failing.map(|failing| time(failing.since)));
        self.failures.push(standing.failing.map(|failing| small(failing.failures)));
        self.lives.push(desk.live.iter().flat_map(|live| *live.id.as_bytes()).collect());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn bind(self, query: Bound) -> Bound {
        let query = query.bind(self.ids).bind(self.deleted).bind(self.due_ats).bind(self.enabled);
        let query = query.bind(self.rests).bind(self.next_slots).bind(self.last_slots);
        let query = query.bind(self.deferred_untils).bind(self.paused_sinces);
        let query = query.bind(owned(&self.pause_notes)).bind(self.retries);
        let query = self.counts.into_iter().fold(query, Query::bind);
        let query = query.bind(self.last_runs).bind(self.last_durations);
        let query = query.bind(owned(&self.last_errors)).bind(self.last_skips);
        let query = query.bind(owned(&self.last_skip_reasons)).bind(self.failing_sinces);
        query.bind(self.failures).bind(self.lives).bind(self.resume_ats)
    }
}
