//! What holds for every instant and every period.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_history::{Level, Period};
use proptest::prelude::*;

/// Any instant at all, and often one at a turn of the calendar, where mistakes live.
fn instants() -> impl Strategy<Value = Timestamp> {
    let (first, last) = (Timestamp::MIN.as_micros(), Timestamp::MAX.as_micros());
    let anywhere = (first..=last).prop_map(Timestamp::from_micros);
    let turns = (anywhere.clone(), levels(), -1_i64..=1).prop_map(|(instant, level, by)| {
        let turn = Period::containing(level, instant).start();
        Timestamp::from_micros(turn.as_micros() + by)
    });
    let ends = prop_oneof![Just(Timestamp::MIN), Just(Timestamp::MAX)];
    prop_oneof![8 => anywhere, 8 => turns, 1 => ends]
}

fn levels() -> impl Strategy<Value = Level> {
    proptest::sample::select(&Level::ALL)
}

fn periods() -> impl Strategy<Value = Period> {
    (levels(), instants()).prop_map(|(level, instant)| Period::containing(level, instant))
}

proptest! {
    #[test]
    fn every_instant_is_in_exactly_one_period_of_each_level(level in levels(), t in instants()) {
        let period = Period::containing(level, t);
        prop_assert!(period.contains(t));
        prop_assert!(period.start() <= t);
        prop_assert!(t < period.end() || (t == Timestamp::MAX && period.next().is_none()));
        for neighbour in [period.previous(), period.next()].into_iter().flatten() {
            prop_assert!(!neighbour.contains(t));
        }
    }

    #[test]
    fn neighbours_meet_without_gap_or_overlap(period in periods()) {
        prop_assert!(period.start() < period.end());
        if let Some(next) = period.next() {
            prop_assert_eq!(next.start(), period.end());
            prop_assert_eq!(next.previous(), Some(period));
            prop_assert!(period < next);
        } else {
            prop_assert_eq!(period.end(), Timestamp::MAX);
        }
        if period.previous().is_none() {
            prop_assert_eq!(period.start(), Timestamp::MIN);
        }
    }

    #[test]
    fn ids_parse_back_and_sort_as_their_periods_do(period in periods()) {
        let id = period.to_string();
        prop_assert_eq!(id.parse(), Ok(period));
        if let Some(next) = period.next() {
            prop_assert!(id < next.to_string());
            prop_assert_ne!(period.title(), next.title());
        }
    }

    #[test]
    fn parents_hold_their_children_and_a_month_the_thursdays_of_its_weeks(period in periods()) {
        let Some(parent) = period.parent() else {
            prop_assert_eq!(period.level(), Level::Year);
            return Ok(());
        };
        prop_assert_eq!(Some(parent.level()), period.level().parent());
        prop_assert!(parent.children().any(|child| child == period));
        if period.level() == Level::Week {
            let thursday = period.start().after(Duration::from_hours(3 * 24));
            prop_assert!(parent.contains(thursday));
        } else {
            prop_assert!(parent.start() <= period.start() && period.end() <= parent.end());
        }
    }

    #[test]
    fn children_are_shared_out_without_gap_or_overlap(period in periods()) {
        let children: Vec<Period> = period.children().collect();
        let Some((first, last)) = children.first().zip(children.last()) else {
            prop_assert_eq!(period.level(), Level::Hour);
            return Ok(());
        };
        for pair in children.windows(2) {
            prop_assert_eq!(pair[0].next(), Some(pair[1]));
        }
        prop_assert!(children.iter().all(|child| child.parent() == Some(period)));
        let following = period.next().and_then(|next| next.children().next());
        prop_assert_eq!(last.next(), following);
        if period.level() != Level::Month {
            prop_assert_eq!(first.start(), period.start());
            prop_assert_eq!(last.end(), period.end());
        }
        let counts = match period.level() {
            Level::Hour => 0..=0,
            Level::Day => 24..=24,
            // The calendar ends on a Friday.
            Level::Week if period.next().is_none() => 5..=5,
            Level::Week => 7..=7,
            Level::Month => 4..=5,
            Level::Year => 12..=12,
        };
        prop_assert!(counts.contains(&children.len()), "{} children", children.len());
    }

    #[test]
    fn a_period_closes_once_it_has_been_over_for_long_enough(
        period in periods(), min_age in 0_u64..10_000_000,
    ) {
        let min_age = Duration::from_secs(min_age);
        let closes = period.end().after(min_age);
        prop_assert!(!period.is_closed(period.start(), Duration::ZERO));
        if closes < Timestamp::MAX {
            prop_assert!(period.is_closed(closes, min_age));
            prop_assert!(!period.is_closed(closes.before(Duration::from_micros(1)), min_age));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(toc:)?(hour|day|week|month|year)?:?[0-9TW:-]{0,14}|\\PC*") {
        if let Ok(period) = text.parse::<Period>() {
            prop_assert_eq!(period.to_string(), text);
        }
    }
}
