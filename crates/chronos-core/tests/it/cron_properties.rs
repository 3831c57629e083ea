//! Laws of cron slots: they lie ahead, they rise, and they are those of the slow definition.

#![expect(clippy::unwrap_used, reason = "an expression that does not parse should stop the test")]

use std::collections::BTreeMap;

use chrono::Timelike;
use chrono_tz::{TZ_VARIANTS, Tz};
use chronos_core::Timestamp;
use chronos_core::schedule::{Cron, CronError, Zone};
use proptest::prelude::*;

use crate::cron_oracle::{generated, local, offset};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn slots_are_those_that_the_definition_names(
        cron in generated(),
        tz in zones(),
        start in 20 * YEAR..67 * YEAR,
        lead in 0_i64..30 * HOUR,
    ) {
        // A year's search finds a change in any zone that has them; the window spans it.
        let change = change_after(tz, start, start + YEAR).map_or(start, |change| change.0);
        let (from, length) = if cron.with_seconds {
            (change - lead / 20, 2 * HOUR)
        } else {
            (change - lead, 2 * DAY)
        };
        let ours = match Cron::parse(&cron.text, zone(tz)) {
            Err(CronError::NeverFires { .. }) => Vec::new(),
            parsed => between(&parsed.unwrap(), from, from + length),
        };
        prop_assert_eq!(ours, cron.slots(tz, from, from + length), "{} in {}", cron.text, tz);
    }

    #[test]
    fn no_two_slots_are_closer_than_the_shortest_gap(
        cron in generated(),
        start in 20 * YEAR..67 * YEAR,
    ) {
        let Ok(cron) = Cron::parse(&cron.text, Zone::UTC) else { return Ok(()) };
        let gap = i64::try_from(cron.shortest_gap().as_secs()).unwrap();
        let mut last: Option<Timestamp> = None;
        for _ in 0..500 {
            let Some(next) = cron.next_after(last.unwrap_or(Timestamp::from_secs(start))) else { break };
            let before = last.replace(next);
            prop_assert!(before.is_none_or(|before| next.as_secs() - before.as_secs() >= gap));
        }
    }

    #[test]
    fn the_next_slot_lies_ahead_and_matches_and_none_lies_between(
        cron in generated(),
        tz in zones(),
        micros in Timestamp::MIN.as_micros()..Timestamp::MAX.as_micros(),
        between in 0.0..1.0_f64,
    ) {
        let Ok(cron) = Cron::parse(&cron.text, zone(tz)) else { return Ok(()) };
        let from = Timestamp::from_micros(micros);
        let Some(next) = cron.next_after(from) else { return Ok(()) };
        prop_assert!(next > from);
        prop_assert!(cron.matches(next));
        #[expect(clippy::cast_possible_truncation, reason = "any instant in between will do")]
        let on_the_way = ((next.as_micros() - micros) as f64 * between) as i64;
        let later = Timestamp::from_micros((micros + on_the_way).min(next.as_micros() - 1));
        prop_assert_eq!(cron.next_after(later), Some(next));
    }

    #[test]
    fn whatever_is_typed_is_refused_or_fires(text in "[0-9*,/#LW?+@A-F -]{0,24}|( ?[0-9*,/#LW-]{1,4}){5,7}") {
        if let Ok(cron) = Cron::parse(&text, Zone::UTC) {
            prop_assert!(cron.next_after(Timestamp::MIN).is_some());
            prop_assert!(!cron.describe().contains("  "));
            let json = serde_json::to_string(&cron).unwrap();
            prop_assert_eq!(serde_json::from_str::<Cron>(&json).unwrap(), cron);
        }
    }
}

#[test]
fn slots_rise_through_every_change_of_every_zone() {
    let expressions = ["30 2 * * *", "0 * * * *", "*/30 * * * *", "0 0 * * *"];
    let mut changes = 0;
    for tz in TZ_VARIANTS {
        let crons = expressions.map(|text| Cron::parse(text, zone(tz)).unwrap());
        for (at, before, after) in changes_since_1970(tz) {
            changes += 1;
            for cron in &crons {
                let window =
                    if cron.expression().ends_with("* * * *") { 3 * HOUR } else { 30 * HOUR };
                let shift = (after - before).abs();
                between(cron, at - window - shift, at + window + shift);
            }
            counts_on(&crons[2], at, before, after);
        }
    }
    assert!(changes > 20_000, "{changes} changes are too few to be all");
}

#[test]
fn a_fixed_time_fires_once_at_every_change_of_every_zone() {
    for tz in TZ_VARIANTS {
        let mut crons = BTreeMap::new();
        for (at, before, after) in changes_since_1970(tz) {
            let (first, end) = (at + before.min(after), at + before.max(after));
            // Whole minutes only, as five fields name them, and windows without a second firing.
            if first % 60 != 0 || end % 60 != 0 || end - first > 11 * HOUR {
                continue;
            }
            for wall in [first, i64::midpoint(first, end) / 60 * 60, end - 60] {
                let time = local(Tz::UTC, wall);
                let cron: &Cron = crons.entry((time.hour(), time.minute())).or_insert_with(|| {
                    let daily = format!("{} {} * * *", time.minute(), time.hour());
                    Cron::parse(&daily, zone(tz)).unwrap()
                });
                let expected = if after > before { at } else { wall - before };
                let found = between(cron, at - 11 * HOUR - 1, at + 11 * HOUR);
                assert_eq!(found, [expected], "{cron:?} around {at}");
            }
        }
    }
}

/// The half hours that the clocks show on either side of a change all fire, and nothing else.
fn counts_on(cron: &Cron, at: i64, before: i64, after: i64) {
    let marks = |from: i64, until: i64, offset: i64| {
        let first = (from + offset).div_euclid(1_800) + 1;
        (first..).map(move |n| n * 1_800 - offset).take_while(move |utc| *utc <= until)
    };
    let mut expected: Vec<i64> = marks(at - 3 * HOUR, at - 1, before).collect();
    expected.extend(marks(at - 1, at + 3 * HOUR, after));
    assert_eq!(between(cron, at - 3 * HOUR, at + 3 * HOUR), expected, "{cron:?} around {at}");
}

/// The slots in `(from, until]`, each of which must lie after the one before.
fn between(cron: &Cron, from: i64, until: i64) -> Vec<i64> {
    let next = |slot: Timestamp| {
        let next = cron.next_after(slot)?;
        assert!(next > slot, "{cron:?}: {next} follows {slot}");
        Some(next)
    };
    std::iter::successors(next(Timestamp::from_secs(from)), |slot| next(*slot))
        .map(Timestamp::as_secs)
        .take_while(|slot| *slot <= until)
        .collect()
}

fn zone(tz: Tz) -> Zone {
    Zone::parse(tz.name()).unwrap()
}

/// Zones with peculiar changes, and all others.
fn zones() -> impl Strategy<Value = Tz> {
    use chrono_tz::{Africa, America, Antarctica, Asia, Australia, Europe, Pacific, UTC};
    let peculiar = vec![
        UTC,
        Europe::Berlin,
        America::New_York,
        America::St_Johns,
        America::Havana,
        America::Sao_Paulo,
        Africa::Casablanca,
        Antarctica::Troll,
        Asia::Gaza,
        Asia::Tehran,
        Australia::Lord_Howe,
        Pacific::Apia,
        Pacific::Chatham,
        Pacific::Kwajalein,
    ];
    prop_oneof![prop::sample::select(peculiar), prop::sample::select(&TZ_VARIANTS[..])]
}

fn changes_since_1970(tz: Tz) -> impl Iterator<Item = (i64, i64, i64)> {
    let end = 68 * YEAR;
    std::iter::successors(change_after(tz, 0, end), move |change| change_after(tz, change.0, end))
}

/// The first change after `from`: its instant and the offsets on either side.
fn change_after(tz: Tz, from: i64, until: i64) -> Option<(i64, i64, i64)> {
    let before = offset(tz, from);
    let days = (1..).map(|n| from + n * DAY).take_while(|utc| *utc < until);
    let changed = days.into_iter().find(|utc| offset(tz, *utc) != before)?;
    let (mut low, mut high) = (changed - DAY, changed);
    while high - low > 1 {
        let middle = i64::midpoint(low, high);
        if offset(tz, middle) == before {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((high, before, offset(tz, high)))
}
