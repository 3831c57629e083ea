use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::execution::Failure;
use crate::plan::{Change, amend};
use crate::policy::{OverlapPolicy, retry};

#[derive(Clone, Debug)]
enum Verb {
    Turn,
    Plan,
    Claim,
    End(usize, u8),
    Switch(bool),
    PauseJob(bool),
    Pass(i64),
}

fn any_verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        4 => Just(Verb::Turn),
        2 => Just(Verb::Plan),
        4 => Just(Verb::Claim),
        4 => (0_usize..4, 0_u8..4).prop_map(|(place, how)| Verb::End(place, how)),
        1 => any::<bool>().prop_map(Verb::Switch),
        1 => any::<bool>().prop_map(Verb::PauseJob),
        3 => (1_i64..40).prop_map(Verb::Pass),
    ]
}

fn any_asked() -> impl Strategy<Value = Asked> {
    let rate = (1_u32..4, prop::option::of(1_u32..20));
    (0_i64..300, 1_i64..400, any::<bool>(), 1_u32..30, rate, any::<bool>()).prop_map(
        |(from, length, newest, cap, (at_once, per_minute), force)| Asked {
            to: Some(at((from + length).min(600))),
            order: if newest { Order::NewestFirst } else { Order::OldestFirst },
            cap,
            rate: Rate { at_once, per_minute },
            force,
            ..Asked::from(at(from))
        },
    )
}

fn any_overlap() -> impl Strategy<Value = OverlapPolicy> {
    let few = std::num::NonZeroU32::new(2).unwrap();
    prop_oneof![
        Just(OverlapPolicy::Skip),
        Just(OverlapPolicy::Concurrent),
        Just(OverlapPolicy::ConcurrentUpTo(few)),
        Just(OverlapPolicy::Queue(few)),
        Just(OverlapPolicy::Replace),
    ]
}

/// A job some of whose slots ran and some were missed.
fn history(overlap: OverlapPolicy, ran: &[i64]) -> Desk {
    let mut desk = Desk::every(10).with(|spec| {
        spec.overlap = overlap;
        spec.retry = retry::Policy::up_to(1);
    });
    for second in ran {
        desk.plan(*second);
        desk.run_all(*second);
    }
    desk.plan(605);
    desk.run_all(605);
    desk
}

struct History {
    desk: Desk,
    /// When each slot of the backfill fired.
    fired: Vec<(Timestamp, i64)>,
    now: i64,
}

impl History {
    fn verb(&mut self, verb: &Verb) {
        let (now, desk) = (self.now, &mut self.desk);
        match verb {
            Verb::Turn => {
                let (next, before) = (desk.job.standing.next_slot, desk.state().clone());
                if matches!(desk.turn(now), Turn::Fire { .. }) {
                    self.fired.push((before.cursor.unwrap(), now));
                }
                assert_eq!(desk.job.standing.next_slot, next, "the cadence stays");
            }
            Verb::Plan => desk.plan(now),
            Verb::Claim => {
                desk.claim(now);
            }
            Verb::End(place, how) => {
                let ending = match how {
                    0 => Ending::Failed(Failure::transient("down")),
                    1 => Ending::Stuck,
                    _ => Ending::Success,
                };
                drop(desk.finish(*place, ending, now));
            }
            Verb::Switch(pause) => {
                let switch = if *pause { Switch::Pause } else { Switch::Resume };
                if let Ok((after, _)) = desk.state().switched(switch, at(now)) {
                    desk.backfill = Some(after);
                }
            }
            Verb::PauseJob(pause) => {
                let change = if *pause {
                    Change::Pause { note: None, resume_at: None }
                } else {
                    Change::Resume
                };
                let amended = desk.look(|job, live| amend(job, live, change, at(now))).unwrap();
                desk.apply(&amended.plan, now);
            }
            Verb::Pass(seconds) => self.now += seconds,
        }
        self.check();
    }

    fn check(&self) {
        let (desk, state) = (&self.desk, self.desk.state());
        let own = desk.live.iter().filter(|live| state.asked_for(live)).count();
        assert!(own <= state.rate.at_once as usize, "{own} at once");
        assert_eq!(state.counts.under_way(), own as u64);
        assert_eq!(self.fired.len() as u64, state.counts.fired);
        assert!(state.counts.done() + state.counts.under_way() <= state.total);
        let running = desk.live.iter().filter(|live| live.running().is_some()).count();
        // A run that is replaced may still be on its way out.
        let most = desk.job.spec.overlap.capacity().map_or(usize::MAX, |most| most as usize);
        assert!(running <= most, "{running} run at once, {most} may");
    }

    /// Lets everything go on until the backfill is through.
    fn settle(&mut self) {
        self.verb(&Verb::Switch(false));
        self.verb(&Verb::PauseJob(false));
        for _ in 0..2_000 {
            if self.desk.state().is_over() {
                return;
            }
            for verb in [Verb::Plan, Verb::Turn, Verb::Claim, Verb::End(0, 3), Verb::Pass(5)] {
                self.verb(&verb);
            }
        }
        panic!("it never ends: {:?}, {:?}", self.desk.state(), self.desk.live);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_of_a_backfill_keeps_its_word(
        overlap in any_overlap(),
        asked in any_asked(),
        ran in prop::collection::btree_set(1_i64..60, 0..6),
        verbs in prop::collection::vec(any_verb(), 1..80),
    ) {
        let ran: Vec<i64> = ran.into_iter().map(|slot| slot * 10).collect();
        let mut desk = history(overlap, &ran);
        let Ok(backfill) = Backfill::new(&desk.job, &asked, at(609)) else {
            return Ok(());
        };
        let had_run: Vec<Timestamp> =
            desk.ledger().iter().filter(|entry| entry.ran).map(|entry| entry.slot).collect();
        desk.backfill = Some(Backfill { number: 1, ..backfill });
        let mut history = History { desk, fired: Vec::new(), now: 609 };
        for verb in &verbs {
            history.verb(verb);
        }
        history.settle();
        let state = history.desk.state();
        let slots: Vec<Timestamp> = history.fired.iter().map(|(slot, _)| *slot).collect();
        let in_range = |slot: &Timestamp| (state.from..state.to).contains(slot);
        prop_assert!(slots.iter().all(in_range), "{slots:?}");
        prop_assert!(slots.len() <= state.cap as usize);
        prop_assert!(slots.is_sorted_by(|one, two| match state.order {
            Order::OldestFirst => one < two,
            Order::NewestFirst => one > two,
        }), "{slots:?}");
        let again = slots.iter().filter(|slot| had_run.contains(slot)).count();
        prop_assert!(asked.force || again == 0, "{again} of {slots:?} had run");
        prop_assert_eq!(state.counts.done(), state.total);
        if let Some(per_minute) = state.rate.per_minute {
            for (_, begun) in &history.fired {
                let within = history.fired.iter().filter(|(_, at)| (*begun..begun + 60).contains(at));
                prop_assert!(within.count() <= per_minute as usize);
            }
        }
        // Every slot that ran at all was dispatched once, by its schedule or by the backfill.
        let mut chains: BTreeMap<(Timestamp, bool), usize> = BTreeMap::new();
        for run in history.desk.past.iter().filter(|run| run.attempt == 1) {
            if Entry::of(run).is_some_and(|entry| entry.ran) {
                *chains.entry((run.slot, run.trigger.backfill().is_some())).or_default() += 1;
            }
        }
        prop_assert!(chains.values().all(|times| *times == 1), "{chains:?}");
        let both = slots.iter().filter(|slot| chains.contains_key(&(**slot, false))).count();
        prop_assert!(asked.force || both == 0, "{both} ran by both");
    }
}
