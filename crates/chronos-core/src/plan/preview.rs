//! Preview: the coming runs of a job with what moves or stops them, from the planner itself.

use std::fmt;
use std::time::Duration;

use chrono::NaiveDateTime;

use super::{Live, plan};
use crate::Timestamp;
use crate::audit::Decision;
use crate::execution::{Execution, State};
use crate::job::Job;
use crate::policy::QuietHours;
use crate::schedule::{Cadence, Zone};

/// Plans that one preview may turn; quiet hours can swallow many slots between two runs.
const MAX_TURNS: usize = 10_000;
/// Turns that may come one after the other without a slot: quiet that goes on for a year holds everything back.
const MAX_IDLE: usize = 64;

/// One coming slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewRun {
    /// The time that the schedule names.
    pub nominal: Timestamp,
    /// When the run begins; `None` when the slot will be skipped.
    pub effective: Option<Timestamp>,
    /// What moves or stops it.
    pub reasons: Vec<Reason>,
}

/// What moves or stops a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing fires until then.
    QuietHours {
        /// The policy's name.
        policy: String,
        /// The end of the quiet, on the policy's wall clock.
        until: NaiveDateTime,
        /// The policy's zone.
        zone: Zone,
    },
    /// The clocks skip the time that the expression names.
    ShiftedByDst {
        /// The wall-clock time that does not exist that day.
        from: NaiveDateTime,
    },
    /// The run is spread by this much.
    Jitter(Duration),
    /// The slot counts from the end of the run before it, here taken to last no time.
    CountsFromEnd,
    /// The job is paused, and resumes by itself then.
    Paused {
        /// When it resumes.
        until: Timestamp,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QuietHours { policy, until, zone } => {
                write!(f, "quiet hours \"{policy}\" until {} {zone}", until.format("%a %H:%M"))
            }
            Self::ShiftedByDst { from } => {
                write!(f, "shifted by DST: {} does not exist that day", from.format("%H:%M"))
            }
            Self::Jitter(by) => write!(f, "+{} s jitter", by.as_secs_f64()),
            Self::CountsFromEnd => f.write_str("counted from the end of the previous run"),
            Self::Paused { until } => write!(f, "paused until {until}"),
        }
    }
}

/// The job's next `count` slots, as the planner would treat them with nothing else alive.
///
/// A paused job is shown as if it were resumed, unless it resumes by itself.
#[must_use]
pub fn preview(job: &Job, quiet_hours: Option<&QuietHours>, count: usize) -> Vec<PreviewRun> {
    let mut runs = Vec::new();
    let mut coming = Coming::of(job, quiet_hours);
    while runs.len() < count && coming.turn(&mut runs) {}
    runs.truncate(count);
    runs
}

/// The job's slots before `end`, up to `most` of them, as [`preview`] has them; and whether those are all.
#[must_use]
pub fn preview_until(
    job: &Job,
    quiet_hours: Option<&QuietHours>,
    end: Timestamp,
    most: usize,
) -> (Vec<PreviewRun>, bool) {
    let mut runs: Vec<PreviewRun> = Vec::new();
    let mut coming = Coming::of(job, quiet_hours);
    let is_over = |run: &PreviewRun| run.nominal >= end;
    let mut more = true;
    while more && runs.len() <= most && !runs.last().is_some_and(is_over) {
        more = coming.turn(&mut runs);
    }
    let all = !coming.gave_up && (!more || runs.last().is_some_and(is_over));
    runs.retain(|run| !is_over(run));
    let all = all && runs.len() <= most;
    runs.truncate(most);
    (runs, all)
}

/// A job that is turned into its future, plan by plan.
struct Coming<'a> {
    job: Job,
    quiet_hours: Option<&'a QuietHours>,
    turns: usize,
    /// Turns since the last slot.
    idle: usize,
    /// Whether there is more to come than it went through.
    gave_up: bool,
}

impl<'a> Coming<'a> {
    fn of(job: &Job, quiet_hours: Option<&'a QuietHours>) -> Self {
        let mut job = job.clone();
        job.standing.paused = job.standing.paused.filter(|pause| pause.resume_at.is_some());
        Self { job, quiet_hours, turns: 0, idle: 0, gave_up: false }
    }

    /// Plans once and adds the slots that were dealt with; says whether there may be more.
    fn turn(&mut self, runs: &mut Vec<PreviewRun>) -> bool {
        let Some(due) = self.job.due_at() else { return false };
        if self.turns >= MAX_TURNS || self.idle >= MAX_IDLE {
            self.gave_up = true;
            return false;
        }
        self.turns += 1;
        let live = Live { quiet_hours: self.quiet_hours, ..Live::default() };
        let planned = plan(&self.job, &live, due);
        self.idle = if planned.executions.is_empty() { self.idle + 1 } else { 0 };
        runs.extend(planned.executions.iter().map(|execution| self.told(execution)));
        let waits = planned.standing.next_slot.is_none()
            && planned.standing.enabled
            && !planned.decisions.iter().any(|made| matches!(made, Decision::Deferred { .. }));
        self.job.standing = planned.standing;
        if waits {
            let begun = planned.executions.iter().map(|execution| execution.run_at);
            let end = begun.fold(due, Timestamp::max);
            self.job.standing.next_slot = self.job.spec.schedule.next_from_end(end);
        }
        true
    }

    /// A slot that was dealt with, and what moved or stopped it.
    fn told(&self, execution: &Execution) -> PreviewRun {
        let (slot, standing) = (execution.slot, &self.job.standing);
        let deferred = standing.deferred_until;
        let paused = standing.paused.as_ref().and_then(|pause| pause.resume_at);
        let paused = paused.filter(|end| slot < *end);
        let effective = match execution.state {
            State::Queued { .. } => Some(execution.run_at),
            _ => None,
        };
        let base = deferred.or(paused).unwrap_or(slot).max(slot);
        let mut reasons = reasons(&self.job, slot, effective.map(|at| at.since(base)));
        if let Some(until) = paused {
            reasons.push(Reason::Paused { until });
        } else {
            let quiet_until = if effective.is_some() {
                deferred.filter(|until| slot < *until)
            } else {
                self.quiet_hours.and_then(|quiet| quiet.until(slot))
            };
            let quiet = self.quiet_hours.zip(quiet_until);
            reasons.extend(quiet.map(|(policy, until)| quiet_reason(policy, until)));
        }
        PreviewRun { nominal: slot, effective, reasons }
    }
}

fn reasons(job: &Job, slot: Timestamp, delay: Option<Duration>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Cadence::Cron(cron) = job.spec.schedule.cadence() {
        reasons.extend(cron.shifted_from(slot).map(|from| Reason::ShiftedByDst { from }));
    }
    if job.spec.schedule.counts_from_end() && job.standing.tally.fired > 0 {
        reasons.push(Reason::CountsFromEnd);
    }
    reasons.extend(delay.filter(|delay| !delay.is_zero()).map(Reason::Jitter));
    reasons
}

fn quiet_reason(quiet_hours: &QuietHours, until: Timestamp) -> Reason {
    let zone = quiet_hours.zone;
    Reason::QuietHours {
        policy: quiet_hours.name.to_string(),
        until: until.to_datetime().with_timezone(&zone.tz()).naive_local(),
        zone,
    }
}
