//! What the extractive summarizer writes down.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::audit::EndingKind::{self, Failed, Stuck, Success, TimedOut};
use chronos_history::{
    Card, Digest, Entry, Event, Extractive, JobFacts, Level, Period, Summarizer, Summary,
};

use crate::world::{at, ended, job};

/// A history of one job, in the order of time.
struct History {
    facts: JobFacts,
    sequence: u64,
}

impl History {
    fn new() -> Self {
        Self { facts: JobFacts::default(), sequence: 0 }
    }

    fn run(mut self, time: &str, ending: EndingKind, response: Option<u16>) -> Self {
        self.add(at(&format!("2026-11-15T{time}:20Z")), ending, response);
        self
    }

    fn add(&mut self, when: Timestamp, ending: EndingKind, response: Option<u16>) {
        self.sequence += 1;
        let mut entry = ended(self.sequence, job(1), when, ending, Duration::from_millis(200));
        if let Event::Ended(ended) = &mut entry.event {
            ended.response = response;
        }
        self.facts.count(&entry);
    }
}

fn card() -> Card {
    let host = Some("billing.internal".into());
    Card { owner: "ann".into(), name: "invoice-sync".into(), host }
}

async fn summary(level: Level, facts: &JobFacts) -> Summary {
    let mut digest = Digest::default();
    digest.take(job(1), facts, card);
    let period = Period::containing(level, at("2026-11-15T12:00:00Z"));
    match level {
        Level::Hour => Extractive.summarize_events(period, &digest).await.unwrap(),
        _ => Extractive.summarize_children(period, &digest, &[]).await.unwrap(),
    }
}

async fn second_note(level: Level, facts: &JobFacts) -> String {
    let summary = summary(level, facts).await;
    summary.bullets.get(1).map(|bullet| bullet.text.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn failures_read_like_a_careful_operators_notes() {
    let mut outage = History::new().run("02:05", Success, Some(200));
    for minute in [10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 45, 50, 55] {
        outage = outage.run(&format!("02:{minute}"), Failed, Some(503));
    }
    let outage = outage.run("03:00", Success, Some(200)).run("03:05", Success, Some(200));
    assert_eq!(
        second_note(Level::Day, &outage.facts).await,
        "invoice-sync failed 14 times between 02:10 and 02:55, all 503 from billing.internal; \
         recovered 03:00"
    );
    let week = outage.facts.raised(Level::Day, Level::Week);
    assert_eq!(
        second_note(Level::Week, &week).await,
        "invoice-sync failed 14 times between Sun 02:10 and Sun 02:55, \
         all 503 from billing.internal; recovered after Sun 03:00"
    );
}

#[tokio::test]
async fn each_kind_of_trouble_is_told_in_its_way() {
    let table = [
        (
            History::new().run("02:10", Failed, Some(500)),
            "invoice-sync failed once at 02:10, 500 from billing.internal; no success since",
        ),
        (
            History::new().run("02:10", TimedOut, None),
            "invoice-sync failed once at 02:10, timed out; no success since",
        ),
        (
            History::new().run("02:10", Stuck, None).run("02:12", Stuck, None),
            "invoice-sync failed twice between 02:10 and 02:12, all lost with the worker; \
             no success since",
        ),
        (
            History::new()
                .run("02:10", Failed, None)
                .run("02:11", Failed, Some(503))
                .run("02:12", Failed, Some(503))
                .run("02:20", Success, None)
                .run("04:00", TimedOut, None)
                .run("04:01", Success, None),
            "invoice-sync failed 4 times in 2 spells between 02:10 and 04:00: \
             2× 503 from billing.internal, 1× \"no connection\", 1× timed out; recovered 04:01",
        ),
    ];
    for (history, note) in table {
        assert_eq!(second_note(Level::Day, &history.facts).await, note);
    }
}

#[tokio::test]
async fn a_quiet_period_is_told_in_one_note() {
    let quiet = History::new().run("02:10", Success, None).run("02:11", Success, None);
    let summary = summary(Level::Hour, &quiet.facts).await;
    let notes: Vec<&str> = summary.bullets.iter().map(|bullet| &*bullet.text).collect();
    assert_eq!(notes, ["2 runs of 1 job: 2 succeeded"]);
    assert_eq!(summary.keywords, [Box::from("invoice-sync")]);
}

#[tokio::test]
async fn notes_name_what_bears_them_out_and_words_to_find_them_by() {
    let history = History::new().run("02:10", Failed, Some(503)).run("02:30", Failed, Some(503));
    let summary = summary(Level::Day, &history.facts).await;
    let failures = history.facts.failures.as_ref().unwrap();
    assert_eq!(summary.bullets[1].evidence, [failures.first.execution, failures.last.execution]);
    let words: Vec<&str> = summary.keywords.iter().map(AsRef::as_ref).collect();
    assert_eq!(words, ["invoice-sync", "billing.internal", "503"]);
}

#[tokio::test]
async fn skips_long_runs_and_late_beginnings_are_told() {
    let mut facts = JobFacts::default();
    let when = at("2026-11-15T02:00:00Z");
    for (sequence, seconds) in [(1, 10), (2, 724)] {
        facts.count(&ended(sequence, job(1), when, Success, Duration::from_secs(seconds)));
    }
    for (sequence, slots, reason) in [(3, 20, "overlap"), (4, 11, "quiet_hours")] {
        let event = Event::Skipped { slots, reason: reason.into() };
        facts.count(&Entry { sequence, job: job(1), at: when, event });
    }
    let summary = summary(Level::Day, &facts).await;
    let notes: Vec<&str> = summary.bullets.iter().map(|bullet| &*bullet.text).collect();
    assert_eq!(
        notes,
        [
            "2 runs of 1 job: 2 succeeded",
            "31 slots were passed over: 20 overlap, 11 quiet hours",
            "the longest run was one of invoice-sync, 12 min 4 s; its p95 is 12 min 4 s",
            "runs began up to 6 min 2 s late; p99 6 min 2 s",
        ]
    );
}
