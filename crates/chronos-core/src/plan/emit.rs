//! Emitting: a message job has run once its message is in the plan.

use std::time::Duration;

use super::{Draft, MAX_ROWS};
use crate::audit::{Decision, EndingKind, Slots};
use crate::execution::{Execution, Run, State, Token, Trigger};
use crate::message::{Message, Placeholder, Template};
use crate::{Timestamp, WorkerId};

/// Who ran what nobody had to run.
const EMITTER: &str = "scheduler";

impl Draft<'_> {
    /// Emits a message and records the run that it is. Nothing of it ever lives, so nothing overlaps.
    pub(super) fn emit(
        &mut self,
        template: &Template,
        slot: Timestamp,
        trigger: Trigger,
        run_at: Timestamp,
        instead_of: Option<Slots>,
    ) {
        self.supersede_retries();
        let (spec, now) = (&self.job.spec, self.now);
        let queued = Execution::queued(spec.id, slot, trigger.clone(), run_at).nth(self.attempt);
        let mut execution = Execution { rank: self.rank(), trace: self.trace, ..queued };
        let missed = match instead_of {
            // Counting takes its time, so it is done for those who want to know.
            _ if !template.mentions(Placeholder::MissedCount) => 0,
            Some(slots) => slots.count.unwrap_or_else(|| self.count(&slots)),
            None => u64::from(trigger == Trigger::CatchUp),
        };
        let message = Message::emit(spec, template, &execution, missed, now);
        execution.state = State::Success(Run {
            worker: WorkerId::new(EMITTER),
            token: Token(0),
            started_at: now,
            finished_at: now,
            took: Duration::ZERO,
            log: None,
            response: None,
        });
        self.rows += 1;
        let (id, ending) = (execution.id, EndingKind::Success);
        self.plan.decide(Decision::Fired { slot, execution: id, trigger, instead_of });
        self.plan.decide(Decision::Ended { execution: id, slot, ending, next_attempt: None });
        self.plan.standing.succeed(now);
        self.plan.record(execution);
        super::push(&mut self.plan.messages, message);
    }

    /// How many slots there are in a range of which only enumerating can tell; no more than a plan may hold.
    fn count(&self, slots: &Slots) -> u64 {
        let next = |slot: &Timestamp| self.job.spec.schedule.next_after(*slot);
        let slots = std::iter::successors(Some(slots.first), next)
            .take_while(|slot| *slot <= slots.last)
            .take(MAX_ROWS);
        slots.count() as u64
    }
}
