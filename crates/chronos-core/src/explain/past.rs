//! What records say about a slot.

use super::{Question, Verdict};
use crate::Timestamp;
use crate::audit::{AuditEvent, Decision};
use crate::execution::{Execution, SkipReason, State, Trigger};
use crate::policy::{CatchUpPolicy, OverlapPolicy};

type Told = (Timestamp, Verdict, String);

/// What the last attempt at the slot says; a run by hand only where nothing else is meant.
pub(super) fn execution(question: &Question<'_>) -> Option<Told> {
    let mut runs = question.executions.iter().filter(|run| run.notice().is_none());
    let scheduled = runs.clone().rev().find(|run| run.trigger.is_scheduled());
    let filled_in = filled_in(runs.clone());
    let execution = scheduled.or(filled_in).or_else(|| runs.next_back())?;
    let told = if let State::Skipped { reason, at } = &execution.state {
        passed_over(question, execution.slot, reason, *at, "")
    } else {
        let how = fired(question, execution);
        let sentence = format!("{how} and {}", became(question, execution));
        (execution.slot, Verdict::Fired, sentence)
    };
    match filled_in.filter(|run| run.id != execution.id) {
        None => Some(told),
        Some(run) => {
            let (slot, _, sentence) = told;
            let filled = format!("it {}, and {}", filling(run), became(question, run));
            Some((slot, Verdict::Fired, format!("{sentence}; {filled}")))
        }
    }
}

/// The run that a backfill asked for, of the newest backfill that did.
fn filled_in<'a>(runs: impl Iterator<Item = &'a Execution>) -> Option<&'a Execution> {
    let asked = runs.filter(|run| run.trigger.backfill().is_some());
    asked.max_by_key(|run| (run.trigger.backfill(), run.attempt))
}

/// How a backfill had a slot run.
fn filling(run: &Execution) -> String {
    match run.trigger {
        Trigger::Backfill { number, again: true } => format!("was run again by backfill {number}"),
        Trigger::Backfill { number, again: false } => format!("was run by backfill {number}"),
        _ => String::new(),
    }
}

/// What the newest decision about the slot says, where no execution is kept.
pub(super) fn decision(question: &Question<'_>) -> Option<Told> {
    question.events.iter().rev().find_map(|event| decided(question, event))
}

fn decided(question: &Question<'_>, event: &AuditEvent) -> Option<Told> {
    let (from, to) = super::meant(question.at);
    let within = |first: Timestamp, last: Timestamp| first < to && last >= from;
    match &event.decision {
        Decision::Skipped { slots, reason } if within(slots.first, slots.last) => {
            let others = match slots.count {
                Some(1) => String::new(),
                Some(count) => {
                    format!(" with {count} slots from {} to {}", slots.first, slots.last)
                }
                None => format!(" with all slots from {} to {}", slots.first, slots.last),
            };
            let slot = question.slot().unwrap_or(question.at);
            Some(passed_over(question, slot, reason, event.at, &others))
        }
        Decision::Fired { slot, instead_of: Some(slots), .. }
            if within(slots.first, slots.last) && !within(*slot, *slot) =>
        {
            let missed = question.slot().unwrap_or(question.at);
            let sentence = format!(
                "{missed} was missed: nobody was there to fire it in time; by the catch-up policy run_once the \
                 run of {slot} stands for it"
            );
            Some((missed, Verdict::Missed, sentence))
        }
        Decision::Deferred { slot, until } if within(*slot, *slot) => {
            let sentence = if *until > question.now {
                format!("quiet hours hold the slot at {slot} back until {until}")
            } else {
                format!("quiet hours held the slot at {slot} back until {until}")
            };
            Some((*slot, Verdict::Deferred, sentence))
        }
        Decision::Fired { slot, .. } if within(*slot, *slot) => {
            let sentence = format!("{slot} fired at {}; its run is no longer kept", event.at);
            Some((*slot, Verdict::Fired, sentence))
        }
        Decision::Ended { slot, .. } if within(*slot, *slot) => {
            let sentence = format!("{slot} fired; {}", event.decision.summary());
            Some((*slot, Verdict::Fired, sentence))
        }
        _ => None,
    }
}

fn passed_over(
    question: &Question<'_>,
    slot: Timestamp,
    reason: &SkipReason,
    at: Timestamp,
    others: &str,
) -> Told {
    let spec = &question.job.spec;
    let (verdict, why) = match reason {
        SkipReason::Missed => {
            let policy = match spec.catch_up {
                CatchUpPolicy::Skip => "the catch-up policy skip makes up for nothing".into(),
                CatchUpPolicy::RunOnce => {
                    "the catch-up policy run_once makes up for missed slots by one run".into()
                }
                CatchUpPolicy::RunAllCapped(cap) => {
                    format!(
                        "the catch-up policy run_all_capped makes up for the oldest {cap} alone"
                    )
                }
            };
            let why = format!("nobody was there to fire it in time, until {at}, and {policy}");
            (Verdict::Missed, why)
        }
        SkipReason::Overlap => {
            let policy = match spec.overlap {
                OverlapPolicy::Skip => "skip",
                OverlapPolicy::Concurrent | OverlapPolicy::ConcurrentUpTo(_) => "concurrent",
                OverlapPolicy::Queue(_) => "queue",
                OverlapPolicy::Replace => "replace",
            };
            let why = format!(
                "an earlier run of the job was still alive, and the overlap policy is {policy}"
            );
            (Verdict::Skipped, why)
        }
        SkipReason::Paused(note) => {
            let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            (Verdict::Skipped, format!("the job was paused{note}"))
        }
        SkipReason::QuietHours => {
            let policy = question.quiet_hours.map(|policy| format!(" \"{}\"", policy.name));
            let why = format!("quiet hours{} held", policy.unwrap_or_default());
            (Verdict::Skipped, why)
        }
        SkipReason::Superseded => {
            let why = "the next slot came due while it waited to be tried again".into();
            (Verdict::Skipped, why)
        }
        SkipReason::ByJob(reason) => {
            (Verdict::Skipped, format!("the job itself found nothing to do: {reason}"))
        }
    };
    let word = if verdict == Verdict::Missed { "missed" } else { "skipped" };
    (slot, verdict, format!("{slot} was {word}{others}: {why}"))
}

/// How and when a slot fired.
fn fired(question: &Question<'_>, execution: &Execution) -> String {
    let slot = execution.slot;
    let is_it = |event: &&AuditEvent| {
        matches!(&event.decision, Decision::Fired { slot: fired, trigger, .. }
            if *fired == slot && trigger.as_str() == execution.trigger.as_str())
    };
    let at = question.events.iter().find(is_it).map(|event| event.at);
    let deferred = question.events.iter().find_map(|event| match event.decision {
        Decision::Deferred { slot: held, until } if held == slot => Some(until),
        _ => None,
    });
    let stands_for = question.events.iter().find(is_it).and_then(|event| match &event.decision {
        Decision::Fired { instead_of: Some(slots), .. } => Some(match slots.count {
            Some(count) => format!(", standing for {count} missed slots"),
            None => ", standing for all slots that were missed before it".into(),
        }),
        _ => None,
    });
    let when = at.map(|at| format!(" at {at}")).unwrap_or_default();
    let how = match execution.trigger {
        Trigger::Schedule => match deferred {
            Some(until) => format!("fired{when}, held back by quiet hours until {until}"),
            None => format!("fired{when}"),
        },
        Trigger::CatchUp => format!("was missed and caught up{when}"),
        Trigger::Manual { .. } => format!("is a run by hand{when}"),
        Trigger::Notice(_) => format!("is a notice{when}"),
        Trigger::Backfill { .. } => format!("{}{when}", filling(execution)),
    };
    format!("{slot} {how}{}", stands_for.unwrap_or_default())
}

/// What became of the last attempt.
fn became(question: &Question<'_>, execution: &Execution) -> String {
    let attempts = match execution.attempt {
        1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    };
    let next = question.events.iter().rev().find_map(|event| match &event.decision {
        Decision::Ended { execution: ended, next_attempt, .. } if *ended == execution.id => {
            *next_attempt
        }
        _ => None,
    });
    let next = next.map(|at| format!("; the next attempt is at {at}")).unwrap_or_default();
    let took =
        execution.run().map(|run| format!(" after {:?}", run.duration())).unwrap_or_default();
    match &execution.state {
        State::Queued { held: true } => {
            format!("waits for an earlier run, or a pause, to end{attempts}")
        }
        State::Queued { held: false } if execution.run_at > question.now => {
            format!("waits until {}{attempts}", execution.run_at)
        }
        State::Queued { held: false } => format!("waits for a worker{attempts}"),
        State::Running(running) => {
            format!("runs since {} on {}{attempts}", running.started_at, running.lease.worker)
        }
        State::Success(_) => format!("succeeded{took}{attempts}"),
        State::Failed(_, failure) => {
            format!("failed{took}{attempts}: {}{next}", failure.message)
        }
        State::TimedOut(_) => format!("took longer than it may{took}{attempts}{next}"),
        State::Stuck(_) => format!("was lost with its worker{attempts}{next}"),
        State::Cancelled { cause, at, .. } => {
            format!("was cancelled at {at}{attempts}: {}", cause.as_str())
        }
        State::Skipped { reason, .. } => format!("was skipped: {}", reason.as_str()),
    }
}
