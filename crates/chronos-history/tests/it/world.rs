//! Histories to tell: jobs of two owners, and entries of their journal at any times.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_core::execution::Trigger;
use chronos_core::{ExecutionId, JobId, Timestamp};
use chronos_history::{Card, Ended, Entry, Event};
use proptest::prelude::*;

pub(crate) const JOBS: u8 = 5;

pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(crate) fn job(number: u8) -> JobId {
    JobId::new(Timestamp::from_secs(number.into()), [number; 10])
}

pub(crate) fn cards() -> Vec<(JobId, Card)> {
    let card = |number: u8| Card {
        owner: if number.is_multiple_of(2) { "ann".into() } else { "bob".into() },
        name: format!("job-{number}").into(),
        host: (number < 3).then(|| "billing.internal".into()),
    };
    (0..JOBS).map(|number| (job(number), card(number))).collect()
}

/// An entry that tells of the end of a run.
pub(crate) fn ended(
    sequence: u64,
    of: JobId,
    at: Timestamp,
    ending: EndingKind,
    took: Duration,
) -> Entry {
    let id = ExecutionId::of(of, at, &Trigger::Manual { number: sequence }, 1);
    let error = (ending == EndingKind::Failed).then(|| Arc::from("no connection"));
    let is_retry = false;
    let (took, lag) = (Some(took), Some(took / 2));
    let event = Event::Ended(Ended { id, ending, is_retry, took, lag, response: None, error });
    Entry { sequence, job: of, at, event }
}

fn endings() -> impl Strategy<Value = EndingKind> {
    proptest::sample::select(vec![
        EndingKind::Success,
        EndingKind::Success,
        EndingKind::Failed,
        EndingKind::TimedOut,
        EndingKind::Stuck,
        EndingKind::Cancelled,
    ])
}

fn events() -> impl Strategy<Value = Event> {
    let response = prop_oneof![Just(None), (500_u16..504).prop_map(Some)];
    let error = prop_oneof![Just(None), "[a-z]{1,2}".prop_map(|text| Some(Arc::from(text)))];
    let took = prop_oneof![Just(None), (0_u64..10_000_000_000).prop_map(Some)];
    let ran = (endings(), any::<bool>(), took, response, error, any::<u64>());
    let ended = ran.prop_map(|(ending, is_retry, took, response, error, number)| {
        let trigger = Trigger::Manual { number };
        let id = ExecutionId::of(job(0), Timestamp::EPOCH, &trigger, 1);
        let took = took.map(Duration::from_micros);
        let lag = took.map(|took| took / 3);
        Event::Ended(Ended { id, ending, is_retry, took, lag, response, error })
    });
    let reason = proptest::sample::select(vec!["overlap", "paused", "missed"]);
    let skipped = (1_u64..2_000, reason)
        .prop_map(|(slots, reason)| Event::Skipped { slots, reason: reason.into() });
    prop_oneof![4 => ended, 1 => skipped]
}

/// Any instant of the turn of the year 2020, which is in week 53, and of February in a leap year.
fn instants() -> impl Strategy<Value = Timestamp> {
    let between = |from: &str, to: &str| {
        let (from, to) = (at(from).as_micros(), at(to).as_micros());
        (from..to).prop_map(Timestamp::from_micros)
    };
    prop_oneof![
        between("2020-12-26T00:00:00Z", "2021-01-06T00:00:00Z"),
        between("2024-02-27T00:00:00Z", "2024-03-03T00:00:00Z"),
        // Close together, so that they meet in one hour.
        between("2024-02-29T10:00:00Z", "2024-02-29T13:00:00Z"),
    ]
}

/// A journal: its entries are in its order, which is not that of the times they tell of.
pub(crate) fn journals(most: usize) -> impl Strategy<Value = Vec<Entry>> {
    let entry = (0..JOBS, instants(), events());
    proptest::collection::vec(entry, 1..most).prop_map(|entries| {
        let numbered = entries.into_iter().zip(1_u64..);
        let entry = |((number, at, event), sequence)| {
            // Some places of the journal are about something else.
            Entry { sequence: sequence * 3, job: job(number), at, event }
        };
        numbered.map(entry).collect()
    })
}
