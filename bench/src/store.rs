//! The embedded store in memory: what each step of a run costs, without an engine around it.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use chronos_core::execution::Report;
use chronos_core::plan::Ending;
use chronos_core::schedule::{Schedule, Zone};
use chronos_core::store::{Finish, Store, Terms};
use chronos_core::{JobId, JobSpec, Timestamp, WorkerId};
use chronos_store::{EmbeddedStore, Retention};

use crate::fleet::HERD;
use crate::report::{Figure, Goal};

/// Rounds of the whole herd.
const ROUNDS: u32 = 20;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let retention =
        Retention { executions_per_job: NonZeroU32::new(10), audit_events: Some(10_000) };
    let store = EmbeddedStore::memory(retention)?;
    let start = Timestamp::EPOCH.after(Duration::from_hours(24 * 20_000));
    for number in 0..HERD {
        let mut chance = [0; 10];
        chance[2..]
            .copy_from_slice(&(number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let schedule = Schedule::cron("* * * * * *", Zone::UTC)?;
        let spec =
            JobSpec::new(JobId::new(start, chance), &format!("herd-{number}"), schedule, start);
        store.create_job(spec, start).await?;
    }
    let worker = WorkerId::new("measured");
    let mut spent = [Duration::ZERO; 3];
    for round in 1..=ROUNDS {
        let now = start.after(Duration::from_secs(u64::from(round)));
        let begun = Instant::now();
        while store.fire_due(now, 512).await?.next.is_some_and(|next| next <= now) {}
        spent[0] += begun.elapsed();
        let begun = Instant::now();
        let terms = Terms { now, lease: Duration::from_secs(30) };
        let mut claims = Vec::new();
        loop {
            let claimed = store.claim(&worker, terms, 512).await?.claims;
            if claimed.is_empty() {
                break;
            }
            claims.extend(claimed);
        }
        spent[1] += begun.elapsed();
        let begun = Instant::now();
        for batch in claims.chunks(512) {
            let finishes = batch.iter().map(|claim| Finish {
                hold: claim.hold,
                ending: Ending::Success,
                report: Report::at(now),
            });
            store.finish(finishes.collect(), now).await?;
        }
        spent[2] += begun.elapsed();
    }
    let runs = f64::from(ROUNDS) * HERD as f64;
    let verbs = ["fire", "claim", "finish"].into_iter().zip(spent);
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
