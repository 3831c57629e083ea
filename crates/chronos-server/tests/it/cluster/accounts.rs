//! Accounts: what the database says happened, held against what the endpoint saw.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::execution::{CancelCause, State};
use chronos_core::{Execution, ExecutionId, JobId, Store, Timestamp};
use chronos_store::PostgresStore;

use super::nodes::executions;
use crate::crash::endpoint::Called;

/// What was seen of jobs that fire every second.
pub(super) struct Tally {
    pub(super) slots: usize,
    /// Attempts that were lost with their nodes.
    pub(super) lost: usize,
}

/// Checks jobs that fire every second, from their first slot up to `until`: none is missing, none is made
/// up, each has one success or is lost time and again, and each attempt called at most once.
pub(super) async fn check(
    store: &PostgresStore,
    jobs: &[JobId],
    until: Timestamp,
    calls: &[Called],
) -> Tally {
    let mut seen = Tally { slots: 0, lost: 0 };
    for job in jobs {
        assert!(store.job(*job).await.is_ok());
        let mut slots: BTreeMap<Timestamp, Vec<Execution>> = BTreeMap::new();
        for execution in executions(store, *job).await {
            slots.entry(execution.slot).or_default().push(execution);
        }
        no_miss_and_no_phantom(&slots, until);
        for (slot, attempts) in slots.range(..=until) {
            seen.slots += 1;
            seen.lost += one_success(*slot, attempts);
        }
        each_attempt_calls_at_most_once(&slots, until, calls);
    }
    seen
}

fn no_miss_and_no_phantom(slots: &BTreeMap<Timestamp, Vec<Execution>>, until: Timestamp) {
    let first = slots.keys().next().expect("it has fired").as_secs();
    let expected: BTreeSet<Timestamp> =
        (first..=until.as_secs()).map(Timestamp::from_secs).collect();
    let found: BTreeSet<Timestamp> = slots.range(..=until).map(|(slot, _)| *slot).collect();
    assert_eq!(found, expected, "every second is a slot, and nothing else is");
}

/// Attempts follow each other, each after a loss, up to one success; says how many were lost.
fn one_success(slot: Timestamp, attempts: &[Execution]) -> usize {
    let mut attempts: Vec<&Execution> = attempts.iter().collect();
    attempts.sort_by_key(|execution| execution.attempt);
    let numbers: Vec<u32> = attempts.iter().map(|execution| execution.attempt).collect();
    assert_eq!(numbers, (1..).take(numbers.len()).collect::<Vec<u32>>(), "{slot:?}: {attempts:#?}");
    let (newest, before) = attempts.split_last().expect("a slot has an attempt");
    // A slot that is lost a fourth time is left alone.
    let given_up = newest.lost == 3 && matches!(newest.state, State::Stuck(_));
    assert!(given_up || matches!(newest.state, State::Success(_)), "{slot:?}: {newest:?}");
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
