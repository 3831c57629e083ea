//! Accounts: what the database says happened, held against what the endpoint saw.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chronos_core::audit::{Decision, Slots};
use chronos_core::execution::{CancelCause, Run, SkipReason, State, Token, Trigger};
use chronos_core::policy::CatchUpPolicy;
use chronos_core::{Execution, ExecutionId, JobId, JobSpec, Store, Timestamp, WorkerId};
use chronos_store::PostgresStore;

use super::nodes::executions;
use crate::crash::endpoint::Called;

/// What was seen of jobs that fire every second.
pub(super) struct Tally {
    pub(super) slots: usize,
    /// Attempts that were lost with their nodes.
    pub(super) lost: usize,
}

/// How far the clocks of nodes lie apart at most, as they tell the time of the database.
const APART: Duration = Duration::from_millis(50);

/// Checks jobs that fire every second, from their first slot up to `until`: none is missing, none is made
/// up, each has one success or is lost time and again, each attempt called at most once, and no more runs
/// were under way at once than the job allows. A slot is passed over only where a run of its job was alive or
/// nobody was there to fire it.
pub(super) async fn check(
    store: &PostgresStore,
    jobs: &[JobId],
    until: Timestamp,
    calls: &[Called],
) -> Tally {
    let mut seen = Tally { slots: 0, lost: 0 };
    let passed_over = passed_over(store).await;
    for job in jobs {
        let spec = store.job(*job).await.unwrap().spec;
        let mut slots: BTreeMap<Timestamp, Vec<Execution>> = BTreeMap::new();
        for execution in executions(store, *job).await {
            slots.entry(execution.slot).or_default().push(execution);
        }
        // A job that catches up has no slot that nobody was there to fire.
        let missed = passed_over.get(job).filter(|_| spec.catch_up == CatchUpPolicy::Skip);
        no_miss_and_no_phantom(&slots, missed.map_or(&[], Vec::as_slice), until);
        if spec.overlap.capacity().is_some() {
            one_at_a_time(slots.values().flatten());
        }
        for (slot, attempts) in slots.range(..=until) {
            seen.slots += 1;
            seen.lost += one_success(&spec, *slot, attempts);
        }
        each_attempt_calls_at_most_once(&slots, until, calls);
    }
    seen
}

/// The slots that nobody was there to fire, by job.
async fn passed_over(store: &PostgresStore) -> BTreeMap<JobId, Vec<Slots>> {
    let mut passed_over: BTreeMap<JobId, Vec<Slots>> = BTreeMap::new();
    let mut last = 0;
    loop {
        let events = store.audit(last, 1_000).await.unwrap();
        let Some(newest) = events.last() else {
            return passed_over;
        };
        last = newest.sequence;
        for event in events {
            if let Decision::Skipped { slots, reason: SkipReason::Missed } = event.decision {
                passed_over.entry(event.job.unwrap()).or_default().push(slots);
            }
        }
    }
}

fn no_miss_and_no_phantom(
    slots: &BTreeMap<Timestamp, Vec<Execution>>,
    passed_over: &[Slots],
    until: Timestamp,
) {
    let first = slots.keys().next().expect("it has fired").as_secs();
    let mut expected: BTreeSet<Timestamp> =
        (first..=until.as_secs()).map(Timestamp::from_secs).collect();
    let found: BTreeSet<Timestamp> = slots.range(..=until).map(|(slot, _)| *slot).collect();
    expected.retain(|slot| {
        found.contains(slot) || !passed_over.iter().any(|slots| slots.contains(*slot))
    });
    assert_eq!(found, expected, "every second is a slot, and nothing else is");
}

/// Each run began when the one before it was over.
fn one_at_a_time<'a>(executions: impl Iterator<Item = &'a Execution>) {
    let mut runs: Vec<_> = executions.filter_map(Execution::run).collect();
    runs.sort_by_key(|run| run.token.0);
    for pair in runs.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        let over = earlier.finished_at.before(APART);
        assert!(over <= later.started_at, "two at once: {earlier:?} and {later:?}");
    }
}

/// Attempts follow each other, each after a loss, up to one success; says how many were lost.
fn one_success(spec: &JobSpec, slot: Timestamp, attempts: &[Execution]) -> usize {
    let mut attempts: Vec<&Execution> = attempts.iter().collect();
    attempts.sort_by_key(|execution| execution.attempt);
    let numbers: Vec<u32> = attempts.iter().map(|execution| execution.attempt).collect();
    assert_eq!(numbers, (1..).take(numbers.len()).collect::<Vec<u32>>(), "{slot:?}: {attempts:#?}");
    let (newest, before) = attempts.split_last().expect("a slot has an attempt");
    // A slot that is lost a fourth time is left alone.
    let given_up = newest.lost == 3 && matches!(newest.state, State::Stuck(_));
    let has_ended = given_up || matches!(newest.state, State::Success(_));
    assert!(has_ended || was_passed_over(spec, newest), "{slot:?}: {newest:?}");
    for execution in before {
        // A node that stops in order hands back what it runs.
        let cause = CancelCause::Shutdown;
        let handed_back =
            matches!(execution.state, State::Cancelled { cause: given, .. } if given == cause);
        let is_lost = matches!(execution.state, State::Stuck(_));
        assert!(is_lost || handed_back, "{slot:?}: {execution:?}");
    }
    let tokens = attempts.iter().filter_map(|execution| execution.run()).map(|run| run.token.0);
    assert!(tokens.is_sorted_by(|a, b| a < b), "tokens only grow: {attempts:#?}");
    attempts.iter().filter(|execution| matches!(execution.state, State::Stuck(_))).count()
}

/// Whether the job has it so: a run of it was alive at this slot, nobody was there to fire it, or the next
/// slot came before this one was tried again.
fn was_passed_over(spec: &JobSpec, execution: &Execution) -> bool {
    let State::Skipped { reason, .. } = &execution.state else {
        return false;
    };
    let first = execution.attempt == 1;
    match reason {
        SkipReason::Overlap => first && spec.overlap.capacity().is_some(),
        SkipReason::Missed => first && spec.catch_up == CatchUpPolicy::Skip,
        SkipReason::Superseded => !first && spec.overlap.capacity().is_some(),
        _ => false,
    }
}

fn each_attempt_calls_at_most_once(
    slots: &BTreeMap<Timestamp, Vec<Execution>>,
    until: Timestamp,
    calls: &[Called],
) {
    let mut by_execution: BTreeMap<ExecutionId, Vec<&Called>> = BTreeMap::new();
    for called in calls {
        by_execution.entry(called.execution).or_default().push(called);
    }
    for attempts in slots.range(..=until).map(|(_, attempts)| attempts) {
        let mut keys = BTreeSet::new();
        for execution in attempts {
            let calls = by_execution.get(&execution.id).map_or(&[][..], Vec::as_slice);
            assert!(calls.len() <= 1, "{execution:?} called twice: {calls:?}");
            let succeeded = matches!(execution.state, State::Success(_));
            assert!(!succeeded || calls.len() == 1, "{execution:?} succeeded without a call");
            for called in calls {
                let run = execution.run().expect("it ran");
                assert_eq!((called.attempt, called.fence), (execution.attempt, run.token.0));
                assert_eq!(called.slot, execution.slot);
                keys.insert(called.key);
            }
        }
        assert!(keys.len() <= 1, "attempts at one slot share their key: {attempts:?}");
    }
}

/// A run of one job for the slot at a second, from one time to another in milliseconds.
fn ran(token: u64, second: i64, (from, to): (i64, i64)) -> Execution {
    let (job, slot) = (JobId::new(Timestamp::EPOCH, [7; 10]), Timestamp::from_secs(second));
    let run = Run {
        worker: WorkerId::new("a"),
        token: Token(token),
        started_at: Timestamp::from_micros(from * 1_000),
        finished_at: Timestamp::from_micros(to * 1_000),
        took: Duration::from_millis(1),
        log: None,
        response: None,
    };
    Execution {
        state: State::Success(run),
        ..Execution::queued(job, slot, Trigger::Schedule, slot)
    }
}

#[test]
fn runs_that_follow_each_other_are_one_at_a_time() {
    one_at_a_time([ran(1, 1, (1_000, 1_700)), ran(3, 3, (3_000, 3_100))].iter());
    one_at_a_time([ran(9, 2, (2_000, 2_700)), ran(4, 1, (1_000, 2_000))].iter());
}

#[test]
#[should_panic(expected = "two at once")]
fn runs_beside_each_other_are_seen() {
    one_at_a_time([ran(1, 1, (1_000, 2_300)), ran(2, 2, (2_000, 2_700))].iter());
}
