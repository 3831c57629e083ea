//! What holds slots back: quiet hours, and pauses that end by themselves.

use std::time::Duration;

use super::{Draft, Live, Plan, plan};
use crate::Timestamp;
use crate::audit::Decision;
use crate::execution::{SkipReason, Trigger};
use crate::job::Job;
use crate::policy::quiet_hours::Mode;

/// Ends a pause whose time has come, however late that is noticed: slots before its end are skipped, those
/// from its end on are as if somebody had resumed the job then.
pub(super) fn resume(job: &Job, live: &Live<'_>, end: Timestamp, now: Timestamp) -> Plan {
    let mut draft = Draft::new(job, live, now);
    if let Some(pause) = draft.plan.standing.paused.take()
        && !job.is_parked()
    {
        draft.pass_over(end.before(Duration::from_micros(1)), &SkipReason::Paused(pause.note));
    }
    draft.plan.decide(Decision::Resumed { by_itself: true });
    let mut resumed = draft.finish();
    let job = Job { spec: job.spec.clone(), standing: resumed.standing.clone() };
    resumed.go_on_with(plan(&job, live, now));
    resumed
}

impl Draft<'_> {
    /// Inside quiet hours nothing fires: slots are skipped, or the first waits for their end.
    pub(super) fn keep_quiet(&mut self, until: Timestamp) {
        let defers = self.live.quiet_hours.is_some_and(|quiet| quiet.mode == Mode::Defer);
        match self.cursor {
            Some(slot) if defers || self.job.spec.schedule.is_one_shot() => {
                self.plan.standing.deferred_until = Some(until);
                self.plan.decide(Decision::Deferred { slot, until });
            }
            _ => self.pass_over(self.now, &SkipReason::QuietHours),
        }
    }

    /// Says that the quiet hours which the job observes are not there to hold anything back.
    pub(super) fn note_missing_policy(&mut self) {
        let policy = self.job.spec.quiet_hours.filter(|_| self.live.quiet_hours.is_none());
        if let Some(policy) = policy {
            self.plan.decide(Decision::PolicyMissing { policy });
        }
    }

    /// Fires the slot that waited for the end of quiet hours; those that came due meanwhile do not.
    pub(super) fn fire_deferred(&mut self) {
        let Some(until) = self.plan.standing.deferred_until.take() else {
            return;
        };
        if let Some(slot) = self.slot_until(self.now) {
            self.fire(slot, Trigger::Schedule, until, None);
        }
        let quiet_end = until.before(Duration::from_micros(1)).min(self.now);
        self.pass_over(quiet_end, &SkipReason::QuietHours);
    }
}
