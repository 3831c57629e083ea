//! Records of decisions: what all decisions of a step have in common is written once.

use std::sync::Arc;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::store::{Error, Result};
use chronos_core::{JobId, Timestamp, TraceId, UserId};
use serde::{Deserialize, Serialize};

use crate::embedded::record;

/// The decisions of one step.
#[derive(Serialize, Deserialize)]
struct Record<L> {
    at: Timestamp,
    /// Who asked for the step.
    by: Option<UserId>,
    /// Whose the jobs are that it decided about.
    owners: Vec<Arc<str>>,
    lines: Vec<L>,
}

/// One decision.
#[derive(Serialize, Deserialize)]
struct Line<D> {
    /// Which of the owners.
    owner: u32,
    job: Option<JobId>,
    trace: Option<TraceId>,
    decision: D,
}

/// The bytes of the decisions of one step, which have its time and were asked for by one user if by any.
pub(crate) fn encode(events: &[AuditEvent]) -> Result<Box<[u8]>> {
    let mut owners: Vec<Arc<str>> = Vec::new();
    let mut lines = Vec::with_capacity(events.len());
    for AuditEvent { owner, job, trace, decision, .. } in events {
        // Mostly it is the last one's; there are as many as a step has jobs at most.
        let known = owners.iter().rposition(|known| known == owner);
        let place = known.unwrap_or_else(|| {
            owners.push(owner.clone());
            owners.len() - 1
        });
        let owner = u32::try_from(place).unwrap_or(u32::MAX);
        lines.push(Line { owner, job: *job, trace: *trace, decision });
    }
    let at = events.first().map_or(Timestamp::EPOCH, |event| event.at);
    let by = events.iter().find_map(|event| event.by);
    record::encode(&Record { at, by, owners, lines })
}

/// The decisions that these bytes are, numbered from the first one's sequence on.
pub(crate) fn decode(bytes: &[u8], first: u64) -> Result<Vec<AuditEvent>> {
    let Record { at, by, owners, lines } = record::decode::<Record<Line<Decision>>>(bytes)?;
    let event = |(sequence, line): (u64, Line<Decision>)| {
        let owner = usize::try_from(line.owner).ok().and_then(|owner| owners.get(owner));
        let nobody = || Error::Corrupt("a decision is about what is nobody's".into());
        let Line { job, trace, decision, .. } = line;
        let owner = owner.ok_or_else(nobody)?.clone();
        let by = by.filter(|_| decision.is_asked_for());
        Ok(AuditEvent { sequence, at, by, owner, job, trace, decision })
    };
    (first..).zip(lines).map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronos_core::execution::SkipReason;

    fn event(sequence: u64, owner: &str, decision: Decision) -> AuditEvent {
        let (at, job) = (Timestamp::from_secs(9), Some(JobId::from_bytes([7; 16])));
        let by = Some(UserId::from_bytes([1; 16])).filter(|_| decision.is_asked_for());
        AuditEvent { sequence, at, by, owner: owner.into(), job, trace: None, decision }
    }

    #[test]
    fn decisions_of_a_step_come_back_with_who_asked_and_whose_they_are() {
        let slots = chronos_core::audit::Slots::one(Timestamp::from_secs(8));
        let skipped = Decision::Skipped { slots, reason: SkipReason::Overlap };
        let traced = TraceId::from_bytes([3; 16]);
        let events = vec![
            event(40, "ada", Decision::Created),
            event(41, "ben", skipped),
            AuditEvent { trace: Some(traced), ..event(42, "ada", Decision::Deleted) },
        ];
        let read = decode(&encode(&events).unwrap(), 40).unwrap();
        assert_eq!(read, events);
        assert_eq!(read[1].by, None, "nobody asks for a slot to be skipped");
    }
}
