//! The laws themselves, as the world checks them.
#![expect(clippy::expect_used, reason = "a world that breaks its own rules fails the test")]

use std::collections::BTreeSet;

use chronos_core::audit::{Decision, Slots};
use chronos_core::execution::Trigger;
use chronos_core::plan::{MAX_ROWS, Plan, Withdrawal};
use chronos_core::{Job, Timestamp, plan};

use super::setup::is_quiet;
use super::world::World;

impl World {
    /// Every slot that the plan moves past has a row of its own or lies in a recorded range.
    pub(super) fn account(&mut self, plan: &Plan) {
        let rows: BTreeSet<_> = plan
            .executions
            .iter()
            .filter(|row| row.trigger.is_scheduled())
            .map(|row| row.slot)
            .collect();
        let withdrawn = plan.withdrawals.iter().map(Withdrawal::execution);
        let withdrawn: BTreeSet<_> = withdrawn.map(|id| self.executions[&id].slot).collect();
        let mut skipped: Vec<Slots> = Vec::new();
        let mut stood_for: Vec<Slots> = Vec::new();
        for decision in &plan.decisions {
            match decision {
                Decision::Fired { slot, trigger, instead_of, .. } => {
                    if trigger.is_scheduled() {
                        assert!(self.fired.insert(*slot), "{slot} fires twice");
                        assert!(rows.contains(slot), "{slot} fires without a row");
                    }
                    stood_for.extend(*instead_of);
                }
                // A slot that had its row already, and whose run is taken back.
                Decision::Skipped { slots, .. } if withdrawn.contains(&slots.first) => {}
                Decision::Skipped { slots, .. } => skipped.push(*slots),
                _ => {}
            }
        }
        let Some(last) = plan.standing.last_slot.filter(|last| *last > self.accounted) else {
            assert_eq!(rows, BTreeSet::new(), "rows without a step forward");
            return;
        };
        let expected = match self.oracle.slots(self.accounted, last) {
            Some(expected) => expected,
            None => vec![self.job.standing.next_slot.expect("a fixed delay fires its next slot")],
        };
        for row in &rows {
            assert!(expected.binary_search(row).is_ok(), "{row} is no slot");
        }
        for slot in &expected {
            let ranges = skipped.iter().chain(&stood_for);
            let covered =
                rows.contains(slot) || ranges.into_iter().any(|range| range.contains(*slot));
            assert!(covered, "{slot} is not accounted for");
        }
        for range in skipped.iter().chain(&stood_for) {
            check_range(range, &expected);
        }
        for range in skipped.iter().filter(|range| range.first < range.last) {
            let twice = rows.range(range.first..=range.last).next();
            assert_eq!(twice, None, "accounted for twice");
        }
        self.accounted = last;
    }

    pub(super) fn check_cost(&self, planned: &Plan) {
        let spec = &self.job.spec;
        let caught_up = planned.executions.iter();
        let caught_up = caught_up.filter(|row| row.trigger == Trigger::CatchUp).count();
        assert!(caught_up <= spec.catch_up.cap() as usize, "more caught up than the cap");
        assert!(planned.executions.len() <= 3 * MAX_ROWS);
        assert!(planned.decisions.len() <= planned.executions.len() + self.live.len() + 5);
    }

    /// What fires does so outside quiet hours and a pause, within its jitter, before its next slot.
    pub(super) fn check_fired(&self, before: &Job, planned: &Plan) {
        let window = before.spec.jitter;
        for queued in planned.executions.iter().filter(|row| row.is_queued()) {
            if let Some(pause) = &before.standing.paused {
                let end = pause.resume_at.filter(|end| *end <= self.now).expect("still paused");
                let parked = before.spec.schedule.is_one_shot();
                assert!(parked || queued.slot >= end, "fired a slot of the pause");
            }
            assert!(self.quiet.is_none() || !is_quiet(self.now), "fired in quiet hours");
            let deferred = before.standing.deferred_until;
            let base = match queued.trigger {
                Trigger::CatchUp => self.now,
                _ if before.standing.next_slot == Some(queued.slot) => {
                    deferred.map_or(queued.slot, |until| until.max(queued.slot))
                }
                _ => queued.slot,
            };
            let offset = queued.run_at.since(base);
            assert!(queued.run_at >= base && (offset < window || offset.is_zero()));
            if let Some(next) = self.oracle.next(base) {
                assert!(queued.run_at < next, "jitter reaches the next slot");
            }
        }
    }

    /// The capacity holds, or at least is not exceeded further; nobody waits for nobody.
    pub(super) fn check_overlap(&self, allowed: u32) {
        let active = self.active();
        if let Some(capacity) = self.job.spec.overlap.capacity() {
            let live = self.live();
            assert!(active <= capacity.max(allowed), "{active} active: {live:?}");
        }
        let paused = self.job.standing.paused.is_some();
        for live in self.live() {
            let scheduled = live.trigger.is_scheduled();
            if paused && scheduled {
                assert!(live.is_held() || live.running().is_some(), "begins while paused");
            } else if live.is_held() {
                let capacity = self.job.spec.overlap.capacity();
                let waits_for_someone = capacity.is_some_and(|most| active >= most);
                assert!(waits_for_someone, "held for ever: {:?}", self.live());
            }
        }
    }

    pub(super) fn check_standing(&self) {
        let standing = &self.job.standing;
        if let Some(next) = standing.next_slot {
            assert!(Some(next) > standing.last_slot, "{standing:?} goes back");
        }
        if standing.enabled && standing.next_slot.is_none() {
            let waits_for_end = self.live().iter().any(|live| live.trigger.is_scheduled());
            assert!(waits_for_end, "enabled and never due again");
        }
        assert_eq!(standing.tally.fired, self.fired.len() as u64);
        if let Some(most) = self.job.spec.schedule.max_runs() {
            assert!(standing.tally.fired <= most.get(), "more runs than max_runs");
        }
    }
    pub(super) fn check_idempotence(&self) {
        let again = self.with_live(|live| plan(&self.job, live, self.now));
        let nothing = Plan {
            executions: vec![],
            withdrawals: vec![],
            decisions: vec![],
            messages: vec![],
            standing: self.job.standing.clone(),
        };
        assert_eq!(again, nothing, "a second plan does something");
    }
}

fn check_range(range: &Slots, expected: &[Timestamp]) {
    let Ok(first) = expected.binary_search(&range.first) else {
        panic!("{range:?} begins at no slot");
    };
    let Ok(last) = expected.binary_search(&range.last) else {
        panic!("{range:?} ends at no slot");
    };
    if let Some(count) = range.count {
        assert_eq!(count, (last - first + 1) as u64, "{range:?} counts wrong");
    }
}
