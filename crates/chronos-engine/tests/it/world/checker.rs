//! The checker: judges a history by what the store and the handlers wrote down.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::audit::{AuditEvent, Decision, Slots};
use chronos_core::execution::{CancelCause, SkipReason, State};
use chronos_core::policy::retry::Class;
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::{Execution, ExecutionId, Store, Timestamp};

use super::ledger::{Call, Outcome, SlotKey, slot_of};
use super::oracle::Oracle;
use super::record::{JobRecord, Version};
use super::stage::Stage;

/// More executions and decisions than any history has.
pub(super) const ALL: usize = 1_000_000;
/// Judges the whole history; what is wrong ends up in the ledger.
pub(super) async fn judge(stage: &Stage) {
    let audit = stage.store.audit(0, ALL).await.unwrap();
    let calls = stage.ledger.lock().calls.clone();
    let mut case = Case::default();
    for call in calls {
        case.calls.entry(call.execution).or_default().push(call);
    }
    case.judge_audit(&audit);
    let dead = stage.store.dead_letters(None, ALL).await.unwrap();
    let dead: BTreeSet<ExecutionId> = dead.iter().map(|execution| execution.id).collect();
    for record in &stage.jobs {
        let rows = stage.store.executions(record.id, None, ALL).await.unwrap();
        let events: Vec<_> = audit.iter().filter(|event| event.job == Some(record.id)).collect();
        let job = stage.store.job(record.id).await.ok();
        let last_slot = match (&job, record.deleted) {
            (Some(job), _) => job.standing.last_slot,
            (None, deleted) => deleted,
        };
        case.judge_slots(record, &rows, &events, last_slot);
        case.judge_reasons(record, &events);
        case.judge_attempts(record, &rows, job.is_some().then_some(&dead));
        if let Some(job) = job {
            case.judge_standing(record, &job);
            case.judge_tally(&job, &rows, &events);
        }
        case.rows.extend(rows.into_iter().map(|execution| (execution.id, execution)));
    }
    case.judge_records(stage);
    let mut ledger = stage.ledger.lock();
    for text in case.wrong {
        ledger.violation(text);
    }
}

#[derive(Default)]
struct Case {
    calls: BTreeMap<ExecutionId, Vec<Call>>,
    rows: BTreeMap<ExecutionId, Execution>,
    fired: BTreeSet<ExecutionId>,
    ended: BTreeSet<ExecutionId>,
    wrong: Vec<String>,
}

impl Case {
    fn require(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(text());
        }
    }

    fn judge_audit(&mut self, audit: &[AuditEvent]) {
        for (event, sequence) in audit.iter().zip(1..) {
            self.require(event.sequence == sequence, || {
                format!("audit has a gap before {event:?}")
            });
            match &event.decision {
                Decision::Fired { execution, .. } => {
                    let first = self.fired.insert(*execution);
                    self.require(first, || format!("I3: fired twice: {event:?}"));
                }
                Decision::Ended { execution, .. } => {
                    let first = self.ended.insert(*execution);
                    self.require(first, || format!("I6: two results: {event:?}"));
                }
                _ => {}
            }
        }
    }

    /// I1 and I2: every slot accounted for, none that is not a slot.
    fn judge_slots(
        &mut self,
        record: &JobRecord,
        rows: &[Execution],
        events: &[&AuditEvent],
        last_slot: Option<Timestamp>,
    ) {
        let ranges: Vec<Slots> = events.iter().filter_map(|event| covered(event)).collect();
        let of_schedule = rows.iter().filter(|row| row.trigger.is_scheduled());
        let known: BTreeSet<Timestamp> = of_schedule.map(|row| row.slot).collect();
        for version in &record.versions {
            let until = version.until.unwrap_or(Timestamp::MAX);
            let until = last_slot.map_or(Timestamp::MIN, |last| last.min(until));
            for slot in version.oracle.between(version.after, until) {
                let accounted =
                    known.contains(&slot) || ranges.iter().any(|range| range.contains(slot));
                self.require(accounted, || {
                    format!("I1: no record of slot {slot} of {}", record.id)
                });
            }
        }
        for slot in &known {
            let real =
                record.versions.iter().any(|version| is_slot(version, *slot, &known, events));
            self.require(real, || format!("I2: {slot} is no slot of {}", record.id));
        }
        for row in rows.iter().filter(|row| row.attempt == 1) {
            let fired = self.fired.contains(&row.id);
            let passed_over = matches!(row.state, State::Skipped { .. })
                && ranges.iter().any(|range| range.contains(row.slot));
            self.require(fired || passed_over, || format!("unexplained row: {row:?}"));
        }
    }

    /// A slot is skipped only for a reason that the job's own policies give.
    fn judge_reasons(&mut self, record: &JobRecord, events: &[&AuditEvent]) {
        let specs = || record.versions.iter().map(|version| &version.spec);
        let grace = specs().map(|spec| spec.misfire_grace).min();
        let mut paused = false;
        for event in events {
            let Decision::Skipped { slots, reason } = &event.decision else {
                match event.decision {
                    Decision::Paused { .. } => paused = true,
                    Decision::Resumed { .. } => paused = false,
                    _ => {}
                }
                continue;
            };
            let fits = match reason {
                SkipReason::Paused(_) => paused,
                SkipReason::QuietHours => specs().any(|spec| spec.quiet_hours.is_some()),
                SkipReason::Overlap => specs().any(|spec| spec.overlap.capacity().is_some()),
                SkipReason::Missed => event.at > slots.first.after(grace.unwrap_or_default()),
                SkipReason::Superseded => specs().any(|spec| spec.retry.max_retry > 0),
                SkipReason::ByJob(_) => false,
            };
            self.require(fits, || format!("I1: no policy says so: {event:?}"));
        }
    }

    /// I4, I5 and I6: attempts in order, each after the loss of the one before, one result.
    fn judge_attempts(
        &mut self,
        record: &JobRecord,
        rows: &[Execution],
        dead: Option<&BTreeSet<ExecutionId>>,
    ) {
        let most_retries = record.versions.iter().map(|version| version.spec.retry.max_retry).max();
        let mut slots: BTreeMap<SlotKey, Vec<&Execution>> = BTreeMap::new();
        for row in rows {
            slots.entry(slot_of(row)).or_default().push(row);
        }
        for attempts in slots.values_mut() {
            attempts.sort_by_key(|row| row.attempt);
            let (mut failures, mut losses) = (0, 0);
            let mut token = None;
            for (number, row) in (1..).zip(attempts.iter()) {
                self.require(row.attempt == number, || {
                    format!("I4: attempts of one slot: {attempts:?}")
                });
                self.require((row.retry, row.lost) == (failures, losses), || {
                    format!("I4: {failures} failed and {losses} lost before {row:?}")
                });
                let own = row.run().map(|run| run.token);
                self.require(own.is_none() || own > token, || {
                    format!("I5: tokens of one slot: {attempts:?}")
                });
                token = token.max(own);
                match goes_on(row) {
                    Some(Loss::Failed) => failures += 1,
                    Some(Loss::Lost) => losses += 1,
                    Some(Loss::Interrupted) => {}
                    None => self.require(attempts.len() == number as usize, || {
                        format!("I4: attempts after an end: {attempts:?}")
                    }),
                }
                self.judge_calls(row, attempts[0]);
            }
            let Some(last) = attempts.last() else {
                continue;
            };
            self.require(Some(last.retry) <= most_retries && last.lost <= 3, || {
                format!("I4: too many attempts: {last:?}")
            });
            let hopeless =
                matches!(last.state, State::Failed(..) | State::TimedOut(_) | State::Stuck(_));
            if let Some(dead) = dead {
                self.require(!is_given_up_early(record, last), || {
                    format!("I4: given up too early: {last:?}")
                });
                self.require(dead.contains(&last.id) == hopeless, || {
                    format!("dead letters are wrong about {last:?}")
                });
            }
        }
    }

    /// What the store says of an attempt fits what its handler saw.
    fn judge_calls(&mut self, row: &Execution, first: &Execution) {
        let calls = self.calls.get(&row.id).cloned().unwrap_or_default();
        let worker = row.run().map(|run| &run.worker);
        let seen = |outcomes: &[Outcome]| {
            calls.iter().any(|call| {
                call.ended.is_some_and(|(_, outcome)| outcomes.contains(&outcome))
                    && worker.is_none_or(|worker| *worker == call.worker)
            })
        };
        let fits = match &row.state {
            State::Success(_) => seen(&[Outcome::Succeeded]),
            State::Failed(..) => seen(&[Outcome::Failed, Outcome::Panicked, Outcome::Stopped]),
            State::TimedOut(_) => !calls.is_empty(),
            State::Skipped { reason: SkipReason::ByJob(_), .. } => seen(&[Outcome::Skipped]),
            State::Skipped { .. } | State::Cancelled { run: None, .. } | State::Queued { .. } => {
                calls.is_empty()
            }
            State::Stuck(_) | State::Cancelled { run: Some(_), .. } => true,
            State::Running(_) => false,
        };
        self.require(calls.len() <= 1 && fits, || format!("I4: {row:?} was called {calls:?}"));
        let key = first.id.to_string();
        self.require(calls.iter().all(|call| call.key == key), || {
            format!("I4: the idempotency key is not {key}: {calls:?}")
        });
    }

    /// I10: a job stands before the slot that follows the last one.
    fn judge_standing(&mut self, record: &JobRecord, job: &chronos_core::Job) {
        let standing = &job.standing;
        let Some(version) = record.versions.last() else {
            return;
        };
        let after = standing.last_slot.map_or(version.after, |last| last.max(version.after));
        let expected = version.oracle.next_after(after);
        let worn_out =
            job.spec.schedule.max_runs().is_some_and(|most| standing.tally.fired >= most.get());
        let fits = match version.oracle {
            Oracle::FromEnd(_) => true,
            _ if !standing.enabled => worn_out || expected.is_none(),
            _ => standing.next_slot == expected || standing.deferred_until.is_some(),
        };
        self.require(fits, || format!("I10: {standing:?} although {expected:?} is next"));
    }

    /// The counts of a job are those of its records.
    fn judge_tally(&mut self, job: &chronos_core::Job, rows: &[Execution], events: &[&AuditEvent]) {
        let tally = &job.standing.tally;
        let fired = |of_schedule: bool| {
            let fired = events.iter().filter(|event| {
                matches!(&event.decision, Decision::Fired { trigger, .. }
                    if trigger.is_scheduled() == of_schedule)
            });
            fired.count() as u64
        };
        let succeeded = rows.iter().filter(|row| matches!(row.state, State::Success(_)));
        let ran = rows.iter().filter(|row| row.run().is_some()).count() as u64;
        let succeeded = succeeded.count() as u64;
        let counted = (tally.fired, tally.manual, tally.succeeded, tally.failed);
        let expected = (fired(true), fired(false), succeeded, ran - succeeded);
        self.require(counted == expected, || {
            format!("{} counts {counted:?} of {expected:?}", job.spec.id)
        });
    }

    /// What was said once stays said: ends are absorbing and acknowledged ones are kept.
    fn judge_records(&mut self, stage: &Stage) {
        let ledger = stage.ledger.lock();
        let said = ledger.ended.values().chain(&ledger.acknowledged);
        for execution in said {
            let kept = self.rows.get(&execution.id);
            if kept != Some(execution) {
                self.wrong.push(format!("I6: said {execution:?}, kept {kept:?}"));
            }
        }
        for execution in self.calls.keys() {
            if !self.rows.contains_key(execution) {
                self.wrong.push(format!("I2: a call for {execution}, which is not recorded"));
            }
        }
    }
}

/// Whether an existing job should have tried the slot once more.
fn is_given_up_early(record: &JobRecord, last: &Execution) -> bool {
    let specs = || record.versions.iter().map(|version| &version.spec);
    match goes_on(last) {
        None => false,
        Some(Loss::Interrupted) => true,
        Some(Loss::Lost) => last.lost < 3,
        // A run that waits behind takes the place of a retry.
        Some(Loss::Failed) => {
            let none_waits = specs().all(|spec| {
                let queues =
                    matches!(spec.overlap, OverlapPolicy::Queue(_) | OverlapPolicy::Replace);
                !queues && spec.catch_up == CatchUpPolicy::Skip
            });
            none_waits && specs().all(|spec| last.retry < spec.retry.max_retry)
        }
    }
}

enum Loss {
    Failed,
    Lost,
    Interrupted,
}

/// Why there may be an attempt after this one; `None` when there may not.
fn goes_on(row: &Execution) -> Option<Loss> {
    match &row.state {
        State::Failed(_, failure) if failure.class == Class::Transient => Some(Loss::Failed),
        State::TimedOut(_) => Some(Loss::Failed),
        State::Stuck(_) => Some(Loss::Lost),
        State::Cancelled { cause: CancelCause::Shutdown, .. } => Some(Loss::Interrupted),
        _ => None,
    }
}

/// The slots that a decision accounts for.
fn covered(event: &AuditEvent) -> Option<Slots> {
    match &event.decision {
        Decision::Fired { instead_of, .. } => *instead_of,
        Decision::Skipped { slots, .. } => Some(*slots),
        _ => None,
    }
}

fn is_slot(
    version: &Version,
    slot: Timestamp,
    slots: &BTreeSet<Timestamp>,
    events: &[&AuditEvent],
) -> bool {
    if slot <= version.after || version.until.is_some_and(|until| slot > until) {
        return false;
    }
    match version.oracle {
        // The end of a run or, on a clock that stepped back, the slot before.
        Oracle::FromEnd(every) => {
            let end = slot.before(every);
            version.first == Some(slot)
                || slots.contains(&end)
                || events.iter().any(|event| event.at == end)
        }
        Oracle::Every { .. } | Oracle::Once(_) => version.oracle.contains(slot),
    }
}
