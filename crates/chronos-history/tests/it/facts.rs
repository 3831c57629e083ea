//! The laws of facts: parts put together in any order are the whole.

use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_history::{Causes, Entry, JobFacts, Level};
use proptest::prelude::*;

use crate::world::{at, ended, job, journals};

fn facts<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> JobFacts {
    let mut facts = JobFacts::default();
    entries.into_iter().for_each(|entry| facts.count(entry));
    facts
}

fn together(one: &JobFacts, other: &JobFacts) -> JobFacts {
    let mut both = one.clone();
    both.merge(other);
    both
}

proptest! {
    #[test]
    fn facts_of_parts_are_those_of_the_whole_in_any_order(
        entries in journals(80), parts in proptest::collection::vec(0_u8..3, 80),
    ) {
        let part = |wanted: u8| {
            let chosen = entries.iter().zip(&parts).filter(move |(_, part)| **part == wanted);
            facts(chosen.map(|(entry, _)| entry))
        };
        let (one, other, third) = (part(0), part(1), part(2));
        let whole = facts(&entries);
        prop_assert_eq!(&together(&together(&one, &other), &third), &whole);
        prop_assert_eq!(&together(&one, &together(&other, &third)), &whole);
        prop_assert_eq!(&together(&third, &together(&other, &one)), &whole);
        // What is raised after it is put together is what is put together after it is raised.
        let raised = |facts: &JobFacts| facts.raised(Level::Day, Level::Week);
        prop_assert_eq!(together(&raised(&one), &raised(&other)), raised(&together(&one, &other)));
        prop_assert_eq!(together(&JobFacts::default(), &whole), whole);
    }

    #[test]
    fn an_entry_that_was_counted_is_not_counted_again(entries in journals(40), again in 0_usize..40) {
        let once = facts(&entries);
        let twice = facts(entries.iter().chain(entries.iter().skip(again)));
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn spells_hold_all_failures_and_no_success_between(entries in journals(60)) {
        let facts = facts(&entries);
        let spells = facts.spells(Level::Day);
        prop_assert_eq!(spells.is_empty(), facts.figures.endings.failures() == 0);
        for spell in &spells {
            prop_assert!(spell.from <= spell.to);
            prop_assert!(spell.recovered.is_none_or(|at| at >= spell.to));
        }
        for pair in spells.windows(2) {
            prop_assert!(pair[0].recovered.is_some_and(|at| at > pair[0].to && at < pair[1].from));
        }
        let last = spells.last().map(|spell| spell.recovered.is_some());
        prop_assert_eq!(last.unwrap_or(false), facts.has_recovered());
    }
}

#[test]
fn of_many_causes_a_bounded_number_is_kept_and_counted_in_full() {
    let noon = at("2024-02-29T12:00:00Z");
    let entry = |sequence: u64, text: &str| {
        let took = Duration::from_secs(1);
        let mut entry = ended(sequence, job(1), noon, EndingKind::Failed, took);
        if let chronos_history::Event::Ended(ended) = &mut entry.event {
            ended.error = Some(text.into());
        }
        entry
    };
    let texts: Vec<String> =
        (b'a'..=b'z').flat_map(|a| [a, a]).map(|a| char::from(a).into()).collect();
    let entries: Vec<Entry> = texts.iter().zip(1..).map(|(text, n)| entry(n, text)).collect();
    let whole = facts(&entries);
    let causes = whole.failures.as_ref().unwrap().causes.by_count();
    assert_eq!(causes.len(), Causes::MOST);
    assert!(causes.iter().all(|(_, count, _)| *count == 2), "{causes:?}");
    let (even, odd): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.sequence.is_multiple_of(2));
    assert_eq!(together(&facts(even), &facts(odd)), whole);
}
