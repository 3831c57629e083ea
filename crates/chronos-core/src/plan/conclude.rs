//! Concluding: what the end of an execution leads to.

use std::sync::Arc;
use std::time::Duration;

use super::{Live, Telling};
use crate::audit::{Decision, EndingKind};
use crate::execution::{
    CancelCause, Execution, Failure, LOST, Report, Run, SkipReason, State, TIMED_OUT,
};
use crate::job::{Failing, Job, Standing, Tally};
use crate::notice::{self, Kind, Notice, Occasions};
use crate::policy::retry;
use crate::{ExecutionId, Timestamp};

/// A slot lost with its worker more often than this is given up.
const MAX_LOST: u32 = 3;

/// How a running execution came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The job is done.
    Success,
    /// The job failed.
    Failed(Failure),
    /// The job ran longer than it may.
    TimedOut,
    /// The lease ran out.
    Stuck,
    /// The job stopped because it was asked to.
    Cancelled,
    /// The job found nothing to do, and says why.
    Skipped(Arc<str>),
    /// The node stopped before the job did.
    Interrupted,
}

/// What the end of an execution leads to, all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// The execution in its last state.
    pub ended: Execution,
    /// The next attempt at the same slot.
    pub again: Option<Execution>,
    /// Where the job stands afterwards; `None` when it no longer exists.
    pub standing: Option<Standing>,
    /// What was decided.
    pub decision: Decision,
    /// Whether the slot failed for good.
    pub dead_letter: bool,
    /// What is told of it.
    pub telling: Option<Telling>,
}

/// Decides what the end of a running execution leads to; `None` when it is not running.
///
/// `job` is `None` when the job was deleted meanwhile; of `live`, the job's other executions and what is
/// usually told count.
#[must_use]
pub fn conclude(
    job: Option<&Job>,
    execution: &Execution,
    live: &Live<'_>,
    ending: Ending,
    report: Report,
) -> Option<Conclusion> {
    let running = execution.running()?;
    let now = report.at;
    let ending = match (ending, running.cancel) {
        // Whoever was asked to stop and then failed, stopped.
        (Ending::Failed(_) | Ending::TimedOut | Ending::Stuck | Ending::Interrupted, Some(_)) => {
            Ending::Cancelled
        }
        (ending, _) => ending,
    };
    let run = running.end(report);
    let again = job.and_then(|job| next_attempt(job, execution, live.executions, &ending, now));
    let kind = kind_of(&ending);
    let hopeless = matches!(kind, EndingKind::Failed | EndingKind::TimedOut | EndingKind::Stuck);
    // Nobody is told that nobody could be told.
    let notice = execution.notice();
    let dead_letter = hopeless && again.is_none() && notice.is_none();
    let mut ended = execution.clone();
    let standing = job.map(|job| {
        let mut standing = job.standing.clone();
        if notice.is_none() {
            count(&mut standing.tally, &ending, &run, execution);
            standing.failing = failing(job, kind, dead_letter, now);
        }
        standing
    });
    ended.state = final_state(ending, run, cause_of(execution), now);
    let (id, slot) = (execution.id, execution.slot);
    let next_attempt = again.as_ref().map(|again| again.run_at);
    let decision = match notice {
        None => Decision::Ended { execution: id, slot, ending: kind, next_attempt },
        Some(Notice { kind: told, .. }) => {
            Decision::NoticeEnded { notice: id, kind: *told, ending: kind, next_attempt }
        }
    };
    let telling = match (job, &standing) {
        (Some(job), Some(after)) if notice.is_none() => {
            tell(job, &ended, (kind, dead_letter, after), live, now)
        }
        _ => None,
    };
    Some(Conclusion { ended, again, standing, decision, dead_letter, telling })
}

/// Since when the job's runs fail for good, once one of them has come to this end.
fn failing(job: &Job, ending: EndingKind, for_good: bool, now: Timestamp) -> Option<Failing> {
    let before = job.standing.failing;
    match ending {
        EndingKind::Success => None,
        _ if for_good => Some(Failing {
            since: before.map_or(now, |failing| failing.since),
            failures: before.map_or(0, |failing| failing.failures).saturating_add(1),
        }),
        _ => before,
    }
}

/// What is told of a run that has come to this end.
fn tell(
    job: &Job,
    ended: &Execution,
    (ending, for_good, after): (EndingKind, bool, &Standing),
    live: &Live<'_>,
    now: Timestamp,
) -> Option<Telling> {
    let recovered = ending == EndingKind::Success && job.standing.failing.is_some();
    let (kind, failing) = match (for_good, recovered) {
        (true, _) => (Kind::Failure, after.failing),
        (_, true) => (Kind::Recovery, job.standing.failing),
        _ => return None,
    };
    let wanted = Occasions::about(&job.spec, live.usual).covers(kind);
    wanted.then(|| Telling::new(kind, ended, failing, live.executions, now))
}

fn next_attempt(
    job: &Job,
    execution: &Execution,
    siblings: &[&Execution],
    ending: &Ending,
    now: Timestamp,
) -> Option<Execution> {
    let mut again = match ending {
        // A graceful stop uses up nothing.
        Ending::Interrupted => execution.again(now),
        // A dead node is not the job's failure.
        Ending::Stuck if execution.lost < MAX_LOST => {
            Execution { lost: execution.lost + 1, ..execution.again(now) }
        }
        Ending::Stuck | Ending::Success | Ending::Cancelled | Ending::Skipped(_) => return None,
        Ending::TimedOut => retry_of(job, execution, siblings, None, now)?,
        Ending::Failed(failure) => {
            if failure.class == retry::Class::Permanent {
                return None;
            }
            retry_of(job, execution, siblings, failure.retry_after, now)?
        }
    };
    let paused = job.standing.paused.is_some() && execution.trigger.waits_out_pauses();
    // What the schedule asks for goes before what is filled in.
    let gives_way = execution.trigger.backfill().is_some()
        && siblings.iter().any(|sibling| waits_behind(job, sibling));
    again.state = State::Queued { held: paused || gives_way };
    Some(again)
}

fn retry_of(
    job: &Job,
    execution: &Execution,
    siblings: &[&Execution],
    asked: Option<Duration>,
    now: Timestamp,
) -> Option<Execution> {
    let is_run = execution.notice().is_none();
    let policy = if is_run { &job.spec.retry } else { &notice::RETRY };
    // A run that waits behind this one goes first, so a retry of this one would be superseded; what is filled
    // in waits for it instead.
    let is_superseded = is_run
        && execution.trigger.backfill().is_none()
        && siblings.iter().any(|sibling| waits_behind(job, sibling));
    if execution.retry >= policy.max_retry || is_superseded {
        return None;
    }
    let delay = policy.delay(execution.job, execution.slot, execution.retry);
    let delay = delay.max(asked.unwrap_or_default().min(policy.max_delay));
    Some(Execution { retry: execution.retry + 1, ..execution.again(now.after(delay)) })
}

/// Whether a run waits for another of the job to end, and not for a pause to.
fn waits_behind(job: &Job, run: &Execution) -> bool {
    run.is_held() && !run.is_waiting_retry() && !job.keeps_waiting(run)
}

fn kind_of(ending: &Ending) -> EndingKind {
    match ending {
        Ending::Success => EndingKind::Success,
        Ending::Failed(_) => EndingKind::Failed,
        Ending::TimedOut => EndingKind::TimedOut,
        Ending::Stuck => EndingKind::Stuck,
        Ending::Cancelled | Ending::Interrupted => EndingKind::Cancelled,
        Ending::Skipped(_) => EndingKind::Skipped,
    }
}

fn final_state(ending: Ending, run: Run, asked: CancelCause, now: Timestamp) -> State {
    let at = run.finished_at;
    match ending {
        Ending::Success => State::Success(run),
        Ending::Failed(failure) => State::Failed(run, failure),
        Ending::TimedOut => State::TimedOut(run),
        Ending::Stuck => State::Stuck(run),
        Ending::Cancelled => State::Cancelled { run: Some(run), cause: asked, at },
        Ending::Interrupted => {
            State::Cancelled { run: Some(run), cause: CancelCause::Shutdown, at }
        }
        Ending::Skipped(reason) => State::Skipped { reason: SkipReason::ByJob(reason), at: now },
    }
}

fn count(tally: &mut Tally, ending: &Ending, run: &Run, execution: &Execution) {
    let error: Option<Arc<str>> = match ending {
        Ending::Success => None,
        Ending::Skipped(reason) => {
            tally.skipped += 1;
            tally.last_skip = Some((execution.slot, reason.clone()));
            return;
        }
        Ending::Failed(failure) => Some(failure.message.clone()),
        Ending::TimedOut => Some(TIMED_OUT.into()),
        Ending::Stuck => Some(LOST.into()),
        Ending::Cancelled => Some(cancelled(cause_of(execution))),
        Ending::Interrupted => Some(cancelled(CancelCause::Shutdown)),
    };
    tally.last_run = Some(run.started_at);
    tally.last_duration = Some(run.duration());
    if error.is_some() {
        tally.failed += 1;
        tally.failed_in_a_row += 1;
    } else {
        tally.succeeded += 1;
        tally.failed_in_a_row = 0;
    }
    tally.last_error = error;
}

fn cancelled(cause: CancelCause) -> Arc<str> {
    format!("cancelled: {}", cause.as_str()).into()
}

/// Who asked a running execution to stop.
fn cause_of(execution: &Execution) -> CancelCause {
    execution.running().and_then(|running| running.cancel).unwrap_or(CancelCause::User)
}

/// What a job's other executions may do once one of them is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowUp {
    /// Held executions that are now free to be claimed, oldest first.
    pub release: Vec<ExecutionId>,
    /// The next slot of a schedule that counts from the end of its runs.
    pub next_slot: Option<Timestamp>,
    /// Whether such a schedule has no slot left: the job is to be disabled.
    pub over: bool,
}

/// Decides what the job's live executions may do, given those that are alive after a step.
///
/// Belongs to every step that ended or withdrew an execution or changed the job; it says nothing
/// after any other.
#[must_use]
pub fn follow_up(job: &Job, live: &[&Execution], now: Timestamp) -> FollowUp {
    let runs = live.iter().filter(|execution| execution.notice().is_none());
    let active = runs.filter(|execution| !execution.is_held()).count();
    let free = match job.spec.overlap.capacity() {
        None => usize::MAX,
        Some(most) => (most as usize).saturating_sub(active),
    };
    let mut held: Vec<_> = live
        .iter()
        .filter(|execution| execution.is_held() && !job.keeps_waiting(execution))
        .collect();
    // What the schedule asks for goes before what is filled in.
    let filled_in = |execution: &Execution| execution.trigger.backfill().is_some();
    held.sort_by_key(|execution| (filled_in(execution), execution.slot, execution.attempt));
    let release = held.iter().take(free).map(|execution| execution.id);
    let standing = &job.standing;
    let waits_for_end = standing.enabled && standing.next_slot.is_none();
    let ended = waits_for_end && !live.iter().any(|live| live.trigger.is_scheduled());
    // Clocks may step back; slots never do.
    let end = standing.last_slot.map_or(now, |last| last.max(now));
    let next_slot = ended.then(|| job.spec.schedule.next_from_end(end)).flatten();
    FollowUp { release: release.collect(), next_slot, over: ended && next_slot.is_none() }
}
