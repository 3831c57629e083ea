//! Calls: what the endpoint saw, held against what the store says.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::audit::Decision;
use chronos_core::execution::State;
use chronos_core::policy::OverlapPolicy;
use chronos_core::{Execution, ExecutionId};

use super::super::endpoint::{Answered, Called};
use super::{Account, Accounts};

impl Accounts {
    /// Checks every call that the endpoint saw, and that it saw every call that succeeded.
    pub(super) fn check_calls(&self, calls: &[Called]) {
        let mut attempts = BTreeSet::new();
        let mut slots: BTreeMap<ExecutionId, Vec<&Called>> = BTreeMap::new();
        for call in calls {
            // One that was under way at a kill is lost; the slot's next attempt is another one.
            assert!(attempts.insert(call.execution), "an attempt was made twice: {call:?}");
            slots.entry(call.key).or_default().push(call);
            self.check_call(call);
        }
        for line in slots.values_mut() {
            line.sort_by_key(|call| call.attempt);
            for pair in line.windows(2) {
                assert!(pair[0].attempt < pair[1].attempt, "{pair:#?}");
                assert!(pair[0].fence < pair[1].fence, "{pair:#?}");
            }
        }
        let answers: BTreeMap<ExecutionId, Answered> =
            calls.iter().filter_map(|call| Some((call.execution, call.answered?))).collect();
        for row in self.jobs.values().flat_map(|account| &account.rows) {
            self.check_answer(row, &answers);
        }
        let one_at_a_time = |account: &&Account| {
            account.job.as_ref().is_some_and(|job| job.spec.overlap != OverlapPolicy::Concurrent)
        };
        for account in self.jobs.values().filter(one_at_a_time) {
            account.check_one_at_a_time(calls);
        }
    }

    /// Every call is that of a slot that fired, under the slot's one key.
    fn check_call(&self, call: &Called) {
        let account = &self.jobs[&call.job];
        let is_of_slot = |made: &Decision| {
            matches!(made, Decision::Fired { execution, slot, .. }
                if *execution == call.key && *slot == call.slot)
        };
        assert!(account.decided().any(is_of_slot), "{call:?} belongs to no slot");
        if account.job.is_some() {
            let row = account.rows.binary_search_by_key(&call.execution, |row| row.id);
            let row = &account.rows[row.unwrap_or_else(|_| panic!("{call:?} left no record"))];
            assert_eq!((row.slot, row.attempt), (call.slot, call.attempt));
        }
    }

    /// A result that was accepted is one that the endpoint gave.
    fn check_answer(&self, row: &Execution, answers: &BTreeMap<ExecutionId, Answered>) {
        let (State::Success(run) | State::Failed(run, _)) = &row.state else {
            return;
        };
        let Some(response) = &run.response else {
            // The program's own jobs call nobody, nor does who says something.
            let account = &self.jobs[&row.job];
            let is_own = account.title().contains("compaction") || account.is_of_the_history();
            assert!(is_own || account.says(), "{row:?} has no answer");
            return;
        };
        let answered = answers.get(&row.id).map(|answered| answered.status);
        assert_eq!(answered, Some(response.status), "{row:?}");
    }
}

impl Account {
    /// Where the overlap policy admits one run at a time, the next one is called only after the one
    /// before was answered. One that was killed, or cancelled in its favour, may not know yet.
    fn check_one_at_a_time(&self, calls: &[Called]) {
        let of_job = |call: &&Called| self.rows.first().is_some_and(|row| row.job == call.job);
        let mut calls: Vec<&Called> = calls.iter().filter(of_job).collect();
        calls.sort_by_key(|call| call.fence);
        for pair in calls.windows(2) {
            let row = self.rows.iter().find(|row| row.id == pair[0].execution).unwrap();
            if matches!(row.state, State::Success(_) | State::Failed(..)) {
                let answered = pair[0].answered.unwrap().at;
                assert!(answered < pair[1].arrived, "{} overlaps: {pair:#?}", self.title());
            }
        }
    }
}
