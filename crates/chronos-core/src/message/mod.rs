//! Messages: what a message job says when it fires, and the order in which everyone hears it.
//!
//! A message is part of the plan that fires its slot, so a store files both in one step or neither. Nothing
//! has to run: its execution has succeeded by the time it is recorded.

mod template;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::execution::Trigger;
use crate::job::JobSpec;
use crate::schedule::Cadence;
use crate::{Execution, ExecutionId, JobId, Timestamp, TraceId};
pub use template::{Occasion, Placeholder, Template};

/// What a message job said once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Identifies it: the execution that emitted it.
    pub id: ExecutionId,
    /// The job that emitted it.
    pub job: JobId,
    /// Whose job it was.
    pub actor: Box<str>,
    /// What the job was filed under.
    pub tags: Box<[Box<str>]>,
    /// The nominal time it is for.
    pub slot: Timestamp,
    /// When it was emitted.
    pub occurred_at: Timestamp,
    /// What it says, for people.
    pub text: Option<Box<str>>,
    /// What it says, for programs: a JSON document.
    pub structured: Option<Box<str>>,
    /// The zone of the job's schedule.
    pub timezone: Box<str>,
    /// The trace that it belongs to.
    pub trace: TraceId,
    /// The same for every copy of it, and for nothing else.
    pub dedupe_key: DedupeKey,
    /// What people called the job.
    pub job_name: Box<str>,
}

/// A message in its place among all messages of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEvent {
    /// Its place: it only grows, and no event is ever added before one that could be read.
    pub sequence: u64,
    /// The message.
    pub message: Message,
}

impl Message {
    /// The version of the shape in which messages are told.
    pub const SCHEMA_VERSION: u32 = 1;
    /// Where all messages of a scheduler come from.
    pub const CHANNEL: &'static str = "scheduler";

    /// What a job says with this template when this execution of it fires.
    pub(crate) fn emit(
        spec: &JobSpec,
        template: &Template,
        execution: &Execution,
        missed: u64,
        now: Timestamp,
    ) -> Self {
        let slot = execution.slot;
        let occasion = Occasion { job: spec.id, name: &spec.name, slot, now, missed };
        Self {
            id: execution.id,
            job: spec.id,
            actor: spec.owner.clone(),
            tags: spec.tags.clone(),
            slot,
            occurred_at: now,
            text: template.render_text(&occasion),
            structured: template.render_structured(&occasion),
            timezone: match spec.schedule.cadence() {
                Cadence::Cron(cron) => cron.zone().name().into(),
                Cadence::Interval(_) | Cadence::OneShot(_) => "UTC".into(),
            },
            trace: execution.trace_id(),
            dedupe_key: DedupeKey::of(spec.id, slot, &execution.trigger),
            job_name: spec.name.clone(),
        }
    }

    /// About how many bytes it takes up.
    #[must_use]
    pub fn size(&self) -> usize {
        let length = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        256 + length(&self.text) + length(&self.structured)
    }
}

/// Tells messages of different slots apart, and copies of one message not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DedupeKey([u8; 32]);

impl DedupeKey {
    /// The key of a slot: SHA-256 of `scheduler`, the job's id and the slot, with a line feed between them.
    /// A run by hand adds `manual` and its number, because it may share the instant of a slot; a slot that a
    /// backfill does again adds `backfill` and its number.
    #[must_use]
    pub fn of(job: JobId, slot: Timestamp, trigger: &Trigger) -> Self {
        let mut text = format!("{}\n{job}\n{slot}", Message::CHANNEL);
        match trigger {
            Trigger::Manual { number } => text = format!("{text}\nmanual\n{number}"),
            Trigger::Backfill { number, again: true } => {
                text = format!("{text}\nbackfill\n{number}");
            }
            Trigger::Schedule
            | Trigger::CatchUp
            | Trigger::Notice(_)
            | Trigger::Backfill { again: false, .. } => {}
        }
        Self(Sha256::digest(text).into())
    }

    /// The bytes of the key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for DedupeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DedupeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anyone_can_compute_the_key_of_a_slot() {
        let job: JobId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let slot = Timestamp::parse("2026-12-01T09:00:00Z").unwrap();
        let on_time = DedupeKey::of(job, slot, &Trigger::Schedule);
        let known =
            Sha256::digest("scheduler\n01890a5d-ac96-774b-bcce-b302099a8057\n2026-12-01T09:00:00Z");
        assert_eq!(on_time.as_bytes(), known.as_slice());
        assert_eq!(on_time, DedupeKey::of(job, slot, &Trigger::CatchUp), "a slot fires once");
        let by_hand = |number| DedupeKey::of(job, slot, &Trigger::Manual { number });
        assert_ne!(on_time, by_hand(1));
        assert_ne!(by_hand(1), by_hand(2));
        let filled = |again| DedupeKey::of(job, slot, &Trigger::Backfill { number: 1, again });
        assert_eq!(filled(false), on_time, "a slot that never ran is said once");
        assert_ne!(filled(true), on_time);
        assert_ne!(filled(true), by_hand(1));
        assert_eq!(on_time.to_string().len(), 64);
    }
}
