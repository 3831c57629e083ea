//! What must become of a job that is changed: what is due is accounted for first, under the job as it was.

use chronos_core::Timestamp;

use super::reference::{Look, Paused, Reference, reason_of};
use super::setup::{Quiet, Setup};
use super::slots::slots;

/// A change that must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Refused;

impl Reference {
    pub(super) fn pause(
        &mut self,
        now: Timestamp,
        quiet: Option<&Quiet>,
        asked: Paused,
    ) -> Result<(), Refused> {
        if asked.until.is_some_and(|until| until <= now) {
            return Err(Refused);
        }
        let queued = self.look(now, quiet);
        if let Some(before) = &self.paused {
            let says_something = asked.note.is_some() || asked.until.is_some();
            if says_something && *before != asked {
                self.decide(now, &paused(&asked));
                self.paused = Some(asked);
            }
            return Ok(());
        }
        self.decide(now, &paused(&asked));
        let reason = reason_of(&asked);
        self.paused = Some(asked);
        // What was queued in this very step does not begin any more.
        for (slot, trigger) in queued {
            let range = self.range(slot, slot, 1).replace("None", "Some(1)");
            self.decide(now, &format!("skipped {range} {reason}"));
            self.told.executions.push(format!("{slot} {trigger} SKIPPED paused"));
        }
        Ok(())
    }

    pub(super) fn resume(&mut self, now: Timestamp, quiet: Option<&Quiet>) {
        let queued = self.look(now, quiet);
        if self.paused.take().is_some() {
            self.decide(now, "resumed");
        }
        self.run(now, queued);
    }

    pub(super) fn disable(&mut self, now: Timestamp, quiet: Option<&Quiet>) {
        let queued = self.look(now, quiet);
        if self.enabled {
            self.decide(now, "disabled");
        }
        (self.enabled, self.deferred) = (false, None);
        self.ahead.clear();
        for (slot, trigger) in queued {
            self.decide(now, "asked to stop User");
            self.told.executions.push(format!("{slot} {trigger} CANCELLED"));
        }
    }

    pub(super) fn enable(&mut self, now: Timestamp, quiet: Option<&Quiet>) -> Result<(), Refused> {
        let mut after = self.clone();
        let queued = after.look(now, quiet);
        if !after.enabled {
            let (setup, begun) = (after.setup.clone(), after.begun);
            after.go_on(setup, begun, now)?;
            after.decide(now, "enabled");
        }
        after.run(now, queued);
        *self = after;
        Ok(())
    }

    pub(super) fn edit(
        &mut self,
        now: Timestamp,
        quiet: Option<&Quiet>,
        (setup, begun): (Setup, Option<Timestamp>),
    ) -> Result<(), Refused> {
        let mut after = self.clone();
        let queued = after.look(now, quiet);
        match begun {
            Some(begun) => {
                // What is past and still waits is given up for the new schedule.
                let reason = match &after.paused {
                    Some(paused) => reason_of(paused),
                    None if after.deferred.is_some() => "quiet_hours".into(),
                    None => "missed".into(),
                };
                after.pass_over(&mut Look::at(now, None), now, &reason);
                after.end_if_over();
                after.go_on(setup, begun, now)?;
            }
            None => after.setup = setup,
        }
        after.version += 1;
        let version = after.version;
        after.decide(now, &format!("updated {version}"));
        after.run(now, queued);
        *self = after;
        Ok(())
    }

    /// Goes on by a schedule, after everything accounted for so far.
    fn go_on(&mut self, setup: Setup, begun: Timestamp, now: Timestamp) -> Result<(), Refused> {
        let after = self.last.map_or(now, |last| last.max(now));
        let ahead = slots(&setup, begun, after, self.span);
        let used_up = setup.is_recurring() && setup.max_runs.is_some_and(|most| self.fired >= most);
        let passed = ahead.first().is_none_or(|next| self.last.is_some_and(|last| *next <= last));
        (self.setup, self.begun) = (setup, begun);
        let unknown = ahead.is_empty() && {
            self.ahead.clear();
            !self.is_over()
        };
        if used_up || passed && !unknown {
            return Err(Refused);
        }
        (self.ahead, self.enabled, self.deferred) = (ahead.into(), true, None);
        Ok(())
    }

    /// Somebody asks for a run, beside which nothing else runs.
    pub(super) fn run_now(&mut self, now: Timestamp) {
        self.manual += 1;
        let number = self.manual;
        self.decide(now, &format!("fired {now} manual {number}"));
        if self.setup.says {
            self.say(now, now, "manual", 0);
        } else {
            self.succeed(now, now, "manual");
        }
    }
}

fn paused(paused: &Paused) -> String {
    format!("paused {:?} until {:?}", paused.note, paused.until)
}
