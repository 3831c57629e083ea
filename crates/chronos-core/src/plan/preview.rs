//! Preview: the coming runs of a job with what moves or stops them, from the planner itself.

use std::fmt;
use std::time::Duration;

use chrono::NaiveDateTime;

use super::{Live, plan};
use crate::Timestamp;
use crate::audit::Decision;
use crate::execution::State;
use crate::job::Job;
use crate::policy::QuietHours;
use crate::schedule::{Cadence, Zone};

/// Plans that one preview may turn; quiet hours can swallow many slots between two runs.
const MAX_TURNS: usize = 10_000;

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
        }
    }
}

/// The job's next `count` slots, as the planner would treat them with nothing else alive.
///
/// A paused job is shown as if it were resumed.
#[must_use]
pub fn preview(job: &Job, quiet_hours: Option<&QuietHours>, count: usize) -> Vec<PreviewRun> {
    let mut job = job.clone();
    job.standing.paused = None;
    let live = Live { quiet_hours, ..Live::default() };
    let mut runs = Vec::new();
    for _ in 0..MAX_TURNS {
        let Some(due) = job.due_at() else { break };
        if runs.len() >= count {
            break;
        }
        let deferred = job.standing.deferred_until;
        let planned = plan(&job, &live, due);
        for execution in &planned.executions {
            let effective = match execution.state {
                State::Queued { .. } => Some(execution.run_at),
                _ => None,
            };
            let base = deferred.unwrap_or(execution.slot).max(execution.slot);
            let mut reasons = reasons(&job, execution.slot, effective.map(|at| at.since(base)));
            let quiet_until = if effective.is_some() {
                deferred.filter(|until| execution.slot < *until)
            } else {
                quiet_hours.and_then(|quiet| quiet.until(execution.slot))
            };
            let quiet = quiet_hours.zip(quiet_until);
            reasons.extend(quiet.map(|(policy, until)| quiet_reason(policy, until)));
            runs.push(PreviewRun { nominal: execution.slot, effective, reasons });
        }
        let waits = planned.standing.next_slot.is_none()
            && planned.standing.enabled
            && !planned.decisions.iter().any(|made| matches!(made, Decision::Deferred { .. }));
        job.standing = planned.standing;
        if waits {
            let begun = planned.executions.iter().map(|execution| execution.run_at);
            let end = begun.fold(due, Timestamp::max);
            job.standing.next_slot = job.spec.schedule.next_from_end(end);
        }
    }
    runs.truncate(count);
    runs
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
        policy: quiet_hours.name.clone(),
        until: until.to_datetime().with_timezone(&zone.tz()).naive_local(),
        zone,
    }
}
