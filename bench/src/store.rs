//! The embedded store in memory: what each step of a run costs, without an engine around it.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use chronos_core::Store as _;
use chronos_store::{EmbeddedStore, Retention};

use crate::fleet::HERD;
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, at, create, ends, every_second, taker};

/// Rounds of the whole herd.
const ROUNDS: u64 = 20;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let retention = Retention {
        executions_per_job: NonZeroU32::new(100),
        audit_events: Some(10_000),
        ..Retention::default()
    };
    let store = EmbeddedStore::memory(retention)?;
    create(&store, every_second(HERD)?).await?;
    let taker = taker(BATCH);
    let mut spent = [Duration::ZERO; 2];
    for round in 1..=ROUNDS {
        let now = at(round);
        let begun = Instant::now();
        let mut claims = Vec::new();
        loop {
            let fired = store.fire_due(now, taker.openings.any, Some(&taker)).await?;
            claims.extend(fired.claims);
            if fired.next.is_none_or(|next| next > now) {
                break;
            }
        }
        spent[0] += begun.elapsed();
        let begun = Instant::now();
        for batch in claims.chunks(BATCH) {
            store.finish(ends(batch, now), now).await?;
        }
        spent[1] += begun.elapsed();
    }
    let runs = ROUNDS as f64 * HERD as f64;
    let verbs = ["fire and take", "finish"].into_iter().zip(spent);
    let figures = verbs.map(|(verb, spent)| {
        Figure::new(
            format!("store: {verb} a run"),
            spent.as_nanos() as f64 / runs,
            "ns",
            Goal::None,
        )
    });
    Ok(figures.collect())
}
