//! What a claim costs when ten million executions are over, against an empty store.

use super::bed::Bed;
use super::fill::multiply_past;
use crate::process::begin;
use crate::report::{Figure, Goal};

const JOBS: usize = 20_000;
const ROUNDS: u64 = 3;
/// Executions that are over.
const PAST: usize = 10_000_000;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut bed = Bed::with(JOBS).await?;
    let empty = bed.rounds("nothing past", ROUNDS).await?;
    let begun = begin();
    multiply_past(&bed.cluster, PAST / JOBS);
    let made = begun.elapsed().as_secs_f64();
    eprintln!("{PAST} executions filed in {made:.0} s");
    let full = bed.rounds("ten million past", ROUNDS).await?;
    let each = |seconds: f64| seconds * 1e6 / JOBS as f64;
    let (claim, run) = (full.claiming / empty.claiming, full.all() / empty.all());
    let past = |what: &str| format!("10,000,000 past on PostgreSQL: {what}");
    Ok(vec![
        Figure::new("nothing past on PostgreSQL: a claim", each(empty.claiming), "µs", Goal::None),
        Figure::new(past("a claim"), each(full.claiming), "µs", Goal::None),
        Figure::new(past("a claim ÷ nothing past"), claim, "×", Goal::AtMost(1.3)),
        Figure::new(past("claim and finish ÷ nothing past"), run, "×", Goal::AtMost(1.3)),
    ])
}
