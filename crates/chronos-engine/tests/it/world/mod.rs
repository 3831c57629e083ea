//! The world: engines over one store, driven through seeded histories of faults and judged by what
//! they leave behind.
//!
//! A history is generated whole from its seed: jobs, edits, pauses, clock steps, kills, stops, freezes
//! and, at every call of every verb, errors before and after the step and late answers. It runs on
//! virtual time in one thread, so a seed replays to the same history to the last event.
#![expect(clippy::unwrap_used, reason = "a history that cannot be set up has nothing to say")]

mod actors;
mod checker;
mod claims;
mod faults;
mod herds;
mod lab;
mod ledger;
mod liveness;
mod oracle;
mod record;
mod script;
mod stage;
mod steps;

use std::sync::Arc;

use ledger::{Counts, Ledger};
use script::Script;
use stage::Stage;

/// Histories in one run of the test; `CHRONOS_WORLD_HISTORIES` asks for another number.
const HISTORIES: u64 = 3_000;

/// What must happen in some history.
const NEEDED: &[&str] = &[
    "calls that failed",
    "calls that panicked",
    "calls that skipped",
    "calls that stopped when asked",
    "calls that succeeded",
    "calls that were dropped",
    "claims released",
    "faults in claim",
    "faults in finish",
    "faults in fire_due",
    "faults in reap",
    "faults in release",
    "faults in renew",
    "leases reaped",
    "manual runs",
    "manual runs refused",
    "runs given up",
    "stale renewals refused",
    "stale results refused",
    "user cancels",
];

fn play(seed: u64) -> Arc<Ledger> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(Stage::play(Script::generate(seed)))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn no_history_of_faults_breaks_a_promise() {
    let seeds = match number("CHRONOS_WORLD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CHRONOS_WORLD_HISTORIES").unwrap_or(HISTORIES),
    };
    let replayed = seeds.end - seeds.start == 1;
    let mut counts = Counts::new();
    for seed in seeds {
        let ledger = play(seed);
        let history = ledger.lock();
        if replayed || !history.violations.is_empty() {
            println!("{}", history.log);
        }
        assert!(
            history.violations.is_empty(),
            "seed {seed} breaks {} promises:\n{}\nreplay it with\n  \
             CHRONOS_WORLD_SEED={seed} cargo test -p chronos-engine --test it world::no_history",
            history.violations.len(),
            history.violations.join("\n"),
        );
        for (what, count) in &history.counts {
            *counts.entry(what).or_default() += count;
        }
        *counts.entry("store calls").or_default() += history.store_calls();
    }
    println!("{counts:#?}");
    // Histories in which a thing never happens prove nothing about it.
    for what in if replayed { &[][..] } else { NEEDED } {
        assert!(counts.get(what).is_some_and(|count| *count > 0), "no {what}");
    }
}

#[test]
fn a_seed_replays_to_the_same_history() {
    for seed in 0..20 {
        let (once, again) = (play(seed), play(seed));
        let (once, again) = (once.lock(), again.lock());
        assert!(once.log.lines().count() > 20, "seed {seed} does nothing");
        assert_eq!(once.log, again.log, "seed {seed}");
    }
}
