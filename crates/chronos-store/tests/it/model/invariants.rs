//! What holds after every step of every history.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::audit::{Decision, Slots};
use chronos_core::execution::{Token, Trigger};
use chronos_core::notice::Kind;
use chronos_core::{Execution, ExecutionId, Job, Timestamp};

use crate::answers::Answers;

/// Slots of the schedule share one name; each run by hand and each notice has its own.
fn number_of(trigger: &Trigger) -> (u64, Option<(Kind, ExecutionId)>) {
    match trigger {
        Trigger::Schedule | Trigger::CatchUp => (0, None),
        Trigger::Manual { number } => (*number, None),
        Trigger::Notice(notice) => (0, Some((notice.kind, notice.about.execution))),
        // A slot that had not run is filled in under one name, whichever backfill asks for it.
        Trigger::Backfill { again: false, .. } => (u64::MAX, None),
        Trigger::Backfill { number, again: true } => (u64::MAX - number, None),
    }
}

/// The executions that are runs of their jobs.
fn runs<'a>(rows: impl IntoIterator<Item = &'a Execution>) -> impl Iterator<Item = &'a Execution> {
    rows.into_iter().filter(|row| row.notice().is_none())
}

pub(crate) fn assert_hold(answers: &Answers) {
    assert_each_slot_runs_once(answers);
    assert_each_message_was_said_once(answers);
    for job in &answers.jobs {
        let rows = &answers.executions[&job.spec.id];
        assert_overlap(job, rows);
        assert_counted(answers, job);
        assert_nobody_waits_for_nothing(job, rows);
        assert_failures_are_told(job, rows);
        let standing = &job.standing;
        let (last, next) = (standing.last_slot, standing.next_slot);
        assert!(next.is_none_or(|next| last.is_none_or(|last| next > last)));
    }
}

/// Message events are counted gaplessly; each is that of a run which succeeded, and of no other.
fn assert_each_message_was_said_once(answers: &Answers) {
    let mut said = BTreeSet::new();
    for (event, sequence) in answers.messages.iter().zip(1..) {
        assert_eq!(event.sequence, sequence);
        let message = &event.message;
        assert!(said.insert(message.dedupe_key), "{} was said twice", message.slot);
        let run = answers.executions[&message.job].iter().find(|row| row.id == message.id);
        assert_eq!(run.map(Execution::status), Some("SUCCESS"), "{event:?}");
    }
    let emitted = answers.rows().filter(|row| row.run().is_some_and(|run| run.token == Token(0)));
    assert_eq!(emitted.count(), said.len(), "every message is filed with its run");
}

/// A slot has one chain of attempts, of which only the newest lives and at most one succeeds.
fn assert_each_slot_runs_once(answers: &Answers) {
    let mut slots: BTreeMap<_, Vec<&Execution>> = BTreeMap::new();
    for row in answers.rows() {
        let key = (row.job, row.slot, number_of(&row.trigger));
        slots.entry(key).or_default().push(row);
    }
    for attempts in slots.values_mut() {
        attempts.sort_by_key(|row| row.attempt);
        for (row, attempt) in attempts.iter().zip(1..) {
            assert_eq!(row.attempt, attempt, "attempts are counted: {attempts:#?}");
        }
        let earlier = &attempts[..attempts.len() - 1];
        let ended = earlier.iter().all(|row| !row.is_live() && row.status() != "SUCCESS");
        assert!(ended, "a next attempt follows a failed one: {attempts:#?}");
    }
    let mut fired = BTreeSet::new();
    for event in &answers.audit {
        if let Decision::Fired { slot, trigger, .. } = &event.decision {
            // One that never began may be filled in by another backfill.
            let by = trigger.backfill();
            let new = fired.insert((event.job, *slot, number_of(trigger), by));
            assert!(new, "{slot} fired twice");
        }
    }
}

/// What runs or may be claimed, a waiting retry among it.
fn active(rows: &[Execution]) -> usize {
    let active = runs(rows).filter(|row| row.is_live() && !row.is_held());
    active.count()
}

fn capacity(job: &Job) -> usize {
    let capacity = job.spec.overlap.capacity();
    capacity.map_or(usize::MAX, |most| most as usize)
}

/// What a job's tally says happened is what its executions and the decisions about it say.
fn assert_counted(answers: &Answers, job: &Job) {
    let rows = runs(&answers.executions[&job.spec.id]);
    let succeeded = rows.filter(|row| row.status() == "SUCCESS").count() as u64;
    let (mut fired, mut manual) = (0, 0);
    for event in answers.audit.iter().filter(|it| it.job == Some(job.spec.id)) {
        if let Decision::Fired { trigger, .. } = &event.decision {
            match trigger {
                Trigger::Schedule | Trigger::CatchUp => fired += 1,
                Trigger::Manual { .. } => manual += 1,
                Trigger::Notice(_) | Trigger::Backfill { .. } => {}
            }
        }
    }
    let tally = &job.standing.tally;
    let counted = (tally.succeeded, tally.fired, tally.manual);
    assert_eq!(counted, (succeeded, fired, manual), "{job:#?}");
}

/// An edit may lower the capacity below what is alive; then nothing comes on top.
fn assert_overlap(job: &Job, rows: &[Execution]) {
    if job.spec.version == 1 {
        assert!(active(rows) <= capacity(job), "{job:#?} {rows:#?}");
    }
}

/// Whoever is held waits for a run or for the end of a pause, and so does a job without a next slot.
fn assert_nobody_waits_for_nothing(job: &Job, rows: &[Execution]) {
    if job.standing.paused.is_some() {
        return;
    }
    let held = rows.iter().any(Execution::is_held);
    assert!(!held || active(rows) >= capacity(job), "{job:#?} {rows:#?}");
    if job.standing.enabled && job.standing.next_slot.is_none() {
        let mut scheduled = rows.iter().filter(|row| row.trigger.is_scheduled());
        assert!(scheduled.any(Execution::is_live), "{job:#?} {rows:#?}");
    }
}

/// A job that has always asked for it has one notice about each run that failed for good, and none else.
fn assert_failures_are_told(job: &Job, rows: &[Execution]) {
    let failing = job.standing.failing.map_or(0, |failing| failing.failures);
    assert_eq!(failing > 0, job.standing.failing.is_some());
    if job.spec.version > 1 || job.spec.notify.is_none() {
        return;
    }
    let told: BTreeSet<ExecutionId> = rows
        .iter()
        .filter_map(Execution::notice)
        .filter(|notice| notice.kind == Kind::Failure)
        .map(|notice| notice.about.execution)
        .collect();
    for row in runs(rows) {
        let last = !runs(rows).any(|other| {
            (other.slot, number_of(&other.trigger)) == (row.slot, number_of(&row.trigger))
                && other.attempt > row.attempt
        });
        let failed = matches!(row.status(), "FAILED" | "TIMED_OUT" | "STUCK");
        assert!(!(failed && last) || told.contains(&row.id), "{row:#?} is not told of");
        assert!(failed || !told.contains(&row.id), "{row:#?} is told of");
    }
}

/// From the first slot to the newest, each has an execution or a decision that says why not.
pub(crate) fn assert_no_slot_is_lost(answers: &Answers, job: &Job) {
    let schedule = &job.spec.schedule;
    if schedule.counts_from_end() || schedule.is_one_shot() {
        return;
    }
    let rows = answers.executions[&job.spec.id].iter();
    let scheduled = rows.filter(|row| row.trigger.is_scheduled());
    let slots: BTreeSet<Timestamp> = scheduled.map(|row| row.slot).collect();
    let decisions = answers.audit.iter().filter(|event| event.job == Some(job.spec.id));
    let ranges: Vec<Slots> = decisions
        .filter_map(|event| match &event.decision {
            Decision::Skipped { slots, .. } => Some(*slots),
            Decision::Fired { instead_of, .. } => *instead_of,
            _ => None,
        })
        .collect();
    let mut slot = schedule.next_after(job.spec.created_at);
    while let Some(due) = slot.filter(|slot| Some(*slot) <= job.standing.last_slot) {
        let covered = slots.contains(&due) || ranges.iter().any(|range| range.contains(due));
        assert!(covered, "{due} of {job:#?} is not accounted for");
        slot = schedule.next_after(due);
    }
}
