//! Changing a job: an edit, a pause, a resume or a switch, without losing or doubling a slot.

use std::sync::Arc;

use super::{Draft, Live, Plan, Withdrawal, plan};
use crate::audit::{Decision, Slots};
use crate::execution::{CancelCause, Execution, SkipReason, State};
use crate::job::{Job, JobSpec, Pause};
use crate::{Error, Timestamp};

/// What someone wants changed about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What it does and when; its identity, age and standing stay.
    Edit(Box<JobSpec>),
    /// Nothing of it begins until it is resumed. Of a job that is paused already it changes what was said
    /// about that, if it says anything.
    Pause {
        /// Why, for those who find it paused.
        note: Option<Arc<str>>,
        /// When it resumes by itself; `None` when somebody must say so.
        resume_at: Option<Timestamp>,
    },
    /// It goes on with its next slot.
    Resume,
    /// It has no slots until it is enabled again; what waits is cancelled, what runs is asked to stop.
    Disable,
    /// It has slots again, from now on.
    Enable,
}

/// A changed job, and what a store must do in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amended {
    /// The job afterwards; its standing is the plan's.
    pub spec: Arc<JobSpec>,
    /// What to record and withdraw.
    pub plan: Plan,
}

/// Decides what a change leads to.
///
/// Slots that are due are settled first, under the job as it was: a change reaches only what comes
/// after it.
pub fn amend(job: &Job, live: &Live<'_>, change: Change, now: Timestamp) -> Result<Amended, Error> {
    let mut settled = plan(job, live, now);
    let mut spec = job.spec.clone();
    match change {
        Change::Pause { note, resume_at } => {
            let asked = Pause { since: now, note, resume_at };
            check_pause(&asked)?;
            match settled.standing.paused.clone() {
                None => pause(job, live, &mut settled, asked),
                Some(before) => pause_anew(&mut settled, &before, asked),
            }
        }
        Change::Resume => {
            if settled.standing.paused.take().is_some() {
                settled.decisions.push(Decision::Resumed { by_itself: false });
            }
        }
        Change::Disable => disable(live, &mut settled, now),
        Change::Enable => {
            if !settled.standing.enabled {
                settled.standing = settled.standing.clone().moved_to(&spec.schedule, now)?;
                settled.decisions.push(Decision::Enabled);
            }
        }
        Change::Edit(edited) => {
            spec = Arc::new(edit(job, live, &mut settled, *edited, now)?);
        }
    }
    Ok(Amended { spec, plan: settled })
}

/// Refuses a pause that would be over before it begins, and one that says too much.
fn check_pause(pause: &Pause) -> Result<(), Error> {
    let given = pause.note.as_ref().map_or(0, |note| note.chars().count());
    if given > Pause::MAX_NOTE {
        return Err(Error::PauseNote { given });
    }
    match pause.resume_at {
        Some(given) if given <= pause.since => Err(Error::ResumeAt { given }),
        _ => Ok(()),
    }
}

/// Changes what was said about a pause, but not since when it is.
fn pause_anew(plan: &mut Plan, before: &Pause, asked: Pause) {
    let anew = Pause { since: before.since, ..asked };
    let says_something = anew.note.is_some() || anew.resume_at.is_some();
    if says_something && anew != *before {
        let (note, resume_at) = (anew.note.clone(), anew.resume_at);
        plan.decisions.push(Decision::Paused { note, resume_at });
        plan.standing.paused = Some(anew);
    }
}

/// Nothing that waits begins any more, whether it waited before or was queued in this very step.
fn pause(job: &Job, live: &Live<'_>, plan: &mut Plan, asked: Pause) {
    let (now, note, resume_at) = (asked.since, asked.note.clone(), asked.resume_at);
    plan.decisions.push(Decision::Paused { note: note.clone(), resume_at });
    plan.standing.paused = Some(asked);
    let reason = SkipReason::Paused(note);
    // Begun by nobody, a first attempt is skipped like a slot; a one-time job is late, not lost, and so is
    // what somebody fills in.
    let is_skipped = |execution: &Execution| {
        let passes = execution.attempt == 1 && execution.trigger.is_scheduled();
        passes && !job.spec.schedule.is_one_shot()
    };
    let waits =
        |execution: &Execution| execution.is_queued() && execution.trigger.waits_out_pauses();
    for execution in live.executions.iter().filter(|live| waits(live)) {
        if plan.withdraws(execution.id) {
            continue;
        }
        if is_skipped(execution) {
            plan.skip_waiting(execution, reason.clone());
            plan.standing.tally.pass_over(&Slots::one(execution.slot), &reason);
        } else {
            plan.withdrawals.push(Withdrawal::Hold(execution.id));
        }
    }
    for execution in plan.executions.iter_mut().filter(|planned| waits(planned)) {
        if is_skipped(execution) {
            let (slots, reason) = (Slots::one(execution.slot), reason.clone());
            execution.state = State::Skipped { reason: reason.clone(), at: now };
            plan.standing.tally.pass_over(&slots, &reason);
            plan.decisions.push(Decision::Skipped { slots, reason });
        } else {
            execution.state = State::Queued { held: true };
        }
    }
}

/// Nothing of the job begins any more, and what runs is asked to stop.
fn disable(live: &Live<'_>, plan: &mut Plan, now: Timestamp) {
    let cause = CancelCause::User;
    if plan.standing.enabled {
        plan.decisions.push(Decision::Disabled);
    }
    plan.standing.enabled = false;
    plan.standing.next_slot = None;
    plan.standing.deferred_until = None;
    let asked =
        |execution: &Execution| execution.running().is_some_and(|running| running.cancel.is_some());
    // What has happened is told all the same.
    let is_run = |execution: &Execution| execution.notice().is_none();
    for execution in live.executions.iter().filter(|live| is_run(live) && !asked(live)) {
        if !plan.ends(execution.id) {
            let execution = execution.id;
            plan.withdrawals.push(Withdrawal::Cancel(execution, cause));
            plan.decisions.push(Decision::CancelRequested { execution, cause });
        }
    }
    for execution in plan.executions.iter_mut().filter(|run| run.is_live() && is_run(run)) {
        execution.state = State::Cancelled { run: None, cause, at: now };
        let execution = execution.id;
        plan.decisions.push(Decision::CancelRequested { execution, cause });
    }
}

fn edit(
    job: &Job,
    live: &Live<'_>,
    settled: &mut Plan,
    edited: JobSpec,
    now: Timestamp,
) -> Result<JobSpec, Error> {
    edited.validate()?;
    let spec = JobSpec {
        id: job.spec.id,
        owner: job.spec.owner.clone(),
        created_at: job.spec.created_at,
        trace: job.spec.trace,
        version: job.spec.version + 1,
        ..edited
    };
    if spec.schedule != job.spec.schedule {
        forgo_rest(job, live, settled, now);
        settled.standing = settled.standing.clone().moved_to(&spec.schedule, now)?;
    }
    settled.decisions.push(Decision::Updated { version: spec.version });
    Ok(spec)
}

/// Accounts for slots that are past and still wait: deferred by quiet hours, parked by a pause, or
/// more than one plan may hold. The new schedule takes their place.
fn forgo_rest(job: &Job, live: &Live<'_>, settled: &mut Plan, now: Timestamp) {
    let standing = settled.standing.clone();
    let reason = if let Some(pause) = &standing.paused {
        SkipReason::Paused(pause.note.clone())
    } else if standing.deferred_until.is_some() {
        SkipReason::QuietHours
    } else {
        SkipReason::Missed
    };
    let rest = Job { spec: job.spec.clone(), standing };
    let mut draft = Draft::new(&rest, live, now);
    draft.pass_over(now, &reason);
    settled.go_on_with(draft.finish());
}
